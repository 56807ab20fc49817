// smallGpuModel() with kernels for a GPU, and its weights.
#pragma once

#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Weights/WeightSource.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace sinter::runtime::testing {

constexpr uint64_t m = 3, n = 8, k = 4;
// The kernels of smallGpuModel(m, n, k).
inline constexpr const char *kernelSource = R"(
constexpr int m = 3, n = 8, k = 4;
extern "C" __global__ void __launch_bounds__(32) addOne(const float *__restrict__ in, float *out) {
  out[threadIdx.x] = in[threadIdx.x] + 1; // n * k of them
}
extern "C" __global__ void __launch_bounds__(32)
    doubleAll(const float *__restrict__ in, const float *__restrict__ two, float *out) {
  __shared__ float row[n];
  if (threadIdx.x < n)
    row[threadIdx.x] = in[blockIdx.x * n + threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n)
    out[blockIdx.x * n + threadIdx.x] = row[threadIdx.x] * *two;
}
extern "C" __global__ void __launch_bounds__(32) countRun(float *runs) {
  if (threadIdx.x == 0)
    *runs += 1;
}
)";

struct Weights : WeightSource {
  Weights() : weight(n * k), bias(n) {
    std::iota(weight.begin(), weight.end(), 0.5f);
    std::iota(bias.begin(), bias.end(), -3.0f);
  }
  std::optional<StoredTensor> find(std::string_view name) const override {
    if (name == "w.weight")
      return StoredTensor{DType::F32, {int64_t(n), int64_t(k)}, std::as_bytes(std::span(weight))};
    return StoredTensor{DType::F32, {int64_t(n)}, std::as_bytes(std::span(bias))};
  }
  // Whoever reads a tensor after this reads wrong numbers.
  void release(std::string_view name) const override {
    std::vector<float> &gone =
        const_cast<Weights *>(this)->*(name == "w.weight" ? &Weights::weight : &Weights::bias);
    kept[std::string(name)] = gone;
    std::fill(gone.begin(), gone.end(), NAN);
  }
  std::vector<float> weight, bias;
  mutable std::map<std::string, std::vector<float>> kept;
};

/// The small model with machine code; with `waits` the last kernel, which alone stands behind
/// another and is what changes the state, would overlap, were nothing in between.
inline Parts model(bool waits = false) {
  Parts parts = smallGpuModel(m, n, k);
  parts.waits = waits;
  auto code = cuda::compileCuda({"kernels.cu", kernelSource, {}, {}}, "sm_90a");
  EXPECT_TRUE(code) << code.error().message();
  parts.kernelPrograms[0].source = kernelSource;
  parts.kernelPrograms[0].cubins["sm_90a"] = {reinterpret_cast<const char *>(code->cubin.data()),
                                              code->cubin.size()};
  return parts;
}

} // namespace sinter::runtime::testing
