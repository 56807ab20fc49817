#!/usr/bin/env python3
"""Draws models, options and layouts by chance and holds what must be equal to the last bit.

Of each number a model is made (a config.json of Sinter's own keys, random weights), and one of:

    train     a few steps on one rank and on a grid: the same weights and losses
    logits    all at once on one rank; in chunks of four and more rows (fewer add in another order,
              docs/numerics.md), on a grid, with other threads: the same logits
    resume    a run that ends early and is resumed on another grid: the weights of the whole run

With --gpu, which names `sinter-on-fake-gpu` of the same build, or `sinter` on a machine with one:

    train     a few steps on the processor and on the GPU: losses and norms of gradients that differ
              by what rounding leaves, and a layout of streams that the fake GPU does not object to
    logits    all at once, and in chunks; on the processor in f32

A command that is refused has to say so in one line, with status 1; these are counted.

    tools/dev/sweep.py build/bin/sinter --first 0 --count 200
    tools/dev/sweep.py build/bin/sinter --first 17 --count 1 --keep /tmp/case     # one of them again
    tools/dev/sweep.py build/bin/sinter --gpu build/bin/sinter-on-fake-gpu --count 50
    tools/dev/sweep.py build/bin/sinter --experts       # of those drawn, models with experts on `tensor`

Numbers are Python's random.Random(n): a failure is found again by its number. Needs mpiexec, numpy
and safetensors.
"""

import argparse
import hashlib
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import safetensors.numpy

VOCABULARIES = [53, 64, 97, 256, 257, 1000]


def draw_model(draw):
    heads = draw.choice([1, 2, 2, 3, 4, 4, 6, 8])
    key_heads = draw.choice([k for k in range(1, heads + 1) if heads % k == 0])
    width = draw.choice([4, 8, 8, 16, 16, 20, 32, 64])
    hidden = draw.choice([heads * width, heads * width, 24, 40, 64])
    layers = draw.choice([1, 2, 2, 3, 4])
    placement = draw.choice(["pre", "pre", "pre", "output", "pre_post", "post"])
    parallel = placement == "pre" and draw.random() < 0.25
    norm = draw.choice(["rms_norm", "layer_norm"])
    keys = {
        "model_type": "sinter", "vocab_size": draw.choice(VOCABULARIES), "hidden_size": hidden,
        "intermediate_size": draw.choice([2 * hidden, 4 * hidden, 3 * hidden + 1, 37, 48]),
        "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": key_heads, "head_dim": width,
        "mlp_type": draw.choice(["swiglu", "swiglu", "geglu", "geglu_tanh", "reglu", "gelu",
                                 "gelu_tanh", "relu", "relu2", "silu"]),
        "norm_type": norm, "norm_placement": placement,
        "norm_unit_offset": draw.random() < 0.2,
        "use_parallel_residual": parallel,
        "parallel_residual_shared_norm": parallel and draw.random() < 0.5,
        "attention_bias": draw.random() < 0.3, "mlp_bias": draw.random() < 0.3,
        "lm_head_bias": False, "tie_word_embeddings": draw.random() < 0.5,
        "use_qk_norm": draw.random() < 0.25, "max_position_embeddings": 64,
        "initializer_range": draw.choice([0.02, 0.1]),
    }
    if not keys["tie_word_embeddings"]:
        keys["lm_head_bias"] = draw.random() < 0.3
    if keys["use_qk_norm"]:
        keys["qk_norm_over"] = draw.choice(["head", "all_heads", "own_heads"])
        keys["qk_norm_type"] = draw.choice(["rms_norm", "rms_norm", "layer_norm"])
    positions = draw.choice(["rotary", "rotary", "rotary", "learned", "alibi", "none"])
    keys["position_embedding_type"] = positions
    if positions == "rotary":
        keys["rope_theta"] = draw.choice([100.0, 10000.0])
        keys["rope_interleave"] = draw.random() < 0.3
        if width % 8 == 0:
            keys["partial_rotary_factor"] = draw.choice([1.0, 0.5])
        elif draw.random() < 0.3:
            keys |= {"query_growth": 0.3, "query_growth_length": 7}
        if draw.random() < 0.2:
            keys["no_rope_layers"] = [draw.choice([0, 1]) for _ in range(layers)]
    if draw.random() < 0.3:
        keys["sliding_window"] = draw.choice([3, 5, 16])
        keys["layer_types"] = [draw.choice(["full_attention", "sliding_attention"])
                               for _ in range(layers)]
    if draw.random() < 0.2:
        keys["attn_logit_softcapping"] = 20.0
    if draw.random() < 0.2:
        keys["final_logit_softcapping"] = 10.0
    if draw.random() < 0.15:
        keys["share_layers"] = draw.choice([2, layers])
    if draw.random() < 0.2:
        keys["mlp_type"] = draw.choice(["swiglu", "geglu", "reglu"])
        keys["num_experts"] = draw.choice([2, 3, 5, 8])
        keys["num_experts_per_tok"] = draw.choice([1, min(2, keys["num_experts"])])
        keys["moe_intermediate_size"] = draw.choice([16, 32, 37])
        keys["norm_topk_prob"] = draw.random() < 0.5
        if draw.random() < 0.3:
            keys["shared_expert_intermediate_size"] = 24
            keys["shared_expert_gate"] = draw.random() < 0.5
    for key, value in [("embedding_multiplier", 3.0), ("residual_multiplier", 0.5),
                       ("logit_scale", 0.25)]:
        if draw.random() < 0.15:
            keys[key] = value
    if keys["use_qk_norm"]:
        keys["qk_norm_place"] = draw.choice(["before_rotary", "behind_rotary"])
    if "num_experts" in keys and draw.random() < 0.5:
        keys["router_score"] = draw.choice(["softmax", "sigmoid"])
        keys["router_bias"] = draw.random() < 0.5
        if keys["num_experts"] == 8:
            keys |= {"n_group": 4, "topk_group": 2,
                     "group_score": draw.choice(["largest", "two_largest"])}
        keys["routed_scaling_factor"] = draw.choice([1.0, 2.5])
        keys["expert_scale_place"] = draw.choice(["output", "input"])
    if draw.random() < 0.15:
        for key in ("head_dim", "num_key_value_heads", "use_qk_norm", "qk_norm_over",
                    "qk_norm_type", "qk_norm_place", "position_embedding_type", "rope_theta", "no_rope_layers",
                    "partial_rotary_factor", "query_growth", "query_growth_length"):
            keys.pop(key, None)
        keys |= {"kv_lora_rank": draw.choice([8, 12, 24]), "qk_nope_head_dim": draw.choice([6, 8]),
                 "qk_rope_head_dim": draw.choice([4, 8]), "v_head_dim": draw.choice([8, 12, 20])}
        if draw.random() < 0.5:
            keys["q_lora_rank"] = draw.choice([10, 16])
    keys["attention_sinks"] = draw.random() < 0.15
    keys["embedding_norm"] = draw.random() < 0.15
    keys["norm_weights"] = keys["norm_unit_offset"] or draw.random() < 0.85
    if "kv_lora_rank" not in keys and draw.random() < 0.15:
        keys["clip_qkv"] = 1.0
    if "num_experts" in keys:
        for key in ("expert_norms", "router_norm", "expert_scales"):
            keys[key] = draw.random() < 0.2
    if draw.random() < 0.15:
        keys["hidden_size_per_layer_input"] = draw.choice([4, 12, 16])
    keys["layer_scales"] = draw.random() < 0.15
    if "kv_lora_rank" not in keys and draw.random() < 0.2:
        draw_layer_kinds(draw, keys, positions)
    if "kv_lora_rank" not in keys and draw.random() < 0.4:
        draw_linear_attention(draw, keys)
    if "kv_lora_rank" not in keys and draw.random() < 0.2:
        draw_convolutions(draw, keys)
    if draw.random() < 0.1:
        keys["embedding_size"] = draw.choice([16, 20, 33])
    others = "linear_attention" in keys.get("layer_types", []) or "num_experts" in keys
    if not others and "hidden_size_per_layer_input" not in keys and draw.random() < 0.1:
        keys["mlp_type"] = "xielu"
    return keys


def draw_convolutions(draw, keys):
    """Some layers with a convolution in attention's place."""
    if keys.get("num_kv_shared_layers") or "share_layers" in keys:
        return
    types = keys.get("layer_types", ["full_attention"] * keys["num_hidden_layers"])
    types = [draw.choice([kind, "convolution"]) for kind in types]
    if "convolution" not in types:
        return
    keys |= {"layer_types": types, "conv_bias": draw.random() < 0.3}
    keys.setdefault("linear_conv_kernel_dim", draw.choice([1, 2, 3, 4]))
    if "linear_attention" not in types:
        for key in [key for key in keys if key.startswith("linear_") and "conv" not in key]:
            keys.pop(key)


def draw_linear_attention(draw, keys):
    """Some layers with linear attention, among whatever other kinds there are."""
    layers = keys["num_hidden_layers"]
    if keys.get("num_kv_shared_layers") or "share_layers" in keys:
        return
    types = keys.get("layer_types", ["full_attention"] * layers)
    keys["layer_types"] = [draw.choice([kind, "linear_attention"]) for kind in types]
    key_heads = draw.choice([1, 2, 2, 3, 4])
    keys |= {"linear_num_key_heads": key_heads,
             "linear_num_value_heads": key_heads * draw.choice([1, 2, 3]),
             "linear_key_head_dim": draw.choice([4, 8, 12, 16]),
             "linear_value_head_dim": draw.choice([6, 8, 16, 33]),
             "linear_conv_kernel_dim": draw.choice([1, 2, 4])}
    if "linear_attention" not in keys["layer_types"]:
        for key in [key for key in keys if key.startswith("linear_")]:
            keys.pop(key)
    keys["attn_output_gate"] = draw.random() < 0.5


def draw_layer_kinds(draw, keys, positions):
    """Heads of two sizes, keys that are values, layers that use the keys and values of others."""
    layers, heads = keys["num_hidden_layers"], keys["num_attention_heads"]
    kinds = ["sliding_attention", "full_attention"]
    keys |= {"sliding_window": draw.choice([3, 5, 16]), "value_norm": draw.random() < 0.5,
             "attention_k_eq_v": draw.random() < 0.5,
             "layer_types": [kinds[i % 2] for i in range(layers)],
             "num_kv_shared_layers": draw.choice([0, max(layers - 2, 0)]),
             "use_double_wide_mlp": draw.random() < 0.5}
    if "share_layers" in keys:  # of equal sizes
        keys.pop("use_double_wide_mlp")
        return
    keys["num_global_key_value_heads"] = draw.choice([k for k in range(1, heads + 1)
                                                      if heads % k == 0])
    if positions != "rotary" or "query_growth" not in keys:
        keys["global_head_dim"] = draw.choice([8, 20, 32])
    if positions == "rotary":
        for key in ("rope_theta", "partial_rotary_factor"):
            keys.pop(key, None)
        keys["rope_parameters"] = {"sliding_attention": {"rope_theta": 100.0}, "full_attention": {
            "rope_type": "proportional", "partial_rotary_factor": draw.choice([0.25, 0.5, 1.0]),
            "rope_theta": 1000.0}}


def draw_grid(draw, layers, training):
    """A layout of two to eight ranks: sizes by axis."""
    while True:
        grid = {}
        for axis, sizes in [("data", ["2", "4"]), ("tensor", ["2", "4", "3", "2x2", "2x1x2"]),
                            ("context", ["2", "4"]), ("pipeline", ["2", "3"])]:
            if draw.random() < 0.45 and (training or axis != "data"):
                grid[axis] = draw.choice(sizes)
        if 1 < count_ranks(grid) <= 8 and int(grid.get("pipeline", 1)) <= layers:
            return grid


def count_ranks(grid):
    return math.prod(int(part) for size in grid.values() for part in size.split("x"))


def grid_options(draw, grid, layers, training):
    options = ["--grid", ",".join(f"{axis}={size}" for axis, size in grid.items()),
               "--ranks", count_ranks(grid), "--threads", 1]
    if "data" in grid:
        options += ["--zero", draw.choice([0, 1, 2, 3])]
    if training and "pipeline" in grid:
        schedules = ["gpipe", "1f1b", "1f1b", "zero-bubble"]
        if 2 * int(grid["pipeline"]) <= layers:
            schedules += ["interleaved"]
        options += ["--pipeline-schedule", draw.choice(schedules)]
    return list(map(str, options))


def draw_training(draw, keys, grids):
    """Options of a run of a model on any of these grids."""
    least = max(int(grid.get("data", 1)) * int(grid.get("pipeline", 1)) for grid in grids)
    accumulate = 1
    while accumulate < least or draw.random() < 0.4:
        accumulate *= 2
    accumulate = min(accumulate, 16)
    if any("pipeline" in grid for grid in grids):  # twice as many stages where interleaved
        accumulate = max(accumulate, 8)
    optimizer = draw.choice(["adamw", "adamw", "sgd", "adafactor", "muon"])
    options = ["--batch", draw.choice([1, 2, 3, 4]), "--seq", draw.choice([5, 16, 16, 32]),
               "--accumulate", accumulate, "--optimizer", optimizer,
               "--grad-clip", draw.choice([0, 0.5, 1])]
    if optimizer != "adafactor":
        options += ["--lr", 0.01]
    if draw.random() < 0.3:
        options += ["--dropout", 0.2]
    if draw.random() < 0.2:
        options += ["--z-loss", 1e-3]
    if draw.random() < 0.2:
        options += ["--document-mask", "--document-end", 3]
    if draw.random() < 0.3:
        options += ["--dtype", draw.choice(["bf16", "bf16", "f16"])]
    if optimizer != "adafactor" and draw.random() < 0.2:
        options += ["--state-dtype", "bf16"]
    if draw.random() < 0.1:
        options += ["--fp8", draw.choice(["current", "history"])]
    if draw.random() < 0.15 and all("data" not in grid for grid in grids):
        options += ["--leaves", draw.choice([1, 2])]
    if "num_experts" in keys and draw.random() < 0.4:
        options += ["--router-loss", draw.choice([0.01, 1])]
    return list(map(str, options))


def draw_inference(draw):
    options = []
    if draw.random() < 0.4:
        options += ["--dtype", draw.choice(["bf16", "f16"])]
    if draw.random() < 0.4:
        options += ["--weights", draw.choice(["int8", "int4"])]
        options += ["--weights-group", draw.choice([8, 16, 32])]
        if draw.random() < 0.5:
            options += ["--activations", "int8"]
    if draw.random() < 0.3:
        options += ["--cache-dtype", draw.choice(["bf16", "int8", "fp8"])]
    return list(map(str, options))


class Refused(Exception):
    pass


class Broken(Exception):
    pass


class Case:
    def __init__(self, sinter, gpu, number, folder, experts):
        self.sinter, self.gpu, self.folder = sinter, gpu, folder
        self.commands, self.distances = [], []
        self.draw, self.experts = random.Random(number), experts
        self.model = folder / "config.json"
        self.keys = draw_model(self.draw)
        while experts and "num_experts" not in self.keys:
            self.keys = draw_model(self.draw)
        self.model.write_text(json.dumps(self.keys, indent=1))
        self.tokens = numpy.array([self.draw.randrange(self.keys["vocab_size"])
                                   for _ in range(4000)], dtype=numpy.uint16)
        self.tokens.tofile(folder / "tokens.bin")

    def run(self, *words, program=None):
        command = [program or self.sinter, *map(str, words)]
        self.commands.append(" ".join(command))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Broken("hangs")
        if done.returncode == 0:
            return done.stdout
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        own = [line for line in errors if "rank 0 on" not in line]  # the others repeat rank 0's
        if done.returncode == 1 and len(own) == 1:
            raise Refused(own[0])
        raise Broken(f"status {done.returncode}: {done.stderr[-600:]}")

    def train(self, out, *options, program=None):
        folder = self.folder / out
        self.run("train", self.model, "--data", self.folder / "tokens.bin", "--out", folder,
                 "--log", self.folder / f"{out}.jsonl", *options, program=program)
        weights = safetensors.numpy.load_file(folder / "model.safetensors")
        return {name: hashlib.sha256(value.tobytes()).hexdigest()
                for name, value in weights.items()}

    def logged(self, out, key="loss"):
        lines = map(json.loads, (self.folder / f"{out}.jsonl").read_text().splitlines())
        return [line[key] for line in lines if key in line]

    def check_train(self):
        grid = self.grid(True)
        options = draw_training(self.draw, self.keys, [grid]) + ["--steps", "3"]
        ours = self.train("one", *options, "--threads", 1)
        self.compare(ours, self.train("grid", *options, *self.grid_options(grid, True)))
        if self.logged("one") != self.logged("grid"):
            raise Broken(f"losses {self.logged('one')} and {self.logged('grid')}")

    def check_gpu_train(self):
        options = draw_training(self.draw, self.keys, [{}]) + ["--steps", "3"]
        self.train("cpu", *options)
        self.train("gpu", *options, "--target", "cuda", program=self.gpu)
        narrow = "--dtype" in options or "--fp8" in options
        for key, most in [("loss", 2e-2 if narrow else 1e-4), ("grad_norm", 0.2 if narrow else 2e-3)]:
            ours, theirs = self.logged("cpu", key), self.logged("gpu", key)
            if [number is None for number in ours] != [number is None for number in theirs]:
                raise Broken(f"{key} {ours} and {theirs}")  # of a step that overflows there is none
            # What is rounded more is soon elsewhere: of it the first step is held.
            self.hold(key, *(numpy.array([number or 0.0 for number in numbers])[:1 if narrow else None]
                             for numbers in (theirs, ours)), most)

    def check_gpu_logits(self):
        options = draw_inference(self.draw)
        count, chunk = self.draw.choice([(1, 1), (8, 4), (16, 8), (33, 29), (36, 9)])
        ids = ",".join(map(str, self.tokens[:count]))

        def logits(name, *more, program=None):
            path = self.folder / f"{name}.npy"
            self.run("logits", self.model, "--tokens", ids, "-o", path, *more, program=program)
            return numpy.load(path)

        rounds = {"--dtype", "--activations", "--cache-dtype"} & set(options)
        exact = [option for at, option in enumerate(options)
                 if option not in rounds and (at == 0 or options[at - 1] not in rounds)]
        cpu = logits("cpu", *exact)
        for name, more in [("gpu", []), ("chunks", ["--chunk", chunk])]:
            gpu = logits(name, *options, *more, "--target", "cuda", program=self.gpu)
            # A token whose last expert is barely likelier than the next may go elsewhere.
            most = 1e-4 if not rounds else 1 if "num_experts" in self.keys else 0.1
            self.hold(name, gpu, cpu, most)

    def hold(self, name, ours, theirs, most):
        """That the distance of two lists of numbers is no more than this of their length."""
        distance = numpy.linalg.norm(ours - theirs) / max(numpy.linalg.norm(theirs), 1e-30)
        self.distances.append(f"{name} {distance:.1e}")
        if not distance <= most:
            raise Broken(f"{name} differ by {distance:.2e}")

    def check_resume(self):
        first, second = self.grid(True), self.grid(True)
        options = draw_training(self.draw, self.keys, [first, second])
        whole = self.train("one", *options, "--steps", 4, "--threads", 2)
        self.train("parts", *options, "--steps", 2, *self.grid_options(first, True))
        self.compare(whole, self.train("parts", *options, "--steps", 4, "--resume",
                                       *self.grid_options(second, True)))

    def grid(self, training):
        grid = draw_grid(self.draw, self.keys["num_hidden_layers"], training)
        while self.experts and "tensor" not in grid:
            grid = draw_grid(self.draw, self.keys["num_hidden_layers"], training)
        return grid

    def grid_options(self, grid, training):
        return grid_options(self.draw, grid, self.keys["num_hidden_layers"], training)

    def check_logits(self):
        options = draw_inference(self.draw)
        count, chunk = self.draw.choice([(1, 1), (8, 4), (16, 8), (33, 29), (36, 9)])
        ids = ",".join(map(str, self.tokens[:count]))

        def logits(name, *more):
            path = self.folder / f"{name}.npy"
            self.run("logits", self.model, "--tokens", ids, "-o", path, *options, *more)
            return {"logits": numpy.load(path)}

        one = logits("one", "--threads", 1)
        if not numpy.isfinite(one["logits"]).all():
            raise Broken("logits that are no numbers")
        self.compare(one, logits("chunks", "--chunk", chunk, "--threads", 2))
        self.compare(one, logits("grid", *self.grid_options(self.grid(False), False)))

    def compare(self, ours, theirs):
        same = lambda name: numpy.array_equal(ours[name], theirs[name])
        different = [name for name in ours if not same(name)]
        if different or ours.keys() != theirs.keys():
            raise Broken(f"{len(different)} of {len(ours)} differ: {' '.join(different[:3])}")


def run_case(number, folder, options):
    case = Case(options.sinter, options.gpu, number, folder, options.experts)
    kinds = {"train": case.check_train, "logits": case.check_logits, "resume": case.check_resume}
    if options.gpu:
        kinds = {"train": case.check_gpu_train, "logits": case.check_gpu_logits}
    kind = options.only or case.draw.choice(["train", *kinds])
    try:
        kinds[kind]()
        return kind, "same", ", ".join(case.distances), case
    except Refused as error:
        return kind, "refused", str(error), case
    except Broken as error:
        return kind, "FAILED", str(error), case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sinter")
    parser.add_argument("--gpu", metavar="SINTER", help="on a processor and on this one's GPU")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", choices=["train", "logits", "resume"])
    parser.add_argument("--experts", action="store_true", help="experts on grids with tensor alone")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files of the last case here")
    options = parser.parse_args()
    outcomes = {"same": 0, "refused": 0, "FAILED": 0}
    for number in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or pathlib.Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            kind, outcome, why, case = run_case(number, folder, options)
        outcomes[outcome] += 1
        print(f"{number:6} {kind:7} {outcome:8} {why}", flush=True)
        if outcome == "FAILED":
            print(f"       {json.dumps(case.keys)}")
            print("".join(f"       {command}\n" for command in case.commands), end="", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    sys.exit(1 if outcomes["FAILED"] else 0)


if __name__ == "__main__":
    main()
