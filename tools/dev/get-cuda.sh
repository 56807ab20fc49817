#!/usr/bin/env bash
# Gets what the tests of the GPU target need of CUDA where there is no toolkit: get-cuda.sh FOLDER
#
# NVRTC, cuBLAS and the headers come as Python packages (cuda-packages.txt) into FOLDER, whose
# nvidia/cu13 then is what SINTER_CUDA_HOME names. Where they cannot be had, the build goes on
# without, and `make check` ends with what it did not prove.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: get-cuda.sh FOLDER}

for home in "${SINTER_CUDA_HOME:-}" "${CUDA_HOME:-}" /usr/local/cuda "$folder/nvidia/cu13"; do
  [[ -n $home && -e $home/include/cublasLt.h ]] && exit 0
done
if ! python3 -m pip --version >/dev/null 2>&1; then
  echo "get-cuda: no CUDA toolkit, and Python has no pip to get its parts with"
  exit 0
fi
echo "get-cuda: no CUDA toolkit; its parts come from PyPI (0.5 GB) into $folder"
# Into a folder of its own first, so that half of it is never taken for the whole.
rm -rf "$folder.part"
if python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps \
  --only-binary :all: --target "$folder.part" -r "$here/cuda-packages.txt"; then
  rm -rf "$folder"
  mv "$folder.part" "$folder"
else
  rm -rf "$folder.part"
  echo "get-cuda: pip could not get them; going on without"
fi
