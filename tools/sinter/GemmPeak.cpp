#include "tools/sinter/GemmPeak.h"
#include "runtime/Device/Cpu/Gemm.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace sinter;
using namespace sinter::runtime;

namespace {
/// Memory that is aligned to cache lines and has been written.
struct Buffer {
  explicit Buffer(size_t bytes) : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {
    std::memset(data, 0, bytes);
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  void *data;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

double sinter::cli::measureGemm(ThreadPool &pool, DType dtype, uint64_t m, uint64_t n, uint64_t k,
                                double seconds) {
  size_t bytes = dtype == DType::F32 ? 4 : 2;
  Buffer lhs(m * k * bytes), rhs((n + 63) / 64 * 64 * (k + 31) / 32 * 32 * bytes), out(m * n * 4);
  GemmLibrary library(pool.size());
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.dtype = dtype;
  problem.lhs = lhs.data;
  problem.lhsStride = k;
  problem.rhs = rhs.data;
  problem.out = out.data;
  problem.outStride = n;
  Gemm gemm = library.bind(problem);
  gemm.run(pool);
  double best = 1e30, end = now() + seconds;
  do {
    double start = now();
    gemm.run(pool);
    best = std::min(best, now() - start);
  } while (now() < end);
  return 2.0 * double(m) * double(n) * double(k) / best;
}

double sinter::cli::measureGemmPeak(ThreadPool &pool, DType dtype) {
  return std::max(measureGemm(pool, dtype, 512, 768, 3072, 0.02),
                  measureGemm(pool, dtype, 512, 3072, 768, 0.02));
}
