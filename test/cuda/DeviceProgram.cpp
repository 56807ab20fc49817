#include "test/cuda/DeviceProgram.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

using namespace sinter::runtime::cuda;

namespace sinter::test {

KernelPlace getKernelPlace() {
  const char *value = std::getenv("SINTER_KERNELS_ON");
  std::string_view text = value ? value : "emulator";
  if (text == "emulator")
    return KernelPlace::Emulator;
  if (text == "device")
    return KernelPlace::Device;
  std::fprintf(stderr, "SINTER_KERNELS_ON=%s: expected emulator or device\n", value);
  std::exit(1);
}

/// Of the largest number of a tensor: what the order of a matrix unit's additions may change, or a
/// rounding to bf16 that went the other way.
static constexpr float kMostDifference = 1.0f / 128;
/// Results of which all are below are compared as if one was this.
static constexpr float kLeast = 1e-3f;

/// Numbers of a tensor that are kept, spread over it.
static constexpr size_t kSample = 2048;

static std::vector<float> takeSample(std::span<const double> tensor) {
  std::vector<float> sample;
  for (size_t i = 0; i < tensor.size(); i += tensor.size() / kSample + 1)
    sample.push_back(static_cast<float>(tensor[i]));
  return sample;
}

/// The largest difference of two samples, infinity where only one number is finite.
static float getDifference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    float difference = std::abs(a[i] - b[i]);
    largest = std::max(largest, std::isfinite(difference) ? difference : HUGE_VALF);
  }
  return largest;
}

Expected<void> compareWithRecord(const std::string &name,
                                 std::span<const std::span<const double>> tensors) {
  const char *folder = std::getenv("SINTER_KERNEL_RECORDS");
  if (!folder)
    return {};
  std::filesystem::path file = std::filesystem::path(folder) / name;
  auto bytesOf = [](const std::vector<float> &sample) {
    return static_cast<std::streamsize>(sample.size() * sizeof(float));
  };
  if (getKernelPlace() == KernelPlace::Emulator) {
    std::ofstream out(file, std::ios::binary);
    for (std::span<const double> tensor : tensors) {
      std::vector<float> sample = takeSample(tensor);
      out.write(reinterpret_cast<const char *>(sample.data()), bytesOf(sample));
    }
    if (!out.flush())
      return fail(file.string(), "cannot be written", "name a folder that can be");
    return {};
  }
  std::ifstream in(file, std::ios::binary);
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> sample = takeSample(tensors[i]), kept(sample.size());
    if (!in.read(reinterpret_cast<char *>(kept.data()), bytesOf(kept)))
      return fail(file.string(), "has no record of this kernel", "run the tests in the emulator");
    // What should be zero is what rounding leaves of larger numbers.
    float largest = kLeast;
    for (float number : kept)
      largest = std::max(largest, std::isfinite(number) ? std::abs(number) : 0.0f);
    if (float difference = getDifference(sample, kept); difference > kMostDifference * largest)
      return fail(name,
                  "argument " + std::to_string(i) + " differs from the emulator's by " +
                      std::to_string(difference) + " where the largest number is " +
                      std::to_string(largest),
                  "find out which of them is right");
  }
  return {};
}

Expected<std::unique_ptr<DeviceProgram>> DeviceProgram::compile(const CudaSource &source) {
  std::unique_ptr<DeviceProgram> program(new DeviceProgram);
  SINTER_TRY(program->context, CudaContext::open());
  const CudaContext &context = *program->context;
  CudaContext::Current current(context);
  SINTER_TRY(program->pool, CudaPool::create(context));
  SINTER_TRY(std::string architecture, architectureFor(context.getCapability()));
  SINTER_TRY(CompiledCuda compiled, compileCuda(source, architecture));
  SINTER_CHECK(
      context.check(context.getApi().cuLibraryLoadData(&program->library, compiled.cubin.data(),
                                                       nullptr, nullptr, 0, nullptr, nullptr, 0),
                    source.name));
  return program;
}

DeviceProgram::~DeviceProgram() {
  if (!context)
    return;
  CudaContext::Current current(*context);
  if (library)
    context->getApi().cuLibraryUnload(library);
  pool.reset();
}

Expected<void> DeviceProgram::run(const std::string &kernel, unsigned grid, unsigned block,
                                  unsigned sharedBytes,
                                  std::span<const std::span<std::byte>> memory) {
  const CudaApi &api = context->getApi();
  CudaContext::Current current(*context);
  CUkernel entry = nullptr;
  SINTER_CHECK(context->check(api.cuLibraryGetKernel(&entry, library, kernel.c_str()), kernel));
  if (sharedBytes > 48 << 10)
    SINTER_CHECK(context->check(
        api.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(sharedBytes), entry, context->getDevice()),
        kernel));
  std::map<std::byte *, DeviceMemory> places;
  std::vector<CUdeviceptr> pointers;
  for (std::span<std::byte> bytes : memory) {
    auto [place, isNew] = places.try_emplace(bytes.data());
    if (isNew) {
      SINTER_TRY(place->second, pool->allocate(bytes.size(), "a kernel's argument"));
      SINTER_CHECK(context->check(api.cuMemcpyHtoDAsync(place->second.getAddress(), bytes.data(),
                                                        bytes.size(), context->getStream()),
                                  kernel));
    }
    pointers.push_back(place->second.getAddress());
  }
  std::vector<void *> arguments;
  for (CUdeviceptr &pointer : pointers)
    arguments.push_back(&pointer);
  SINTER_CHECK(context->check(api.cuLaunchKernel(reinterpret_cast<CUfunction>(entry), grid, 1, 1,
                                                 block, 1, 1, sharedBytes, context->getStream(),
                                                 arguments.data(), nullptr),
                              kernel));
  for (std::span<std::byte> bytes : memory)
    SINTER_CHECK(
        context->check(api.cuMemcpyDtoHAsync(bytes.data(), places.at(bytes.data()).getAddress(),
                                             bytes.size(), context->getStream()),
                       kernel));
  return context->wait(kernel);
}

} // namespace sinter::test
