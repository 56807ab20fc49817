#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing; does nothing where none is.
#
# Where CMAKE_PREFIX_PATH or MLIR_DIR is set, LLVM and MLIR come from there, and their packages
# (all that end in -22 or carry it in their name) are not asked for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v dpkg-query >/dev/null; then
  echo "install-packages: not a Debian system; what CMake does not find, it will name"
  exit 0
fi

missing=()
while read -r package; do
  case $package in
  '' | '#'*) continue ;;
  *-22 | *-22-*) [[ -n ${CMAKE_PREFIX_PATH:-}${MLIR_DIR:-} ]] && continue ;;
  esac
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done <"$here/packages.txt"

if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

echo "install-packages: missing: ${missing[*]}"
sudo=()
if [[ $(id -u) -ne 0 ]]; then
  # -n: never stop a build to ask for a password.
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo=(sudo -n)
  else
    echo "install-packages: not root, and sudo would ask; run this line, then again:" >&2
    echo "  su -c 'apt-get update && apt-get install -y --no-install-recommends ${missing[*]}'" >&2
    exit 1
  fi
fi

retry=(-o Acquire::Retries=3)
if ! { "${sudo[@]}" apt-get "${retry[@]}" -q update &&
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${retry[@]}" \
    -q install -y --no-install-recommends "${missing[@]}"; }; then
  echo "install-packages: apt-get failed; run this line as root, then again:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
