#!/usr/bin/env bash
# A tour in a minute: compiles the example model, shows its memory plan, lets it write, measures it.
# `make demo` runs it; SINTER names the program, DEMO_OUT a folder for what is made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sinter=${SINTER:-sinter}
model=$here/shakespeare
out=${DEMO_OUT:-$(mktemp -d)}
mkdir -p "$out"

step() {
  printf '\n\033[1m$ sinter %s\033[0m\n' "$*"
  "$sinter" "$@"
}

step compile "$model" -o "$out/shakespeare.sinter"
ls -l "$out/shakespeare.sinter" | awk '{ printf "%s: %.0f KB, the weights beside it\n", $NF, $5 / 1e3 }'

step plan "$model" --mode decode --html "$out/plan.html"
step generate "$out/shakespeare.sinter" --prompt $'ROMEO:\n' --max-new-tokens 120 \
  --temperature 0.8 --top-k 40 --seed 7
step bench "$model" --mode prefill --seq 128
step bench "$model" --mode decode --context 128
step profile "$model" --mode decode --context 128 --trace "$out/trace.json" | head -n 24

printf '\nThe plan as a picture: %s\nThe trace, for ui.perfetto.dev: %s\n' \
  "$out/plan.html" "$out/trace.json"
