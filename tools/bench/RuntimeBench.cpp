//===- RuntimeBench.cpp - The runtime's parts against the limits ------------===//
//
// What a launch costs, how fast weights are packed, and which part of the processor's peak the
// library products reach. The peaks are measured in the same run, by loops that touch no memory:
// clocks differ from machine to machine and from minute to minute.
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Gemm.h"
#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Memory/Region.h"
#include <benchmark/benchmark.h>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void multiplyF32(uint64_t rounds, float *out) {
  __m512 sums[12];
  for (int i = 0; i < 12; ++i)
    sums[i] = _mm512_set1_ps(float(i));
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (uint64_t r = 0; r < rounds; ++r)
#pragma clang loop unroll(full)
    for (int i = 0; i < 12; ++i)
      asm volatile("vfmadd213ps %2, %1, %0" : "+v"(sums[i]) : "v"(a), "v"(b));
  for (__m512 sum : sums)
    *out += _mm512_reduce_add_ps(sum);
}

__attribute__((target("avx512f,avx512bf16"))) void multiplyBf16(uint64_t rounds, float *out) {
  __m512 sums[12] = {};
  __m512 a = _mm512_setzero_ps();
  for (uint64_t r = 0; r < rounds; ++r)
#pragma clang loop unroll(full)
    for (int i = 0; i < 12; ++i)
      asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sums[i]) : "v"(a));
  for (__m512 sum : sums)
    *out += _mm512_reduce_add_ps(sum);
}

void peak(benchmark::State &state, DType dtype) {
  bool bf16 = dtype == DType::BF16;
  if (!hasCpuFeature(bf16 ? "avx512bf16" : "avx512f"))
    return state.SkipWithError("the processor has no such instructions");
  constexpr uint64_t rounds = 20000;
  for (auto _ : state)
    pool().run(pool().size() * 8, 1, [&](uint64_t begin, uint64_t end) {
      float sink = 0;
      uint64_t count = (end - begin) * rounds;
      bf16 ? multiplyBf16(count, &sink) : multiplyF32(count, &sink);
      benchmark::DoNotOptimize(sink);
    });
  double flops = double(state.iterations()) * pool().size() * 8 * rounds * 12 * (bf16 ? 64 : 32);
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(peak, f32, DType::F32)->UseRealTime();
BENCHMARK_CAPTURE(peak, bf16, DType::BF16)->UseRealTime();
#endif

Region filled(uint64_t bytes) {
  Region region = std::move(*Region::allocate(bytes, "benchmark"));
  std::memset(region.data(), 0, bytes);
  return region;
}

// Arguments: m, k, n.
void gemm(benchmark::State &state, DType dtype) {
  GemmProblem problem;
  problem.m = uint64_t(state.range(0));
  problem.k = uint64_t(state.range(1));
  problem.n = uint64_t(state.range(2));
  problem.dtype = problem.outDtype = dtype;
  Panels panels{problem.k, problem.n, dtype};
  // As many weights as do not fit in the caches: in a model each product meets its own for the
  // first time.
  constexpr uint64_t weightBytes = 64 << 20;
  uint64_t copies = weightBytes / panels.bytes() + 1;
  Region lhs = filled(problem.m * problem.k * 4), out = filled(problem.m * problem.n * 4);
  Region rhs = filled(copies * panels.bytes()), bias = filled(problem.n * 4);
  problem.lhs = lhs.data(), problem.lhsStride = problem.k;
  problem.out = out.data(), problem.outStride = problem.n;
  problem.postOps = {{PostOpKind::Bias, DType::F32, 0, bias.data()}};
  GemmLibrary library(pool().size());
  std::vector<Gemm> gemms;
  for (uint64_t i = 0; i < copies; ++i) {
    problem.rhs = rhs.data() + i * panels.bytes();
    gemms.push_back(library.bind(problem));
  }
  size_t next = 0;
  for (auto _ : state) {
    gemms[next].run(pool());
    next = (next + 1) % gemms.size();
  }
  double flops = 2.0 * double(problem.m) * double(problem.n) * double(problem.k);
  state.counters["FLOP/s"] =
      benchmark::Counter(flops * double(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["B/s"] = benchmark::Counter(double(panels.bytes()) * double(state.iterations()),
                                             benchmark::Counter::kIsRate);
}

void shapes(benchmark::internal::Benchmark *bench) {
  for (int64_t m : {1, 8, 64, 512})
    for (auto [k, n] :
         {std::pair<int64_t, int64_t>{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}})
      bench->Args({m, k, n});
  bench->Args({64, 128, 384})->Args({1, 768, 50257})->UseRealTime();
}
BENCHMARK_CAPTURE(gemm, f32, DType::F32)->Apply(shapes);
BENCHMARK_CAPTURE(gemm, bf16, DType::BF16)->Apply(shapes);

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
  Panels layout{k, n, to};
  Region source = filled(k * n * 4), out = filled(layout.bytes());
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
