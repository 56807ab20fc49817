#!/usr/bin/env python3
"""Vocabularies that llama.cpp publishes as GGUF files, against the ids that it expects of them:

    tools/dev/compare_vocabularies.py LLAMA_CPP SINTER

LLAMA_CPP is a checkout with its models/ folder: ggml-vocab-NAME.gguf, the texts of NAME.gguf.inp and a
line of ids for each in NAME.gguf.out. What is not known as a tokenizer here is said.
"""

import argparse
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("llama", type=pathlib.Path)
parser.add_argument("sinter")
options = parser.parse_args()

BETWEEN = "\n__ggml_vocab_test__\n"
wrong = 0
for path in sorted((options.llama / "models").glob("ggml-vocab-*.gguf")):
    given, expected = path.with_suffix(".gguf.inp"), path.with_suffix(".gguf.out")
    if not given.exists():
        continue
    texts = given.read_bytes().decode().split(BETWEEN)
    differ = []
    for text, ids in zip(texts, expected.read_text().splitlines()):
        command = [options.sinter, "tokenize", path, "--no-special", "--text", text]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{path.stem}: refused: {done.stderr.strip()}")
            break
        if done.stdout.replace(",", " ").split() != ids.split():
            differ.append(text)
    else:
        print(f"{path.stem}: {len(texts)} texts, {len(differ)} differ {differ[:3] if differ else ''}")
        wrong += bool(differ)
sys.exit(wrong != 0)
