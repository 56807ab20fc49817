#include "test/cuda/DeviceProgram.h"
#include <cstdio>
#include <cstdlib>
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
  if (text == "both")
    return KernelPlace::Both;
  std::fprintf(stderr, "SINTER_KERNELS_ON=%s: expected emulator, device or both\n", value);
  std::exit(1);
}

Expected<std::unique_ptr<DeviceProgram>> DeviceProgram::compile(const CudaSource &source) {
  std::unique_ptr<DeviceProgram> program(new DeviceProgram);
  SINTER_TRY(program->context, CudaContext::open());
  const CudaContext &context = *program->context;
  CudaContext::Current current(context);
  SINTER_TRY(program->pool, CudaPool::create(context));
  SINTER_TRY(std::string architecture, architectureFor(context.capability()));
  SINTER_TRY(CompiledCuda compiled, compileCuda(source, architecture));
  SINTER_CHECK(context.check(context.api().cuLibraryLoadData(&program->library,
                                                             compiled.cubin.data(), nullptr,
                                                             nullptr, 0, nullptr, nullptr, 0),
                             source.name));
  return program;
}

DeviceProgram::~DeviceProgram() {
  if (!context)
    return;
  CudaContext::Current current(*context);
  if (library)
    context->api().cuLibraryUnload(library);
  pool.reset();
}

Expected<void> DeviceProgram::run(const std::string &kernel, unsigned grid, unsigned block,
                                  unsigned sharedBytes,
                                  std::span<const std::span<std::byte>> memory) {
  const CudaApi &api = context->api();
  CudaContext::Current current(*context);
  CUkernel entry = nullptr;
  SINTER_CHECK(context->check(api.cuLibraryGetKernel(&entry, library, kernel.c_str()), kernel));
  if (sharedBytes > 48 << 10)
    SINTER_CHECK(context->check(
        api.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(sharedBytes), entry, context->device()),
        kernel));
  std::map<std::byte *, DeviceMemory> places;
  std::vector<CUdeviceptr> pointers;
  for (std::span<std::byte> bytes : memory) {
    auto [place, isNew] = places.try_emplace(bytes.data());
    if (isNew) {
      SINTER_TRY(place->second, pool->allocate(bytes.size(), "a kernel's argument"));
      SINTER_CHECK(context->check(api.cuMemcpyHtoDAsync(place->second.address(), bytes.data(),
                                                        bytes.size(), context->stream()),
                                  kernel));
    }
    pointers.push_back(place->second.address());
  }
  std::vector<void *> arguments;
  for (CUdeviceptr &pointer : pointers)
    arguments.push_back(&pointer);
  SINTER_CHECK(context->check(api.cuLaunchKernel(reinterpret_cast<CUfunction>(entry), grid, 1, 1,
                                                 block, 1, 1, sharedBytes, context->stream(),
                                                 arguments.data(), nullptr),
                              kernel));
  for (std::span<std::byte> bytes : memory)
    SINTER_CHECK(context->check(api.cuMemcpyDtoHAsync(bytes.data(),
                                                      places.at(bytes.data()).address(),
                                                      bytes.size(), context->stream()),
                                kernel));
  return context->wait(kernel);
}

} // namespace sinter::test
