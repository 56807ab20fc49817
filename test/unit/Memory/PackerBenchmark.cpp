// How long the packer takes, and how near to the lower bound it comes (counter `ratio`).
//   build/bin/PackerBenchmark

#include "compiler/Memory/Packer.h"
#include "test/unit/Memory/Instances.h"
#include <benchmark/benchmark.h>

using namespace sinter;

static void pack(benchmark::State &state, const std::vector<LiveBuffer> &buffers) {
  Packing packing;
  for (auto _ : state)
    packing = Packer().pack(buffers);
  state.counters["buffers"] = double(buffers.size());
  state.counters["ratio"] = double(packing.arenaBytes) / double(packing.lowerBound);
}

static void randomLives(benchmark::State &state) {
  Random random(1);
  pack(state, randomLives(random, state.range(0), state.range(0), state.range(1)));
}
BENCHMARK(randomLives)
    ->ArgNames({"buffers", "life"})
    ->ArgsProduct({{100, 1000, 10'000}, {4, 40, 1000}})
    ->Unit(benchmark::kMillisecond);

static void decoder(benchmark::State &state) { pack(state, decoderLayers(state.range(0))); }
BENCHMARK(decoder)->ArgName("layers")->Arg(12)->Arg(48)->Arg(1400)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
