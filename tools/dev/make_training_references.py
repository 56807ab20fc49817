#!/usr/bin/env python3
"""The first steps of training the kept models, as their reference implementation does them.

    make_training_references.py test/e2e/models | test/e2e/wide [--only NAME,...]

Writes OUT/<name>/training.json: some tokens, and the loss and the gradient's norm (before clipping)
of each of twelve steps on them, beginning with the weights of OUT/<name>/model.safetensors in
float32 (of test/e2e/wide with those that are made from names); `sinter train --order sequential`
with the same sizes does the same. A step reads 3 rows of 24 tokens and the token that follows,
behind the last token comes the first; the optimizer is torch.optim.AdamW with the rate 3e-4, betas
0.9 and 0.95, epsilon 1e-8, a decay of 0.1 for parameters of two dimensions or more, gradients
clipped to a norm of 1. Models of Hugging Face's families are those of transformers, with eager
attention and without dropout, `sinter` models the plain forward pass of make_reference_models.py.
`bf16_loss` and `f16_loss` are the losses where the same runs under torch.autocast, in f16 with
torch.amp.GradScaler; `router_loss` and `router_grad_norm` are of a loss with a tenth of
transformers' of the routers, of families that have one.

Needs Python packages torch, transformers and safetensors; nothing in the build or the tests does.
"""

import argparse
import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

import make_reference_models

BATCH, SEQUENCE, STEPS, TOKENS = 3, 24, 12, 4 * 3 * 24


def make_tokens(vocabulary):
    """A random walk over the vocabulary: a token is one of three that follow from the last."""
    followers = torch.randint(0, vocabulary, (vocabulary, 3))
    tokens = [0]
    while len(tokens) < TOKENS:
        tokens.append(int(followers[tokens[-1], torch.randint(0, 3, ())]))
    return torch.tensor(tokens)


class SinterModel(torch.nn.Module):
    def __init__(self, folder, config):
        super().__init__()
        self.config = config
        self.names = {}
        for name, tensor in load_file(folder / "model.safetensors").items():
            self.names[name] = torch.nn.Parameter(tensor.float())
            self.register_parameter(name.replace(".", "_"), self.names[name])

    def forward(self, tokens):
        return torch.stack([make_reference_models.sinter_forward(self.config, self.names, row)
                            for row in tokens])


def load_model(folder, config):
    """A function from tokens to logits and the routers' loss, and its parameters."""
    if not (folder / "model.safetensors").exists():
        wide = make_reference_models.wide_models()[folder.name]
        forward, parameters = make_reference_models.make_wide_model(*wide)[1:]
        return lambda tokens: (forward(tokens), None), parameters
    if config["model_type"] == "sinter":
        model = SinterModel(folder, config)
        return lambda tokens: (model(tokens), None), list(model.parameters())
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager")
    # Only dropout tells the two modes apart.
    model.eval()
    options = {"output_router_logits": True} if has_router_loss(config) else {}

    def forward(tokens):
        made = model(tokens, use_cache=False, **options)
        return made.logits, getattr(made, "aux_loss", None)

    return forward, list(model.parameters())


def has_router_loss(config):
    return config["model_type"] != "sinter" and "router_aux_loss_coef" in config


def train(folder, config, tokens, narrow=None, router=0):
    """The losses and norms; with `narrow`, where the same runs under torch.autocast of that type;
    `router` times the routers' loss is added."""
    forward, parameters = load_model(folder, config)
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), eps=1e-8)
    scaler = torch.amp.GradScaler("cpu", enabled=narrow == torch.float16)
    losses, norms = [], []
    for step in range(STEPS):
        at = torch.arange(BATCH * SEQUENCE + 1) + step * BATCH * SEQUENCE
        window = tokens[at % TOKENS]
        with torch.autocast("cpu", dtype=narrow, enabled=narrow is not None):
            logits, of_routers = forward(window[:-1].view(BATCH, SEQUENCE))
        loss = F.cross_entropy(logits.float().flatten(0, 1), window[1:])
        if router:
            loss = loss + router * of_routers
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, 1.0).item())
        losses.append(loss.item())
        scaler.step(optimizer)
        scaler.update()
    return losses, norms


def rounded(numbers):
    """As many digits as a float has."""
    return [float(f"{number:.8g}") for number in numbers]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--only", help="names, separated by commas")
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.models.glob("*/config.json"))
    for folder in folders:
        if options.only and folder.name not in options.only.split(","):
            continue
        torch.manual_seed(sum(folder.name.encode()))
        config = json.loads((folder / "config.json").read_text())
        tokens = make_tokens(config["vocab_size"])
        losses, norms = train(folder, config, tokens)
        reference = {"tokens": tokens.tolist(), "loss": rounded(losses),
                     "grad_norm": rounded(norms)}
        for key, narrow in (("bf16_loss", torch.bfloat16), ("f16_loss", torch.float16)):
            reference[key] = rounded(train(folder, config, tokens, narrow)[0])
        if has_router_loss(config):
            losses, norms = train(folder, config, tokens, router=0.1)
            reference |= {"router_loss": rounded(losses), "router_grad_norm": rounded(norms)}
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in reference.items()]
        (folder / "training.json").write_text("{" + ",\n ".join(lines) + "}\n")
        print(f"{folder.name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, norm {norms[0]:.3f}")


if __name__ == "__main__":
    main()
