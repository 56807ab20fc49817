//===- TestGpu.h - A fake GPU with its context, for tests -------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"

#include <gtest/gtest.h>
#include <numeric>

namespace sinter::fake {

/// Opens a fake GPU; what a test needs of the driver in few words.
class FakeGpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    open({});
  }

  void TearDown() override {
    if (fake)
      close();
  }

  void open(FakeOptions options) {
    if (fake)
      close();
    options.cache = SINTER_FAKE_CACHE;
    fake = std::make_unique<FakeCuda>(options);
    api = *runtime::cuda::cudaApi();
    ASSERT_EQ(api->cuInit(0), CUDA_SUCCESS);
    CUcontext context;
    api->cuDevicePrimaryCtxRetain(&context, 0);
    api->cuCtxPushCurrent(context);
    CUmemPoolProps properties = {};
    api->cuMemPoolCreate(&pool, &properties);
    stream = newStream();
  }

  void close() {
    CUcontext context;
    api->cuCtxPopCurrent(&context);
    fake = nullptr;
  }

  CUstream newStream() {
    CUstream made = nullptr;
    EXPECT_EQ(api->cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
  }
  CUevent newEvent() {
    CUevent made = nullptr;
    EXPECT_EQ(api->cuEventCreate(&made, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    return made;
  }
  CUdeviceptr newMemory(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(api->cuMemAllocFromPoolAsync(&address, bytes, pool, stream), CUDA_SUCCESS);
    return address;
  }
  /// Pinned floats.
  float *newPinned(size_t count) {
    void *address = nullptr;
    EXPECT_EQ(api->cuMemHostAlloc(&address, count * 4, 0), CUDA_SUCCESS);
    return static_cast<float *>(address);
  }
  /// Floats on the device; the host has waited for them.
  CUdeviceptr copyOf(const std::vector<float> &values) {
    CUdeviceptr address = newMemory(values.size() * 4);
    api->cuMemcpyHtoDAsync(address, values.data(), values.size() * 4, stream);
    EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
    return address;
  }
  /// Floats of the device, when all of the stream is done.
  std::vector<float> read(CUdeviceptr address, size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(api->cuMemcpyDtoHAsync(values.data(), address, count * 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
    return values;
  }

  Expected<runtime::cuda::CompiledCuda> compile(const std::string &source,
                                                const char *architecture = "sm_90a") {
    return runtime::cuda::compileCuda({"test.cu", source, {}, {}}, architecture);
  }
  /// A kernel of a source.
  CUfunction load(const std::string &source, const char *name) {
    auto code = compile(source);
    EXPECT_TRUE(code) << code.error().message();
    CUlibrary library = nullptr;
    EXPECT_EQ(api->cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr,
                                     nullptr, 0),
              CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    EXPECT_EQ(api->cuLibraryGetKernel(&kernel, library, name), CUDA_SUCCESS);
    return reinterpret_cast<CUfunction>(kernel);
  }
  CUresult launch(CUfunction kernel, unsigned grid, unsigned block,
                  std::vector<CUdeviceptr> arguments, CUstream on = nullptr,
                  unsigned sharedBytes = 0) {
    std::vector<void *> parameters;
    for (CUdeviceptr &argument : arguments)
      parameters.push_back(&argument);
    return api->cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, sharedBytes, on ? on : stream,
                               parameters.data(), nullptr);
  }

  std::unique_ptr<FakeCuda> fake;
  const runtime::cuda::CudaApi *api = nullptr;
  CUmemoryPool pool = nullptr;
  CUstream stream = nullptr;
};

} // namespace sinter::fake
