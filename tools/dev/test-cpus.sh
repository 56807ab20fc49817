#!/usr/bin/env bash
# Runs the tests of the CPU target for processors below this one: test-cpus.sh BUILD [CTEST OPTION...]
# All of them (labels like `cpu`) for the least one that is supported, those of kernels
# themselves (`cpu-kernels`) for the ones between.
#
# SINTER_CPU makes Sinter treat this processor as one that has less, in every tool and test
# (runtime/Base/CpuFeatures.h). The highest that this machine is or has is what the suite's
# own run tests.
set -euo pipefail
build=${1:?usage: test-cpus.sh BUILD [CTEST OPTION...]}
shift

able=()
for cpu in x86-64-v3 x86-64-v4 cooperlake; do
  line=$(SINTER_CPU=$cpu "$build/bin/sinter" devices | sed -n 1p)
  if [[ $line == *"not usable"* ]]; then
    echo "test-cpus: $cpu skipped: ${line#*SINTER_CPU=$cpu: }"
  else
    able+=("$cpu")
  fi
done
((${#able[@]} > 0)) || exit 0
labels='^cpu'
for cpu in "${able[@]:0:${#able[@]}-1}"; do
  echo "test-cpus: $cpu, tests whose label is like $labels"
  SINTER_CPU=$cpu ctest --test-dir "$build" -L "$labels" "$@"
  labels='^cpu-kernels'
done
