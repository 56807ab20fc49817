#!/usr/bin/env python3
"""Trains Hugging Face models with PyTorch and with `sinter train` and compares every step.

Both start from the same weights and read the same tokens in the same order; dropout is off. PyTorch
trains three times: in the compute type, once more with the rows of every batch reversed, which
changes nothing but the order of sums, and in float64, the referee. Printed are the largest relative
differences of the loss over all steps: ours to PyTorch, then all three to the referee. A run in
which PyTorch is far from the referee, too, is one that roundings decide (--ulps shows more of them).

    tools/dev/compare_training.py test/e2e/models/llama --steps 50
    tools/dev/compare_training.py --random 0 80
    tools/dev/compare_training.py --random 0 8 --dtype bf16 --steps 500
    tools/dev/compare_training.py --random 0 8 --optimizer muon --document-end 3 --z-loss 1e-4

--random FIRST COUNT makes a model of each number: a family, its sizes and variants, weights, the
learning rate and its schedule, weight decay, clipping, accumulation. Tokens are a random walk, or a
file of raw uint16 ids (--data). torch.optim.Muon iterates in bfloat16, whatever it is given. Needs
torch and transformers.
"""

import argparse
import contextlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import types

import numpy
import torch
import transformers

# ---- Models and options from a number ------------------------------------------------------------

FAMILIES = ["gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gpt_neox", "phi3"]
CLASSES = {"gpt2": "GPT2Config", "llama": "LlamaConfig", "mistral": "MistralConfig",
           "qwen2": "Qwen2Config", "qwen3": "Qwen3Config", "gemma2": "Gemma2Config",
           "gpt_neox": "GPTNeoXConfig", "phi3": "Phi3Config"}


def make_rope(draw, theta, width, longest):
    half = width // 2
    return draw.choice([
        dict(rope_type="default"),
        dict(rope_type="linear", factor=2.5),
        dict(rope_type="dynamic", factor=3.0),
        dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
             original_max_position_embeddings=32),
        dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16),
        dict(rope_type="longrope", original_max_position_embeddings=max(4, longest // 2),
             short_factor=[1 + 0.1 * i for i in range(half)],
             long_factor=[2 + 0.3 * i for i in range(half)]),
    ]) | dict(rope_theta=theta)


def make_config(draw, family, seq):
    heads = draw.choice([1, 2, 3, 4, 5, 6, 8])
    width = draw.choice([w for w in (4, 8, 12, 16, 20, 24, 32, 48) if heads * w <= 160])
    hidden = heads * width
    mlp = draw.choice([2 * hidden, 4 * hidden, 3 * hidden + 1, 37])
    theta = draw.choice([500.0, 10000.0, 1e6])
    keys = dict(vocab_size=draw.choice([53, 97, 256, 257, 500, 1000]), bos_token_id=1,
                eos_token_id=2, initializer_range=draw.choice([0.02, 0.02, 0.05, 0.1]),
                tie_word_embeddings=draw.random() < 0.5)
    layers, positions = draw.choice([1, 2, 2, 3, 4]), draw.choice([seq, seq + 1, 2 * seq])
    if family == "gpt2":
        return keys | dict(n_embd=hidden, n_layer=layers, n_head=heads, n_positions=positions,
                           n_inner=draw.choice([None, mlp]),
                           activation_function=draw.choice(["gelu_new", "gelu", "relu"]),
                           scale_attn_by_inverse_layer_idx=draw.random() < 0.2)
    keys |= dict(hidden_size=hidden, intermediate_size=mlp, num_hidden_layers=layers,
                 num_attention_heads=heads, max_position_embeddings=positions,
                 rope_parameters=dict(rope_type="default", rope_theta=theta))
    if family == "gpt_neox":
        keys["rope_parameters"]["partial_rotary_factor"] = draw.choice([0.5, 1.0])
        return keys | dict(use_parallel_residual=draw.random() < 0.6,
                           hidden_act=draw.choice(["gelu", "gelu_new"]),
                           attention_bias=draw.random() < 0.8)
    keys["num_key_value_heads"] = draw.choice([k for k in range(1, heads + 1) if heads % k == 0])
    if family == "phi3":
        return keys | dict(pad_token_id=0, sliding_window=draw.choice([None, 11]))
    if family != "qwen2":
        keys["head_dim"] = draw.choice([width, width, 20, 40])
    if family == "llama":
        return keys | dict(rope_parameters=make_rope(draw, theta, keys["head_dim"], seq),
                           attention_bias=draw.random() < 0.3, mlp_bias=draw.random() < 0.3)
    if family == "mistral":
        return keys | dict(sliding_window=draw.choice([None, 3, 7, 4096]))
    if family == "qwen2":
        return keys | draw.choice([{}, dict(use_sliding_window=True, sliding_window=5,
                                            max_window_layers=1)])
    if family == "qwen3":
        return keys | dict(attention_bias=draw.random() < 0.3)
    return keys | dict(query_pre_attn_scalar=draw.choice([width, 256]),
                       sliding_window=draw.choice([4, 9, 4096]),
                       attn_logit_softcapping=draw.choice([50.0, 2.0, None]),
                       final_logit_softcapping=draw.choice([30.0, 3.0, None]))


DEFAULTS = dict(batch=4, seq=32, accumulate=1, lr=3e-4, min_lr=0.0, warmup=0, schedule="constant",
                weight_decay=0.1, grad_clip=1.0, beta2=0.95, eps=1e-8)


def draw_run(draw):
    """Others in the place of DEFAULTS."""
    return dict(batch=draw.choice([1, 2, 3, 4, 6, 8]), seq=draw.choice([5, 8, 13, 24, 31, 48, 64]),
                accumulate=draw.choice([1, 1, 2, 3]), lr=draw.choice([1e-4, 3e-4, 1e-3, 2e-3, 3e-3]),
                min_lr=draw.choice([0.0, 5e-5]), warmup=draw.choice([0, 0, 5, 10]),
                schedule=draw.choice(["constant", "constant", "linear", "cosine", "wsd"]),
                weight_decay=draw.choice([0.0, 0.1, 0.3]),
                grad_clip=draw.choice([1.0, 1.0, 0.0, 0.1]),
                beta2=draw.choice([0.95, 0.99, 0.999]), eps=draw.choice([1e-8, 1e-8, 1e-6]))


def complete(options, defaults):
    """The options of a run: what the command line does not give is from `defaults`."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    return types.SimpleNamespace(**(dict(data=None, document_end=None) | defaults | given))


def make_tokens(vocab, count, seed):
    """A random walk over the vocabulary: the next token is one of four that follow from the last."""
    numbers = numpy.random.default_rng(seed)
    followers = numbers.integers(0, vocab, size=(vocab, 4))
    tokens = numpy.zeros(count, dtype=numpy.uint16)
    for i in range(1, count):
        tokens[i] = followers[tokens[i - 1], numbers.integers(0, 4)]
    return tokens


# ---- PyTorch -------------------------------------------------------------------------------------


class WideTorch:
    """The module torch, whose float32 is float64."""

    def __getattr__(self, name):
        return torch.float64 if name in ("float32", "float") else getattr(torch, name)


@contextlib.contextmanager
def wide_numbers():
    """transformers asks for float32 in norms, softmax and rotary tables, whatever the model is in;
    it gets float64 here."""
    modules = [module for name, module in list(sys.modules.items())
               if name.startswith("transformers.") and vars(module).get("torch") is torch]
    narrow = torch.Tensor.float
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double
    for module in modules:
        module.torch = WideTorch()
    try:
        yield
    finally:
        for module in modules:
            module.torch = torch
        torch.Tensor.float = narrow
        torch.set_default_dtype(torch.float32)


def get_rate(run, step):
    """As the head of runtime/Train/LearningRate.h has it."""
    if step < run.warmup:
        return run.lr * (step + 1) / run.warmup
    progress = (step - run.warmup) / (run.steps - run.warmup)
    if run.schedule == "constant":
        progress = 0.0
    elif run.schedule == "cosine":
        progress = (1 - math.cos(math.pi * progress)) / 2
    elif run.schedule == "wsd":
        decay = max(1, round(0.2 * run.steps))
        progress = max(0.0, (step - (run.steps - decay) + 1) / decay)
    return run.min_lr + (run.lr - run.min_lr) * (1 - progress)


def make_optimizers(model, run):
    """With decay for parameters of two or more dimensions."""
    adamw = dict(lr=run.lr, betas=(0.9, run.beta2), eps=run.eps)

    def groups(parameters):
        parts = [p for p in parameters if p.dim() >= 2], [p for p in parameters if p.dim() < 2]
        return [dict(params=part, weight_decay=decay)
                for part, decay in zip(parts, (run.weight_decay, 0.0)) if part]

    parameters = list(model.parameters())
    if run.optimizer == "adamw":
        return [torch.optim.AdamW(groups(parameters), **adamw)]
    if run.optimizer == "sgd":
        return [torch.optim.SGD(groups(parameters), lr=run.lr, momentum=0.9)]
    if run.optimizer == "adafactor":
        return [transformers.Adafactor(groups(parameters), lr=run.lr, relative_step=False,
                                       scale_parameter=True, warmup_init=False)]
    tables = {id(module.weight) for module in model.modules()
              if isinstance(module, torch.nn.Embedding)}
    tables.add(id(model.get_output_embeddings().weight))
    matrices = [p for p in parameters if p.dim() == 2 and id(p) not in tables]
    rest = [p for p in parameters if p.dim() != 2 or id(p) in tables]
    return [torch.optim.Muon(matrices, lr=run.lr, weight_decay=run.weight_decay),
            torch.optim.AdamW(groups(rest), **adamw)]


def make_mask(config, tokens, run, dtype):
    """What is added to scores where documents do not see each other, or None."""
    if run.document_end is None:
        return None
    ends = (tokens == run.document_end).int()
    document = torch.cumsum(ends, 1) - ends
    far = torch.arange(run.seq)[:, None] - torch.arange(run.seq)[None]
    sees = (far >= 0)[None] & (document[:, :, None] == document[:, None, :])

    def additive(sees):
        hidden = torch.zeros(sees.shape, dtype=dtype)
        return hidden.masked_fill(~sees, torch.finfo(dtype).min)[:, None]

    window = getattr(config, "sliding_window", None)
    full, sliding = additive(sees), additive(sees & (far < (window or run.seq))[None])
    if config.model_type in ("gemma2", "qwen2"):
        return {"full_attention": full, "sliding_attention": sliding}
    return sliding if config.model_type in ("mistral", "phi3") else full


def read_batches(tokens, run, step, reverse):
    """The microbatches of a step: inputs and targets, -100 where there is none."""
    size = run.batch * run.seq
    for part in range(run.accumulate):
        at = (step * run.accumulate + part) * size + numpy.arange(size + 1)
        window = torch.from_numpy(tokens[at % len(tokens)].astype(numpy.int64))
        x, y = (half.view(run.batch, run.seq).clone() for half in (window[:-1], window[1:]))
        if run.document_end is not None:
            y[x == run.document_end] = -100
        yield (x.flip(0), y.flip(0)) if reverse else (x, y)


def train_torch(folder, run, tokens, dtype, reverse=False, nudge=None):
    """A loss, a gradient's norm and milliseconds a step; `nudge` seeds weights an ulp away."""
    with wide_numbers() if dtype == "f64" else contextlib.nullcontext():
        kind = torch.float64 if dtype == "f64" else torch.float32
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=kind, attn_implementation=run.attention,
            experts_implementation="eager").eval()
        if nudge is not None:
            torch.manual_seed(nudge)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1 + torch.randint(-1, 2, parameter.shape) * 2.0**-24)
        narrow = {"bf16": torch.bfloat16, "f16": torch.float16}.get(dtype)
        optimizers = make_optimizers(model, run)
        scaler = torch.amp.GradScaler("cpu", enabled=dtype == "f16")
        return [train_step(model, run, tokens, step, optimizers, scaler, narrow, kind, reverse)
                for step in range(run.steps)]


def train_step(model, run, tokens, step, optimizers, scaler, narrow, kind, reverse):
    start = time.perf_counter()
    for optimizer in optimizers:
        optimizer.zero_grad()
        for group in optimizer.param_groups:
            group["lr"] = get_rate(run, step)
    batches = list(read_batches(tokens, run, step, reverse))
    targets = max(1, sum(int((y != -100).sum()) for _, y in batches))
    total = 0.0
    for x, y in batches:
        with torch.autocast("cpu", dtype=narrow, enabled=narrow is not None):
            # transformers' loss of routers takes no mask of four dimensions.
            mask = None if run.router_loss else make_mask(model.config, x, run, kind)
            routers = {"output_router_logits": True} if run.router_loss else {}
            made = model(x, attention_mask=mask, use_cache=False, **routers,
                         position_ids=torch.arange(run.seq)[None].expand(x.shape))
        logits = made.logits.to(kind).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, y.flatten(), reduction="sum")
        if run.z_loss:
            loss = loss + run.z_loss * (torch.logsumexp(logits, -1)[y.flatten() != -100]**2).sum()
        if run.router_loss:
            loss = loss + run.router_loss * made.aux_loss * y.numel()
        loss = loss / targets
        scaler.scale(loss).backward()
        total += loss.item()
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), run.grad_clip or math.inf).item()
    for optimizer in optimizers:
        scaler.step(optimizer)
    if scaler.is_enabled():
        scaler.update()
    return total, norm, 1e3 * (time.perf_counter() - start)


# ---- Sinter --------------------------------------------------------------------------------------


def train_sinter(folder, run, data, out):
    log = os.path.join(out, "log.jsonl")
    command = [run.sinter, "train", folder, "--data", data, "--out", os.path.join(out, "run"),
               "--log", log, "--order", "sequential", "--target", "cpu"]
    names = ["steps", "batch", "seq", "accumulate", "lr", "min_lr", "warmup", "schedule",
             "weight_decay", "grad_clip", "optimizer", "dtype", "threads"]
    if run.optimizer in ("adamw", "muon"):
        names += ["beta2", "eps"]
    names += [name for name in ("z_loss", "router_loss") if getattr(run, name)]
    for name in names:
        command += ["--" + name.replace("_", "-"), getattr(run, name)]
    if run.optimizer == "adafactor":
        command += ["--relative-step", "false"]
    if run.document_end is not None:
        command += ["--document-mask", "--document-end", run.document_end]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    number = lambda value: math.nan if value is None else value
    return [(number(r["loss"]), number(r["grad_norm"]), r["step_ms"]) for r in records]


# ---- Comparison ----------------------------------------------------------------------------------


def differ(a, b, column=0):
    return max(abs(x[column] - y[column]) / abs(y[column]) for x, y in zip(a, b, strict=True))


def compare(folder, run, name, seed):
    torch.set_num_threads(run.threads)
    with tempfile.TemporaryDirectory() as out:
        data = run.data
        if not data:
            data = os.path.join(out, "tokens.bin")
            with open(os.path.join(folder, "config.json")) as config:
                vocab = json.load(config)["vocab_size"]
            count = run.steps * run.batch * run.seq * run.accumulate + 1
            make_tokens(vocab, count, seed).tofile(data)
        tokens = numpy.fromfile(data, dtype=numpy.uint16)
        ours = train_sinter(folder, run, data, out)
    theirs = train_torch(folder, run, tokens, run.dtype)
    others = [train_torch(folder, run, tokens, run.dtype, reverse=True)]
    others += [train_torch(folder, run, tokens, run.dtype, nudge=i) for i in range(run.ulps)]
    referee = train_torch(folder, run, tokens, "f64")
    median = lambda rows: sorted(row[2] for row in rows)[len(rows) // 2]
    away = " ".join(f"{differ(other, referee):.1e}" for other in others)
    print(f"{name}: lr {run.lr:g} {run.schedule}, {run.batch} x {run.seq} x {run.accumulate}: loss "
          f"{referee[0][0]:.3f} to {referee[-1][0]:.3f}; ours to PyTorch {differ(ours, theirs):.1e}; "
          f"to float64 ours {differ(ours, referee):.1e}, PyTorch {differ(theirs, referee):.1e}, "
          f"{away}; norms {differ(ours, referee, 1):.1e} and {differ(theirs, referee, 1):.1e}; "
          f"steps {median(ours):.2f} and {median(theirs):.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="a Hugging Face directory with weights")
    parser.add_argument("--random", type=int, nargs=2, metavar=("FIRST", "COUNT"))
    parser.add_argument("--sinter", default="build/bin/sinter")
    parser.add_argument("--data", help="raw uint16 token ids")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--optimizer", default="adamw",
                        choices=["adamw", "sgd", "adafactor", "muon"])
    for name, kind in (("batch", int), ("seq", int), ("accumulate", int), ("lr", float)):
        parser.add_argument("--" + name, type=kind)
    parser.add_argument("--document-end", type=int, help="the token that ends a document")
    parser.add_argument("--z-loss", type=float, default=0.0)
    parser.add_argument("--router-loss", type=float, default=0.0, help="without --document-end")
    parser.add_argument("--ulps", type=int, default=0,
                        help="runs of PyTorch from weights a unit in the last place away")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", default="eager", help="transformers' implementation")
    options = parser.parse_args()
    if (options.model is None) == (options.random is None):
        parser.error("give a model or --random")
    if options.router_loss and options.document_end is not None:
        parser.error("--router-loss is compared without --document-end")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.model:
        return compare(options.model, complete(options, DEFAULTS), options.model, 0)
    for seed in range(options.random[0], sum(options.random)):
        draw = random.Random(seed)
        run = complete(options, draw_run(draw))
        family = FAMILIES[seed % len(FAMILIES)]
        config = getattr(transformers, CLASSES[family])(**make_config(draw, family, run.seq))
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            compare(folder, run, f"{seed} {family}", seed)


if __name__ == "__main__":
    main()
