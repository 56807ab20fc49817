//===- FakeCuda.cpp - A GPU that is not there -----------------------------===//
#include "test/cuda/FakeCuda.h"

#include "test/cuda/FakeDevice.h"

#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/LtApi.h"
#include "runtime/Device/Cuda/NvrtcApi.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// A name as a template argument.
template <size_t N> struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) { std::copy_n(from, N, text); }
};

/// In place of a function that the fake does not have: says so and ends the process.
template <Name name, typename Function> struct Missing;
template <Name name, typename Result, typename... Arguments>
struct Missing<name, Result (*)(Arguments...)> {
  static Result call(Arguments...) {
    fprintf(stderr, "the fake CUDA has no %s: add it in test/cuda\n", name.text);
    abort();
  }
};

template <Name name, typename Function>
void fill(Function &entry, const std::vector<NamedFunction> &functions) {
  entry = Missing<name, Function>::call;
  for (const NamedFunction &function : functions)
    if (strcmp(function.name, name.text) == 0)
      entry = reinterpret_cast<Function>(function.function);
}

#define SINTER_FILL_DRIVER(name)                                                                   \
  fill<SINTER_FAKE_NAME(name)>(tables.driver.name, driverFunctions());
#define SINTER_FILL_NVRTC(name) fill<SINTER_FAKE_NAME(name)>(tables.nvrtc.name, nvrtcFunctions());
#define SINTER_FILL_LT(name) fill<SINTER_FAKE_NAME(name)>(tables.lt.name, ltFunctions());

struct Tables {
  runtime::cuda::CudaApi driver;
  runtime::cuda::NvrtcApi nvrtc;
  runtime::cuda::LtApi lt;
};

const Tables &allTables() {
  static const Tables filled = [] {
    Tables tables;
    SINTER_CUDA_FUNCTIONS(SINTER_FILL_DRIVER)
    SINTER_NVRTC_FUNCTIONS(SINTER_FILL_NVRTC)
    SINTER_LT_FUNCTIONS(SINTER_FILL_LT)
    return tables;
  }();
  return filled;
}

std::unique_ptr<FakeDevice> theDevice;

} // namespace

FakeCuda::FakeCuda(FakeOptions options) {
  theDevice = std::make_unique<FakeDevice>(std::move(options));
  const Tables &tables = allTables();
  runtime::cuda::installCudaApi(&tables.driver);
  runtime::cuda::installNvrtcApi(&tables.nvrtc);
  runtime::cuda::installLtApi(&tables.lt);
  installCudnn(true);
}

FakeCuda::~FakeCuda() {
  runtime::cuda::installCudaApi(nullptr);
  runtime::cuda::installNvrtcApi(nullptr);
  runtime::cuda::installLtApi(nullptr);
  installCudnn(false);
  theDevice = nullptr;
}

void FakeCuda::failCall(const std::string &function, int status, unsigned after) {
  std::lock_guard lock(theDevice->mutex);
  theDevice->failCall(function, status, after);
}

void FakeCuda::breakKernel(CUresult error, unsigned after) {
  std::lock_guard lock(theDevice->mutex);
  theDevice->kernelError = error;
  theDevice->kernelsUntilError = after;
}

void FakeCuda::setStreamSeed(unsigned seed) {
  std::lock_guard lock(theDevice->mutex);
  theDevice->options.streamSeed = seed;
  theDevice->random.seed(seed);
}

void FakeCuda::breakDevice(CUresult error) {
  std::lock_guard lock(theDevice->mutex);
  theDevice->sticky = error;
}

std::vector<std::string> FakeCuda::complaints() const {
  std::lock_guard lock(theDevice->mutex);
  return theDevice->complaints;
}

FakeStatistics FakeCuda::statistics() const {
  std::lock_guard lock(theDevice->mutex);
  FakeStatistics counts = theDevice->counts;
  const FakeDevice &device = *theDevice;
  counts.handles += device.streams.size() + device.events.size() + device.graphs.size() +
                    device.graphInstances.size() + device.libraries.size() + device.pools.size() +
                    unsigned(device.pinnedMemory.size());
  return counts;
}

unsigned FakeCuda::calls(const std::string &function) const {
  std::lock_guard lock(theDevice->mutex);
  auto found = theDevice->calls.find(function);
  return found == theDevice->calls.end() ? 0 : found->second;
}
