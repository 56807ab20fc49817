//===- Limits.cpp - What this machine can do at most ------------------------===//
//
// Prints one JSON object: the rates of the library's matrix product on large, cache-friendly shapes
// (f32 and bf16, the best shape counts) and the rate at which memory is read. bench.py divides
// Sinter's figures by these. Of the reads the median counts, as of Sinter's steps: a shared
// machine's memory is twice as fast for moments.
//
//===----------------------------------------------------------------------===//

#include "runtime/Base/VectorClones.h"
#include "tools/sinter/GemmPeak.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace sinter;
using namespace sinter::runtime;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The median time of `fn` in seconds, over repetitions that together take about `budget`.
template <typename Fn> double median(double budget, Fn &&fn) {
  fn(); // warms caches and clocks
  std::vector<double> times;
  double end = now() + budget;
  do {
    double start = now();
    fn();
    times.push_back(now() - start);
  } while (now() < end);
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Memory that is aligned to cache lines and has been written.
struct Buffer {
  explicit Buffer(size_t bytes) : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {
    std::memset(data, 0, bytes);
  }
  ~Buffer() { std::free(data); }
  void *data;
};

SINTER_VECTOR_CLONES uint64_t sum(const uint64_t *data, uint64_t count) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i)
    total += data[i];
  return total;
}

/// Bytes per second that all threads together read from memory.
double measureRead(ThreadPool &pool) {
  constexpr uint64_t kWords = uint64_t(1) << 26; // 512 MiB: beyond any cache here
  constexpr uint64_t kBlock = uint64_t(1) << 15;
  Buffer buffer(kWords * 8);
  auto *words = static_cast<uint64_t *>(buffer.data);
  std::vector<uint64_t> sums(kWords / kBlock);
  double seconds = median(1.5, [&] {
    pool.run(sums.size(), 16, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i)
        sums[i] = sum(words + i * kBlock, kBlock);
    });
  });
  return kWords * 8 / seconds;
}

} // namespace

int main(int argc, char **argv) {
  ThreadPool pool(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0);
  const uint64_t shapes[][3] = {{512, 768, 3072}, {512, 3072, 768}, {1024, 2048, 2048}};
  double peaks[2] = {0, 0};
  for (int type = 0; type < 2; ++type)
    for (auto [m, n, k] : shapes) {
      double rate = cli::measureGemm(pool, type == 0 ? DType::F32 : DType::BF16, m, n, k, 0.8);
      peaks[type] = std::max(peaks[type], rate);
    }
  std::printf("{\"threads\": %u, \"f32_gemm_gflops\": %.1f, \"bf16_gemm_gflops\": %.1f, "
              "\"read_gb_per_s\": %.2f}\n",
              pool.size(), peaks[0] * 1e-9, peaks[1] * 1e-9, measureRead(pool) * 1e-9);
  return 0;
}
