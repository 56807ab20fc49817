#!/usr/bin/env python3
"""Kept models as llama.cpp's own converter writes them, against the directories that they were:

    tools/dev/compare_gguf.py LLAMA_CPP SINTER [NAME or FOLDER...] [--keep test/e2e/gguf]

LLAMA_CPP is a folder with its conversion/ and gguf-py/, for example vendor/llama.cpp of PyPI's source
archive of llama-cpp-python. Needs: pip install numpy torch transformers.

Each model of test/e2e is converted, without its vocabulary, and must give the logits of its directory.
What a file has no key for, and llama.cpp takes as published models have it, the copies that are
converted have so, too (CHANGES); what the converter refuses is said. `--keep` leaves the files, with
matrices in bf16 as the models have them.
"""

import argparse
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

parser = argparse.ArgumentParser()
parser.add_argument("llama", type=pathlib.Path)
parser.add_argument("sinter", type=pathlib.Path)
parser.add_argument("names", nargs="*")
parser.add_argument("--keep", type=pathlib.Path)
options = parser.parse_args()
llama, sinter, named = options.llama, options.sinter.resolve(), options.names
sys.path[:0] = [str(llama), str(llama / "gguf-py")]
logging.disable(logging.CRITICAL)
import conversion  # noqa: E402
import gguf  # noqa: E402

MODELS = pathlib.Path(__file__).parents[2] / "test" / "e2e"
TOKENS = "3,1,4,1,5,9,2,6,5,3,5,8"
LIMIT = 1e-6  # of the largest logit: most have equal bits, some factors are f32 in the file

NO_WINDOW = {"sliding_window": None, "layer_types": None}
SIGMOIDS = {"scoring_func": "sigmoid", "topk_method": "noaux_tc"}
# What the converter alone is told: how much is rotated, and heads that are no multiple of 64.
CONVERTER = {"bamba": {"attn_rotary_emb": 4}, "nemotron_h": {"d_head": 6}, "nemotron_h-experts": {"d_head": 6},
             "nemotron_h-latent": {"d_head": 6}}
# Keys of published config.json that newer ones lack, or other values of them.
CHANGES = {
    "bamba": {"layer_types": None},
    "deepseek_v2-groups": {"rope_parameters": {"mscale": 0.9}},
    "deepseek_v3": SIGMOIDS,
    "dots1": NO_WINDOW | SIGMOIDS | {"n_group": 1, "topk_group": 1},
    # Read as Llama by transformers, which says so.
    "exaone": {"architectures": ["ExaoneForCausalLM"], "activation_function": "silu",
               "hidden_act": None},
    "falcon_h1": {"head_dim": 8},
    "falcon_h1-norm": {"head_dim": 8, "mamba_d_ssm": 64, "mamba_norm_before_gate": False},
    "granitemoehybrid": {"layer_types": ["mamba", "attention", "mamba"]},
    "granitemoehybrid-dense": {"layer_types": ["mamba", "attention", "mamba"],
                               "position_embedding_type": "nope"},
    "internlm3": {"architectures": ["InternLM3ForCausalLM"]},
    "gemma2": {"query_pre_attn_scalar": 12},
    "glm4_moe_lite": SIGMOIDS,
    "gpt2": {"n_ctx": 40},
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": 10000},
    "gpt_neox-sequential": {"rotary_pct": 0.5, "rotary_emb_base": 10000},
    "gpt_oss": {"swiglu_limit": 7.0},
    "gpt_oss-mxfp4": {"swiglu_limit": 7.0},
    "hunyuan_v1_dense": {"max_position_embeddings": 32768, "rope_parameters": {"rope_theta": 10000.0}},
    "hunyuan_v1_moe": {"moe_topk": [2, 2], "moe_intermediate_size": [20, 20], "num_shared_expert": [1, 1]},
    "llama4-dense": {"attn_temperature_tuning": True, "use_qk_norm": True, "no_rope_layers": None,
                     "layer_types": None},
    "llama-mqa-bias": {"hidden_act": "silu"},
    "mistral": NO_WINDOW,
    "mixtral": NO_WINDOW,
    "olmo3": {"rope_parameters": {"sliding_attention": {"rope_theta": 100.0}}},
    "qwen2-window": NO_WINDOW | {"use_sliding_window": False},
    "mamba2": {"time_step_limit": None},
    "nemotron_h": {"time_step_min": None, "layers_block_type": None, "num_experts_per_tok": None,
                   "n_routed_experts": None, "num_hidden_layers": 5,
                   "hybrid_override_pattern": "M-M*-"},
    "nemotron_h-experts": {"time_step_min": None},
    "nemotron_h-latent": {"time_step_min": None},
    "solar_open": {"rope_parameters": {"partial_rotary_factor": 1.0}},
    "starcoder2": NO_WINDOW,
    "cohere2": {"rotary_pct": 1.0},
    "gemma3": {"query_pre_attn_scalar": 12},
    "minimax_m2": {"rotary_dim": 6},
}


def merge(config, changes):
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            merge(config[key], value)
        elif value is None:
            config.pop(key, None)
        else:
            config[key] = value


def find(hparams, key):
    return hparams[key] if key in hparams else hparams["text_config"][key]


def write_vocabulary(self):
    """Tokens without a text: logits need none."""
    count = find(self.hparams, "vocab_size")
    self.gguf_writer.add_tokenizer_model("gpt2")
    self.gguf_writer.add_tokenizer_pre("default")
    self.gguf_writer.add_token_list([f"t{i}" for i in range(count)])
    self.gguf_writer.add_token_types([gguf.TokenType.NORMAL] * count)
    self.gguf_writer.add_token_merges(["t 0"])


def convert(folder, path, changes):
    hparams = conversion.ModelBase.load_hparams(folder, False)
    merge(hparams, changes | CONVERTER.get(folder.name, {}))
    architecture = conversion.get_model_architecture(hparams, conversion.ModelType.TEXT)
    # Some tables are cut to the tokens that there are.
    vocabulary = {f"t{i}": i for i in range(find(hparams, "vocab_size"))}
    tokenizer = {"model": {"type": "BPE", "vocab": vocabulary}, "added_tokens": []}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    known = conversion.get_model_class(architecture)
    model = type(known.__name__, (known,), {"set_vocab": write_vocabulary, "model_arch": known.model_arch,
                                            "no_mtp": True})
    kind = gguf.LlamaFileType.MOSTLY_BF16 if options.keep else gguf.LlamaFileType.ALL_F32
    model(folder, kind, path, eager=True, hparams=hparams).write()


def logits(model, out):
    done = subprocess.run([sinter, "logits", model, "--tokens", TOKENS, "--dtype", "f32", "-o", out],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().replace(str(model), model.name))
    return numpy.load(out)


failed = 0
folders = sorted(path.parent for path in MODELS.glob("*/*/config.json"))
folders += [pathlib.Path(name) for name in named if "/" in name]
with tempfile.TemporaryDirectory() as temporary:
    out = pathlib.Path(temporary)
    for folder in folders:
        if named and folder.name not in named and str(folder) not in named:
            continue
        if not (folder / "model.safetensors").exists() or folder.name.startswith("sinter"):
            continue
        copy, path = out / folder.name, (options.keep or out) / (folder.name + ".gguf")
        shutil.copytree(folder, copy)
        changes = CHANGES.get(folder.name, {})
        config = json.loads((copy / "config.json").read_text())
        merge(config, changes)
        (copy / "config.json").write_text(json.dumps(config))
        try:
            convert(copy, path, changes)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{folder.name}: not converted: {type(error).__name__}: {str(error).splitlines()[:1]}")
            continue
        try:
            whole = logits(copy, out / "whole.npy")
            off = numpy.abs(logits(path, out / "file.npy") - whole).max() / numpy.abs(whole).max()
            wrong = not off <= LIMIT
            print(f"{folder.name}: {off:.1e}" + ("  WRONG" if wrong else ""))
        except RuntimeError as error:
            wrong = True
            print(f"{folder.name}: FAILED: {error}")
        failed += wrong
sys.exit(failed > 0)
