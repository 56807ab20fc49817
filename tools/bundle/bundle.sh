#!/usr/bin/env bash
# Packs programs, what they need, models and gpu-check into one archive:
#
#   bundle.sh OUT.tar.xz NAME=PROGRAM...
#
# Programs named *-tests are run first, in the emulator, and what their kernels came to is in the
# archive, so that a GPU can be compared with it where there is no compiler for the emulator.
#
# The archive's programs run with the C library that they were linked with, which is in the archive
# too: an older one on the target machine does not matter. CUDA's libraries are found there; what
# these ask of the C library, whole or in its former parts, has to be the archive's as well.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$1
shift

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
folder=$stage/sinter
mkdir -p "$folder"/{bin,lib,libexec,records,tools/bench,examples,test/e2e}

loader= libc=
add_library() {
  [[ -e $folder/lib/$(basename "$1") ]] || strip -o "$folder/lib/$(basename "$1")" "$1"
}
for item in "$@"; do
  name=${item%%=*} program=${item#*=}
  strip -o "$folder/libexec/$name" "$program"
  while read -r library; do
    case $library in
    */ld-linux*) loader=$library ;;
    */libc.so.6) libc=$(dirname "$library") ;;
    esac
    add_library "$library"
  done < <(ldd "$program" | grep -o '/[^ ]*')
  cat >"$folder/bin/$name" <<RUN
#!/bin/sh
here=\$(cd "\$(dirname "\$(readlink -f "\$0")")/.." && pwd)
exec "\$here/lib/$(basename "$loader")" \\
  --library-path "\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" "\$here/libexec/$name" "\$@"
RUN
  chmod +x "$folder/bin/$name"
  if [[ $name == *-tests ]]; then
    SINTER_KERNEL_RECORDS=$folder/records "$program" --gtest_brief=1
  fi
done

for library in libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1 libgcc_s.so.1; do
  add_library "$libc/$library"
done

cp -r "$root/examples/models" "$root/examples/shakespeare" "$root/examples/training" "$folder/examples"
cp -r "$root/test/e2e/models" "$root/test/e2e/families" "$folder/test/e2e"
cp -r "$root/kernels_templates" "$folder"
cp "$root"/tools/bench/*.py "$folder/tools/bench"
cp -r "$root/tools/bench/peers" "$folder/tools/bench"
cp "$here/gpu-check" "$folder/gpu-check"
mkdir "$folder/gpu_check"
cp "$here"/gpu_check/*.py "$folder/gpu_check"
cp -r "$here/gpu_check/models" "$folder/gpu_check"

# Programs hold the same code: a dictionary that reaches from one to the next makes the archive a
# third smaller.
tar -C "$stage" -c sinter | xz -T1 --x86 --lzma2=preset=6,dict=256MiB >"$out.partial"
mv "$out.partial" "$out"
echo "$out: $(($(stat -c %s "$out") / 1000000)) MB"
