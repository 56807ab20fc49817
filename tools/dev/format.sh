#!/usr/bin/env bash
# Formats C++ sources with clang-format 22: format.sh [--check] [FILE...] (default: every file).
# Other versions format differently, so they are refused.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run --Werror)
  shift
fi
tool=$(command -v clang-format-22 || command -v clang-format || true)
if [[ -z $tool ]] || ! "$tool" --version | grep -q 'version 22\.'; then
  echo "format: clang-format 22 is needed; apt-get install clang-format-22" >&2
  exit 1
fi
if [[ $# -gt 0 ]]; then
  printf '%s\0' "$@" | xargs -0 -r "$tool" "${mode[@]}"
else
  git ls-files -z -- '*.cpp' '*.h' | xargs -0 -r "$tool" "${mode[@]}"
fi
