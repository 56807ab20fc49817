#!/usr/bin/env bash
# Runs clang-tidy 22 (.clang-tidy) on the sources that changed: tidy.sh [BASE [BUILD]].
# BASE: a revision to compare with (default: origin/main, else the last commit). BUILD: a configured
# build folder (default: build), whose compile_commands.json says how files are compiled.
set -euo pipefail
cd "$(dirname "$0")/../.."
base=${1:-}
[[ -n $base ]] || base=$(git rev-parse -q --verify origin/main || echo HEAD~1)
if ! git rev-parse -q --verify "$base^{commit}" > /dev/null; then
  echo "tidy: skipped: there is no revision $base here to compare with"
  exit 0
fi
build=${2:-build}
tool=$(command -v clang-tidy-22 || true)
if [[ -z $tool ]]; then
  echo "tidy: clang-tidy 22 is needed; apt-get install clang-tidy-22" >&2
  exit 1
fi
if [[ ! -f $build/compile_commands.json ]]; then
  echo "tidy: $build/compile_commands.json is missing; cmake --preset release" >&2
  exit 1
fi
# What the build folder compiles of what changed; a header is checked with the sources that include it.
files=()
while read -r file; do
  if grep -q "\"file\": \"[^\"]*/$file\"" "$build/compile_commands.json"; then
    files+=("$file")
  elif unity=$(grep -rls --include='unity_*.cxx' "/$file\"" "$build/${file%%/*}"); then
    # Several sources are compiled in it.
    [[ " ${files[*]} " == *" $unity "* ]] || files+=("$unity")
  fi
done < <(git diff --name-only --diff-filter=d "$base" -- '*.cpp')
# Findings in what is compiled with them are not theirs.
lines=$(git diff --name-only --diff-filter=d "$base" -- '*.cpp' '*.h' '*.cuh' |
  sed 's/.*/{"name":"&"}/' | paste -sd, -)
if [[ ${#files[@]} -eq 0 ]]; then
  echo "tidy: no source changed since $base"
  exit 0
fi
echo "tidy: ${#files[@]} sources changed since $base"
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 "$tool" -p "$build" --quiet --use-color=false \
  --line-filter="[$lines]"
