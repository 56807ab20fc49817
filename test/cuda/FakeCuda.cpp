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

/// By their numbers.
std::vector<std::unique_ptr<FakeDevice>> devices;

FakeDevice &theFirst() { return *devices.front(); }

} // namespace

FakeCuda::FakeCuda(FakeOptions options) {
  // Without a GPU there still is what the driver says.
  for (int i = 0; i < std::max(options.devices, 1); ++i)
    devices.push_back(std::make_unique<FakeDevice>(options, i));
  if (!options.lastName.empty())
    devices.back()->options.name = options.lastName;
  const Tables &tables = allTables();
  runtime::cuda::installCudaApi(&tables.driver);
  runtime::cuda::installNvrtcApi(&tables.nvrtc);
  runtime::cuda::installLtApi(&tables.lt);
  installCudnn(true);
  installNccl(true);
}

FakeCuda::~FakeCuda() {
  runtime::cuda::installCudaApi(nullptr);
  runtime::cuda::installNvrtcApi(nullptr);
  runtime::cuda::installLtApi(nullptr);
  installCudnn(false);
  installNccl(false);
  devices.clear();
}

void FakeCuda::failCall(const std::string &function, int status, unsigned after) {
  std::lock_guard lock(FakeDevice::mutex);
  theFirst().failCall(function, status, after);
}

void FakeCuda::breakKernel(CUresult error, unsigned after) {
  std::lock_guard lock(FakeDevice::mutex);
  theFirst().kernelError = error;
  theFirst().kernelsUntilError = after;
}

void FakeCuda::setStreamSeed(unsigned seed) {
  std::lock_guard lock(FakeDevice::mutex);
  for (const auto &device : devices) {
    device->options.streamSeed = seed;
    device->random.seed(seed);
  }
}

void FakeCuda::breakDevice(CUresult error) {
  std::lock_guard lock(FakeDevice::mutex);
  theFirst().sticky = error;
}

void FakeCuda::breakCommunication(int device, int error) {
  std::lock_guard lock(FakeDevice::mutex);
  devices[size_t(device)]->communicationError = error;
  FakeDevice::notify();
}

std::vector<std::string> FakeCuda::complaints() const {
  std::lock_guard lock(FakeDevice::mutex);
  std::vector<std::string> all;
  for (const auto &device : devices)
    all.insert(all.end(), device->complaints.begin(), device->complaints.end());
  return all;
}

FakeStatistics FakeCuda::statistics() const {
  std::lock_guard lock(FakeDevice::mutex);
  FakeStatistics sum;
  for (const auto &device : devices) {
    const FakeStatistics &own = device->counts;
    sum.kernels += own.kernels;
    sum.overlaps += own.overlaps;
    sum.products += own.products;
    sum.attentions += own.attentions;
    sum.copies += own.copies;
    sum.collectives += own.collectives;
    sum.captures += own.captures;
    sum.graphs += own.graphs;
    sum.compiled += own.compiled;
    sum.allocated += own.allocated;
    sum.usedBytes += own.usedBytes;
    sum.handles += own.handles + device->streams.size() + device->events.size() +
                   device->graphs.size() + device->graphInstances.size() +
                   device->libraries.size() + device->pools.size() +
                   unsigned(device->pinnedMemory.size());
  }
  return sum;
}

unsigned FakeCuda::calls(const std::string &function) const {
  std::lock_guard lock(FakeDevice::mutex);
  unsigned sum = 0;
  for (const auto &device : devices)
    if (auto found = device->calls.find(function); found != device->calls.end())
      sum += found->second;
  return sum;
}
