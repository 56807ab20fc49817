#!/usr/bin/env python3
"""Makes the model under examples/shakespeare/ from a plain text file.

    python tools/dev/train_example.py TEXT OUT [--minutes 15] [--seed 1]

TEXT is any text in the public domain; the model that ships was made from the 1.1 MB "tiny
Shakespeare" file. OUT becomes a Hugging Face directory: config.json, generation_config.json,
model.safetensors (bfloat16), tokenizer.json, tokenizer_config.json.

Needs torch, tokenizers and safetensors from PyPI; nothing in Sinter's build or tests needs them.
Training stops after --steps steps or --minutes minutes, whichever comes first. On one thread and
with the step count reached, a run is repeatable to the bit on one machine and PyTorch version.
"""

import argparse
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 1024,
    "hidden_size": 128,
    "intermediate_size": 352,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "torch_dtype": "bfloat16",
}
END_OF_TEXT = "<|endoftext|>"


def train_tokenizer(text: str) -> Tokenizer:
    """Byte-level BPE as in GPT-2: any byte string has an encoding, decoding restores it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"],
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer


class Model:
    """A Llama: pre-norm blocks of grouped-query attention with rotary positions and SwiGLU.

    Parameters are kept in a dictionary under the names of the Hugging Face checkpoint.
    """

    def __init__(self, dropout: float):
        c = CONFIG
        self.dropout = dropout
        self.training = True
        width, head = c["hidden_size"], c["head_dim"]
        kv_width = c["num_key_value_heads"] * head
        std = 0.02
        residual_std = std / math.sqrt(2 * c["num_hidden_layers"])
        self.p = {}

        def matrix(name, rows, columns, deviation=std):
            self.p[name] = (torch.randn(rows, columns) * deviation).requires_grad_()

        def gain(name):
            self.p[name] = torch.ones(width).requires_grad_()

        matrix("model.embed_tokens.weight", c["vocab_size"], width)
        for i in range(c["num_hidden_layers"]):
            layer = f"model.layers.{i}."
            gain(layer + "input_layernorm.weight")
            matrix(layer + "self_attn.q_proj.weight", width, width)
            matrix(layer + "self_attn.k_proj.weight", kv_width, width)
            matrix(layer + "self_attn.v_proj.weight", kv_width, width)
            matrix(layer + "self_attn.o_proj.weight", width, width, residual_std)
            gain(layer + "post_attention_layernorm.weight")
            matrix(layer + "mlp.gate_proj.weight", c["intermediate_size"], width)
            matrix(layer + "mlp.up_proj.weight", c["intermediate_size"], width)
            matrix(layer + "mlp.down_proj.weight", width, c["intermediate_size"], residual_std)
        gain("model.norm.weight")

        # Hugging Face's rotary pairs dimension j with j + head/2.
        frequency = c["rope_theta"] ** (-torch.arange(0, head, 2).float() / head)
        angle = torch.arange(c["max_position_embeddings"]).float()[:, None] * frequency
        self.cos = torch.cat([angle.cos()] * 2, 1)
        self.sin = torch.cat([angle.sin()] * 2, 1)

    def rotate(self, x):
        length, half = x.shape[-2], x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cos[:length] + turned * self.sin[:length]

    def norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.p[name], CONFIG["rms_norm_eps"])

    def logits(self, tokens):
        """tokens [B, T] -> logits [B, T, vocabulary]."""
        c, p = CONFIG, self.p
        batch, length = tokens.shape
        group = c["num_attention_heads"] // c["num_key_value_heads"]

        def drop(x):
            return F.dropout(x, self.dropout, self.training)

        def heads(x, count):
            return x.view(batch, length, count, c["head_dim"]).transpose(1, 2)

        x = drop(F.embedding(tokens, p["model.embed_tokens.weight"]))
        for i in range(c["num_hidden_layers"]):
            layer = f"model.layers.{i}."
            h = self.norm(x, layer + "input_layernorm.weight")
            q = heads(h @ p[layer + "self_attn.q_proj.weight"].T, c["num_attention_heads"])
            k = heads(h @ p[layer + "self_attn.k_proj.weight"].T, c["num_key_value_heads"])
            v = heads(h @ p[layer + "self_attn.v_proj.weight"].T, c["num_key_value_heads"])
            k = self.rotate(k).repeat_interleave(group, 1)
            v = v.repeat_interleave(group, 1)
            a = F.scaled_dot_product_attention(self.rotate(q), k, v, is_causal=True)
            a = a.transpose(1, 2).reshape(batch, length, -1)
            x = x + drop(a @ p[layer + "self_attn.o_proj.weight"].T)
            h = self.norm(x, layer + "post_attention_layernorm.weight")
            gate = F.silu(h @ p[layer + "mlp.gate_proj.weight"].T)
            up = h @ p[layer + "mlp.up_proj.weight"].T
            x = x + drop((gate * up) @ p[layer + "mlp.down_proj.weight"].T)
        return self.norm(x, "model.norm.weight") @ p["model.embed_tokens.weight"].T

    def loss(self, window):
        """Mean cross-entropy of window [B, T+1], each token predicted from those before it."""
        logits = self.logits(window[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())


def validate(model, tokens, length):
    model.training = False
    with torch.no_grad():
        count = (len(tokens) - 1) // length
        rows = torch.stack([tokens[i * length : i * length + length + 1] for i in range(count)])
        losses = [model.loss(part) * len(part) for part in rows.split(16)]
    model.training = True
    return float(sum(losses)) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    text = args.text.read_text(encoding="utf-8")
    tokenizer = train_tokenizer(text)
    tokens = torch.tensor(tokenizer.encode(text).ids)
    split = len(tokens) * 95 // 100
    training, validation = tokens[:split], tokens[split:]
    length = CONFIG["max_position_embeddings"]
    model = Model(args.dropout)
    count = sum(p.numel() for p in model.p.values())
    print(f"{len(tokens)} tokens, {count} parameters", flush=True)

    decayed = [p for p in model.p.values() if p.dim() >= 2]
    plain = [p for p in model.p.values() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95))
    start = time.monotonic()
    for step in range(args.steps):
        # Progress through the schedule is the farther of steps and minutes, so that a slower
        # machine still ends with a small learning rate.
        elapsed = time.monotonic() - start
        progress = max(step / args.steps, elapsed / (args.minutes * 60))
        if progress >= 1:
            break
        warm = min(1.0, (step + 1) / 50)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * warm * (0.05 + 0.95 * (1 + math.cos(math.pi * progress)) / 2)
        begin = torch.randint(len(training) - length - 1, (args.batch,))
        loss = model.loss(torch.stack([training[b : b + length + 1] for b in begin.tolist()]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.p.values()), 1.0)
        optimizer.step()
        if step % 100 == 0:
            held_out = validate(model, validation, length)
            print(f"step {step} loss {loss.item():.3f} validation {held_out:.3f} "
                  f"{time.monotonic() - start:.0f} s", flush=True)

    for p in model.p.values():
        p.data = p.data.bfloat16().float()
    print(f"validation {validate(model, validation, length):.3f} in bfloat16", flush=True)

    args.out.mkdir(parents=True, exist_ok=True)
    weights = {name: p.data.bfloat16().contiguous() for name, p in model.p.items()}
    save_file(weights, args.out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(args.out / "tokenizer.json"))
    ends = {"bos_token_id": CONFIG["bos_token_id"], "eos_token_id": CONFIG["eos_token_id"]}
    names = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "model_max_length": length,
        "clean_up_tokenization_spaces": False,
    }
    for file, content in [("config.json", CONFIG), ("generation_config.json", ends),
                          ("tokenizer_config.json", names)]:
        (args.out / file).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
