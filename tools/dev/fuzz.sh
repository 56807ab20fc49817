#!/usr/bin/env bash
# Runs every libFuzzer target of a fuzz build: fuzz.sh BUILD SECONDS JOBS
#
# Each target starts from its kept corpus (test/fuzz/corpus/) and from what earlier runs found
# (BUILD/found/). A crash, a leak, a hang or 2 GiB of memory fails the run; its input is left in
# BUILD/artifacts/ and, once the reader is mended, belongs in the kept corpus.
set -euo pipefail
build=${1:?usage: fuzz.sh BUILD SECONDS JOBS}
seconds=${2:?}
jobs=${3:?}
mkdir -p "$build/artifacts"

fuzz_one() {
  local name=$1 corpus=$2
  mkdir -p "$build/found/$name"
  if "$build/bin/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/artifacts/$name-" \
    "$build/found/$name" "$corpus" >"$build/artifacts/$name.log" 2>&1; then
    echo "fuzz: $name: $(grep -oP 'executed_units: \K\d+' "$build/artifacts/$name.log") inputs, fine"
  else
    echo "fuzz: $name FAILED:"
    tail -n 40 "$build/artifacts/$name.log"
    return 1
  fi
}
export -f fuzz_one
export build seconds

# `xargs` exits with 123 when any target failed, after all have run.
xargs -a "$build/fuzz-targets.txt" -P "$jobs" -L 1 bash -c 'fuzz_one "$@"' fuzz_one
