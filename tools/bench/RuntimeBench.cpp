//===- RuntimeBench.cpp - The runtime's parts against the limits ------------===//
//
// What a launch costs, and how fast weights are packed beside a plain copy of as many bytes, which
// is measured in the same run: clocks differ from machine to machine and from minute to minute.
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Memory/Region.h"
#include <benchmark/benchmark.h>
#include <cstring>

using namespace sinter;
using namespace sinter::runtime;

namespace {

ThreadPool &pool() {
  static ThreadPool instance;
  return instance;
}

void launch(benchmark::State &state) {
  std::atomic<uint64_t> sum{0};
  for (auto _ : state)
    pool().run(pool().size(), 1, [&](uint64_t begin, uint64_t end) {
      sum.fetch_add(end - begin, std::memory_order_relaxed);
    });
}
BENCHMARK(launch)->UseRealTime();

Region filled(uint64_t bytes) {
  Region region = std::move(*Region::allocate(bytes, "benchmark"));
  std::memset(region.data(), 0, bytes);
  return region;
}

// What packing is measured against: the same bytes, moved in one piece by every thread.
void copy(benchmark::State &state) {
  constexpr uint64_t bytes = 3072 * 3072 * 4;
  Region source = filled(bytes), out = filled(bytes);
  constexpr uint64_t pieces = 64, piece = bytes / pieces;
  for (auto _ : state)
    pool().run(pieces, 1, [&](uint64_t begin, uint64_t end) {
      std::memcpy(out.data() + begin * piece, source.data() + begin * piece, (end - begin) * piece);
    });
  state.SetBytesProcessed(state.iterations() * int64_t(2 * bytes));
}
BENCHMARK(copy)->UseRealTime();

void packWeights(benchmark::State &state, DType from, DType to, bool transposed) {
  constexpr uint64_t k = 3072, n = 3072;
  PackedRhs layout{k, n, to};
  Region source = filled(k * n * 4), out = filled(layout.getBytes());
  PackSource packed{source.data(), from, n, transposed ? k : n, transposed};
  for (auto _ : state)
    pack(pool(), layout, std::span(&packed, 1), out.data());
  state.SetBytesProcessed(state.iterations() * int64_t(k * n * (sizeOf(from) + sizeOf(to))));
}
BENCHMARK_CAPTURE(packWeights, f32, DType::F32, DType::F32, false)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, f32ToBf16, DType::F32, DType::BF16, false)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, bf16, DType::BF16, DType::BF16, false)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, f32Transposed, DType::F32, DType::F32, true)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, bf16Transposed, DType::BF16, DType::BF16, true)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, f32ToBf16Transposed, DType::F32, DType::BF16, true)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, bf16ToF32Transposed, DType::BF16, DType::F32, true)->UseRealTime();
BENCHMARK_CAPTURE(packWeights, f16ToF32Transposed, DType::F16, DType::F32, true)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
