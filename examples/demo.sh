#!/usr/bin/env bash
# A tour in two minutes: trains a small model on this repository's own text, lets it write, and shows
# what the compiler made of the one that comes along.
# `make demo` runs it; SINTER names the program, DEMO_OUT a folder for what is made, DEMO_STEPS how
# long it trains.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sinter=${SINTER:-sinter}
out=${DEMO_OUT:-$(mktemp -d)}
mkdir -p "$out"

step() {
  printf '\n\033[1m$ sinter %s\033[0m\n' "$*"
  "$sinter" "$@"
}

# Headers and documents: a text of its own kind that everybody has who has this script.
(cd "$here/.." && find . -path ./build\* -prune -o \
  \( -name '*.md' -o -name '*.h' -o -name '*.td' \) -print | LC_ALL=C sort | xargs cat) \
  > "$out/sources.txt"
printf '%s: %.0f KB of headers and documents to learn from, byte by byte\n' \
  "$out/sources.txt" "$(wc -c < "$out/sources.txt" | awk '{ print $1 / 1e3 }')"

rm -rf "$out/trained"
step train "$here/training/llama-bytes.json" --data "$out/sources.txt" --val-split 0.05 \
  --out "$out/trained" --steps "${DEMO_STEPS:-1200}" --batch 8 --seq 128 --lr 2e-3 --min-lr 2e-4 \
  --warmup 50 --schedule cosine --beta2 0.99 --eval-every 250
step generate "$out/trained" --prompt '/// The ' --max-new-tokens 110 --temperature 0.7 --seed 3

model=$here/shakespeare
step plan "$model" --mode decode --html "$out/plan.html" | sed -n 1,8p
step generate "$model" --prompt $'ROMEO:\n' --max-new-tokens 80 --temperature 0.8 --top-k 40 --seed 7
step bench "$model" --mode decode --context 128
step profile "$model" --mode decode --context 128 --trace "$out/trace.json" | sed -n 1,12p

printf '\nHow training went: %s\nThe plan as a picture: %s\nThe trace, for ui.perfetto.dev: %s\n' \
  "$out/trained/report.html" "$out/plan.html" "$out/trace.json"
