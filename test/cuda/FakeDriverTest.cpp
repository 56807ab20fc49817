//===- FakeDriverTest.cpp - Streams, memory, graphs and failures ----------===//
#include "test/cuda/FakeDevice.h"
#include "test/cuda/TestGpu.h"

#include <cmath>

using namespace sinter;
using namespace sinter::fake;

namespace {

constexpr auto source = R"(
extern "C" __global__ void __launch_bounds__(64) add(const float *__restrict__ a, const float *b, float *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = a[i] + b[i];
}
extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void racing(float *x) {
  __shared__ float box[64];
  box[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = box[63 - threadIdx.x];
}
extern "C" __global__ void beyond(float *x) { x[threadIdx.x + 64] = 1; }
extern "C" __global__ void weighted(const float *weights, const float *x, float *out) {
  float weight = weights[threadIdx.x];
  sinter::simt::pdlWait();
  out[threadIdx.x] = weight * x[threadIdx.x];
}
extern "C" __global__ void impatient(const float *x, float *out) {
  float early = x[threadIdx.x];
  sinter::simt::pdlWait();
  out[threadIdx.x] = early;
}
extern "C" __global__ void hasty(float *x) {
  x[threadIdx.x] = 5;
  sinter::simt::pdlWait();
}
extern "C" __global__ void every_other(const float *x, float *out) {
  if (threadIdx.x % 2)
    return;
  sinter::simt::pdlWait();
  out[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void for_ever(float *x) {
  if (threadIdx.x < 16)
    __syncwarp();
  else
    __syncthreads();
  x[0] = 1;
}
)";

class FakeDriverTest : public FakeGpuTest {};

/// A function that the runtime's table need not have.
template <typename Function> Function *driverFunction(const char *name, Function *) {
  for (const NamedFunction &function : driverFunctions())
    if (std::string_view(function.name) == name)
      return reinterpret_cast<Function *>(function.function);
  return nullptr;
}
CUresult waitFor(CUstream stream, CUevent event) {
  auto *wait = driverFunction<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent", nullptr);
  return wait(stream, event, 0);
}

TEST_F(FakeDriverTest, AKernelRuns) {
  std::vector<float> values(128);
  std::iota(values.begin(), values.end(), 0.0f);
  CUdeviceptr a = copyOf(values), b = copyOf(values), out = newMemory(512);
  EXPECT_EQ(launch(load(source, "add"), 2, 64, {a, b, out}), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 128)[100], 200);
  EXPECT_EQ(fake->statistics().kernels, 1u);
  EXPECT_TRUE(fake->complaints().empty());
}

TEST_F(FakeDriverTest, NothingRunsBeforeItIsWaitedFor) {
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  float *result = newPinned(64);
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuMemcpyDtoHAsync(result, x, 256, stream), CUDA_SUCCESS);
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_EQ(fake->statistics().kernels, 0u);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(result[0], 2);
}

TEST_F(FakeDriverTest, PinnedMemoryIsReadWhenTheStreamComesToIt) {
  CUdeviceptr x = newMemory(4), y = newMemory(4);
  float *pinned = newPinned(1), plain = 1;
  pinned[0] = 1;
  api->cuMemcpyHtoDAsync(x, pinned, 4, stream);
  api->cuMemcpyHtoDAsync(y, &plain, 4, stream);
  pinned[0] = plain = 2; // too early for the one, not for the other
  EXPECT_EQ(read(x, 1)[0], 2);
  EXPECT_EQ(read(y, 1)[0], 1);
}

TEST_F(FakeDriverTest, AnEventLetsTheHostWaitForAPart) {
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  float *result = newPinned(64);
  CUfunction twice = load(source, "twice");
  CUevent half = newEvent();
  launch(twice, 1, 64, {x});
  api->cuMemcpyDtoHAsync(result, x, 256, stream);
  api->cuEventRecord(half, stream);
  launch(twice, 1, 64, {x});
  EXPECT_EQ(api->cuEventSynchronize(half), CUDA_SUCCESS);
  EXPECT_EQ(result[0], 2);
  EXPECT_EQ(fake->statistics().kernels, 1u);
  EXPECT_EQ(read(x, 1)[0], 4);
}

TEST_F(FakeDriverTest, TimesAreKnownWhenBothEventsAre) {
  CUevent begin = newEvent(), end = newEvent();
  api->cuEventRecord(begin, stream);
  api->cuEventRecord(end, stream);
  float time = -1;
  EXPECT_EQ(api->cuEventElapsedTime(&time, begin, end), CUDA_ERROR_NOT_READY);
  api->cuEventSynchronize(end);
  EXPECT_EQ(api->cuEventElapsedTime(&time, begin, end), CUDA_SUCCESS);
  EXPECT_GE(time, 0);
}

TEST_F(FakeDriverTest, TwoStreamsOnTheSameMemoryAreAComplaint) {
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  CUstream other = newStream();
  float *result = newPinned(64);
  launch(load(source, "twice"), 1, 64, {x});
  api->cuMemcpyDtoHAsync(result, x, 256, other);
  ASSERT_EQ(fake->complaints().size(), 1u);
  EXPECT_NE(fake->complaints()[0].find("cuMemcpyDtoHAsync and twice use the same memory"),
            std::string::npos)
      << fake->complaints()[0];
  api->cuStreamSynchronize(other);
  EXPECT_EQ(result[0], 1) << "the other stream was not waited for, so it has not run";
}

TEST_F(FakeDriverTest, AnEventOrdersTwoStreams) {
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  CUstream other = newStream();
  CUevent done = newEvent();
  float *result = newPinned(64);
  CUfunction twice = load(source, "twice");
  launch(twice, 1, 64, {x});
  api->cuEventRecord(done, stream);
  EXPECT_EQ(waitFor(other, done), CUDA_SUCCESS);
  api->cuMemcpyDtoHAsync(result, x, 256, other);
  EXPECT_TRUE(fake->complaints().empty());
  api->cuStreamSynchronize(other);
  EXPECT_EQ(result[0], 2);
  // A second launch comes after the copy only if the first stream waits in turn.
  api->cuMemcpyDtoHAsync(result, x, 256, other);
  launch(twice, 1, 64, {x});
  EXPECT_EQ(fake->complaints().size(), 1u);
}

TEST_F(FakeDriverTest, PoolsCountAndTrim) {
  auto get = [&](CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(api->cuMemPoolGetAttribute(pool, attribute, &value), CUDA_SUCCESS);
    return value;
  };
  CUdeviceptr a = newMemory(1000), b = newMemory(500);
  EXPECT_EQ(api->cuMemFreeAsync(a, stream), CUDA_SUCCESS);
  EXPECT_EQ(get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 500u);
  EXPECT_EQ(get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1500u);
  EXPECT_EQ(get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1500u);
  EXPECT_EQ(api->cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 500u);
  EXPECT_EQ(get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 1500u);
  EXPECT_EQ(api->cuMemFreeAsync(b, stream), CUDA_SUCCESS);
  EXPECT_EQ(fake->statistics().allocated, 0u);
}

TEST_F(FakeDriverTest, MemoryEnds) {
  open({.memoryBytes = 1000});
  newMemory(600);
  size_t freeBytes = 0, total = 0;
  EXPECT_EQ(api->cuMemGetInfo(&freeBytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(freeBytes, 400u);
  EXPECT_EQ(total, 1000u);
  CUdeviceptr more = 0;
  EXPECT_EQ(api->cuMemAllocFromPoolAsync(&more, 500, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(FakeDriverTest, ReleasedMemoryIsNobodys) {
  CUdeviceptr x = copyOf({1, 2, 3, 4});
  api->cuMemFreeAsync(x, stream);
  EXPECT_EQ(api->cuMemsetD8Async(x, 0, 16, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api->cuMemFreeAsync(x, stream), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr y = copyOf({1, 2, 3, 4});
  EXPECT_EQ(api->cuMemsetD8Async(y, 0, 17, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fake->complaints().size(), 1u);
}

TEST_F(FakeDriverTest, AKernelMustBeAllowedMuchSharedMemory) {
  CUfunction twice = load(source, "twice");
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  unsigned much = 64 << 10;
  EXPECT_EQ(launch(twice, 1, 64, {x}, stream, much), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fake->complaints().size(), 1u);
  EXPECT_EQ(api->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(much),
                                      reinterpret_cast<CUkernel>(twice), 0),
            CUDA_SUCCESS);
  EXPECT_EQ(launch(twice, 1, 64, {x}, stream, much), CUDA_SUCCESS);
  EXPECT_EQ(launch(twice, 1, 2000, {x}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(twice, 0, 64, {x}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FakeDriverTest, CodeIsForAnArchitecture) {
  auto loads = [&](const char *architecture) {
    auto code = compile(source, architecture);
    EXPECT_TRUE(code) << code.error().message();
    CUlibrary library = nullptr;
    return api->cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr,
                                  nullptr, 0);
  };
  EXPECT_EQ(loads("sm_90a"), CUDA_SUCCESS);
  EXPECT_EQ(loads("sm_80"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loads("sm_100"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  open({.major = 8, .minor = 6});
  EXPECT_EQ(loads("sm_80"), CUDA_SUCCESS);
  EXPECT_EQ(loads("sm_89"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  CUlibrary library = nullptr;
  EXPECT_EQ(api->cuLibraryLoadData(&library, "no cubin", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(FakeDriverTest, AKernelThatIsNotThereIsNotFound) {
  auto code = compile(source);
  ASSERT_TRUE(code) << code.error().message();
  CUlibrary library = nullptr;
  api->cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  CUkernel kernel = nullptr;
  EXPECT_EQ(api->cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(FakeDriverTest, MachinesDiffer) {
  fake = nullptr;
  {
    FakeCuda none({.devices = 0});
    const runtime::cuda::CudaApi &driver = **runtime::cuda::cudaApi();
    EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
  }
  FakeCuda old({.driverVersion = 11080, .name = "Old GPU"});
  const runtime::cuda::CudaApi &driver = **runtime::cuda::cudaApi();
  int version = 0;
  char name[32];
  EXPECT_EQ(driver.cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof(name), 0), CUDA_SUCCESS);
  EXPECT_EQ(version, 11080);
  EXPECT_STREQ(name, "Old GPU");
}

TEST_F(FakeDriverTest, CallsNeedAContext) {
  CUcontext context;
  EXPECT_EQ(api->cuCtxPopCurrent(&context), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(api->cuCtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(fake->complaints().size(), 1u);
  api->cuCtxPushCurrent(context);
}

TEST_F(FakeDriverTest, ACallFailsWhenItIsTold) {
  fake->failCall("cuMemGetInfo", CUDA_ERROR_DEVICE_UNAVAILABLE, 1);
  size_t some = 0, all = 0;
  EXPECT_EQ(api->cuMemGetInfo(&some, &all), CUDA_SUCCESS);
  EXPECT_EQ(api->cuMemGetInfo(&some, &all), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(api->cuMemGetInfo(&some, &all), CUDA_SUCCESS);
  EXPECT_EQ(fake->calls("cuMemGetInfo"), 3u);
}

TEST_F(FakeDriverTest, AnErrorInAKernelStays) {
  CUfunction twice = load(source, "twice");
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  fake->breakKernel(CUDA_ERROR_ECC_UNCORRECTABLE, 1);
  EXPECT_EQ(launch(twice, 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launch(twice, 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(launch(twice, 1, 64, {x}), CUDA_ERROR_ECC_UNCORRECTABLE);
  CUevent event = nullptr;
  EXPECT_EQ(api->cuEventCreate(&event, 0), CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(fake->statistics().kernels, 1u);
}

TEST_F(FakeDriverTest, ALostDeviceFailsEverywhere) {
  fake->breakDevice(CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_DEVICE_UNAVAILABLE);
  const char *name = nullptr, *words = nullptr;
  api->cuGetErrorName(CUDA_ERROR_DEVICE_UNAVAILABLE, &name);
  api->cuGetErrorString(CUDA_ERROR_DEVICE_UNAVAILABLE, &words);
  EXPECT_STREQ(name, "CUDA_ERROR_DEVICE_UNAVAILABLE");
  EXPECT_NE(words, nullptr);
}

//===----------------------------------------------------------------------===//
// Launches that overlap
//===----------------------------------------------------------------------===//

class FakeOverlapTest : public FakeGpuTest {
protected:
  /// Launches a kernel of one block of 64 threads that may begin before what is before it is done.
  CUresult launchEarly(CUfunction kernel, std::vector<CUdeviceptr> arguments) {
    std::vector<void *> parameters;
    for (CUdeviceptr &argument : arguments)
      parameters.push_back(&argument);
    CUlaunchAttribute early{};
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{1, 1, 1, 64, 1, 1, 0, stream, &early, 1};
    return api->cuLaunchKernelEx(&config, kernel, parameters.data(), nullptr);
  }
  bool complains(const std::string &text) {
    for (const std::string &complaint : fake->complaints())
      if (complaint.find(text) != std::string::npos)
        return true;
    return false;
  }
  const std::vector<float> ones = std::vector<float>(64, 1.0f);
};

TEST_F(FakeOverlapTest, AKernelReadsWeightsEarlyAndTheRestWhenItHasWaited) {
  CUdeviceptr x = copyOf(ones), weights = copyOf(std::vector<float>(64, 3.0f)),
              out = newMemory(256);
  CUfunction twice = load(source, "twice"), weighted = load(source, "weighted");
  EXPECT_EQ(launch(twice, 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(weighted, {weights, x, out}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(weighted, {weights, out, x}), CUDA_SUCCESS);
  EXPECT_EQ(read(x, 64)[63], 18);
  EXPECT_EQ(fake->statistics().overlaps, 2u);
  EXPECT_TRUE(fake->complaints().empty()) << fake->complaints().front();
}

TEST_F(FakeOverlapTest, WhatIsReadTooEarlyIsNotThere) {
  CUdeviceptr x = copyOf(ones), out = newMemory(256);
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(load(source, "impatient"), {x, out}), CUDA_SUCCESS);
  EXPECT_TRUE(std::isnan(read(out, 64)[7]));
}

// The kernel between waits, but the one before that may still run when this one begins.
TEST_F(FakeOverlapTest, WeightsMustNotBeWrittenByAnyKernelBefore) {
  CUdeviceptr x = copyOf(ones), weights = copyOf(ones), out = newMemory(256), last = newMemory(256);
  CUfunction weighted = load(source, "weighted");
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {weights}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(weighted, {x, x, out}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(weighted, {weights, out, last}), CUDA_SUCCESS);
  EXPECT_TRUE(std::isnan(read(last, 64)[0]));
}

TEST_F(FakeOverlapTest, AReadTooEarlyIsAComplaintInCheckedMode) {
  FakeOptions options;
  options.checked = true;
  open(options);
  CUdeviceptr x = copyOf(ones), out = newMemory(256);
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(load(source, "impatient"), {x, out}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_TRUE(complains("impatient: missing wait"));
  EXPECT_TRUE(complains("may still write"));
}

TEST_F(FakeOverlapTest, AWriteTooEarlyIsAComplaint) {
  CUdeviceptr x = copyOf(ones);
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(load(source, "hasty"), {x}), CUDA_SUCCESS);
  EXPECT_EQ(read(x, 64)[0], 2);
  EXPECT_TRUE(complains("hasty writes what a kernel before it may still use"));
}

TEST_F(FakeOverlapTest, AKernelThatDoesNotWaitMustNotOverlap) {
  CUdeviceptr x = copyOf(ones), out = newMemory(256);
  EXPECT_EQ(launch(load(source, "twice"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(load(source, "every_other"), {x, out}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_TRUE(complains("every_other: missing wait"));
  EXPECT_TRUE(complains("ends without waiting for the kernel before it"));
}

TEST_F(FakeOverlapTest, OldDevicesDoNotOverlap) {
  FakeOptions options;
  options.major = 8;
  open(options);
  CUdeviceptr x = copyOf(ones);
  auto code = compile(source, "sm_80");
  ASSERT_TRUE(code) << code.error().message();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_EQ(api->cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(api->cuLibraryGetKernel(&kernel, library, "hasty"), CUDA_SUCCESS);
  EXPECT_EQ(launchEarly(reinterpret_cast<CUfunction>(kernel), {x}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(complains("before compute capability 9.0"));
}

TEST_F(FakeDriverTest, ARaceInAKernelIsAComplaint) {
  open({.checked = true});
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  EXPECT_EQ(launch(load(source, "racing"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS); // a device would not tell
  ASSERT_FALSE(fake->complaints().empty());
  EXPECT_NE(fake->complaints()[0].find("racing: "), std::string::npos);
  EXPECT_NE(fake->complaints()[0].find("test.cu:10"), std::string::npos) << fake->complaints()[0];
}

TEST_F(FakeDriverTest, AnAccessOutOfBoundsEndsTheContext) {
  open({.checked = true});
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  EXPECT_EQ(launch(load(source, "beyond"), 1, 64, {x}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(fake->complaints().size(), 1u);
}

TEST_F(FakeDriverTest, ADeadlockEndsTheContext) {
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  EXPECT_EQ(launch(load(source, "for_ever"), 1, 32, {x}), CUDA_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_TIMEOUT);
}

//===----------------------------------------------------------------------===//
// Captures and graphs
//===----------------------------------------------------------------------===//

class FakeGraphTest : public FakeGpuTest {
protected:
  void begin() {
    EXPECT_EQ(api->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  }
};

TEST_F(FakeGraphTest, ACaptureRunsNothingAndAGraphRunsItAll) {
  CUfunction twice = load(source, "twice");
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  float *input = newPinned(64);
  begin();
  api->cuMemcpyHtoDAsync(x, input, 256, stream);
  launch(twice, 1, 64, {x});
  launch(twice, 1, 64, {x});
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(read(x, 1)[0], 1);
  EXPECT_EQ(api->cuGraphInstantiate(&instance, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(api->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(api->cuGraphUpload(instance, stream), CUDA_SUCCESS);
  for (float value : {3.0f, 5.0f}) {
    std::fill_n(input, 64, value);
    EXPECT_EQ(api->cuGraphLaunch(instance, stream), CUDA_SUCCESS);
    EXPECT_EQ(read(x, 64)[63], 4 * value);
  }
  EXPECT_EQ(fake->statistics().graphs, 2u);
  EXPECT_EQ(fake->statistics().kernels, 4u);
  EXPECT_TRUE(fake->complaints().empty());
  EXPECT_EQ(api->cuGraphExecDestroy(instance), CUDA_SUCCESS);
  EXPECT_EQ(api->cuGraphLaunch(instance, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(FakeGraphTest, ACaptureForbidsWaitsAndAllocations) {
  begin();
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  begin();
  CUdeviceptr address = 0;
  EXPECT_EQ(api->cuMemAllocFromPoolAsync(&address, 4, pool, stream),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(fake->complaints().size(), 2u);
  begin(); // and the stream can be captured again
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
}

TEST_F(FakeGraphTest, StreamsJoinACaptureThroughEvents) {
  CUfunction twice = load(source, "twice");
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f)), y = copyOf(std::vector<float>(64, 1.0f));
  CUstream side = newStream();
  CUevent fork = newEvent(), join = newEvent();
  CUgraph graph = nullptr;
  for (bool joined : {false, true}) {
    begin();
    launch(twice, 1, 64, {x});
    api->cuEventRecord(fork, stream);
    EXPECT_EQ(waitFor(side, fork), CUDA_SUCCESS);
    launch(twice, 1, 64, {y}, side);
    api->cuEventRecord(join, side);
    if (joined)
      EXPECT_EQ(waitFor(stream, join), CUDA_SUCCESS);
    EXPECT_EQ(api->cuStreamEndCapture(stream, &graph),
              joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
  CUgraphExec instance = nullptr;
  api->cuGraphInstantiate(&instance, graph, 0);
  api->cuGraphLaunch(instance, stream);
  EXPECT_EQ(read(x, 1)[0] + read(y, 1)[0], 4);
  EXPECT_TRUE(fake->complaints().empty());
}

TEST_F(FakeGraphTest, BranchesOfACaptureMustNotShareMemory) {
  CUfunction twice = load(source, "twice");
  CUdeviceptr x = copyOf(std::vector<float>(64, 1.0f));
  CUstream side = newStream();
  CUevent fork = newEvent();
  begin();
  api->cuEventRecord(fork, stream);
  waitFor(side, fork);
  launch(twice, 1, 64, {x});
  launch(twice, 1, 64, {x}, side);
  EXPECT_EQ(fake->complaints().size(), 1u);
  CUgraph graph = nullptr;
  api->cuStreamEndCapture(stream, &graph);
}

TEST_F(FakeGraphTest, ACaptureKnowsNoEventsFromBefore) {
  CUevent before = newEvent();
  api->cuEventRecord(before, stream);
  begin();
  EXPECT_EQ(waitFor(stream, before), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CUgraph graph = nullptr;
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

TEST_F(FakeGraphTest, ACaptureFailsWhenItIsTold) {
  fake->failCall("cuStreamEndCapture", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  CUgraph graph = nullptr;
  EXPECT_EQ(api->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

} // namespace
