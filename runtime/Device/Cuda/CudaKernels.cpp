#include "runtime/Device/Cuda/CudaKernels.h"
#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Device/Cuda/KernelCode.h"
#include <optional>
#include <set>

namespace sinter::runtime::cuda {
namespace {

CudaSource sourceOf(const fb::KernelProgram &program, uint32_t index) {
  CudaSource source{"kernels" + std::to_string(index) + ".cu", program.source()->str(), {}, {}};
  if (program.options())
    for (const flatbuffers::String *option : *program.options())
      source.options.push_back(option->str());
  return source;
}

} // namespace

CudaKernels::~CudaKernels() {
  for (CUlibrary library : libraries)
    context.getApi().cuLibraryUnload(library);
}

Expected<CUlibrary> CudaKernels::loadCode(std::span<const std::byte> code,
                                          const std::string &what) {
  // An executable aligns it to nothing, and the driver reads it as what it is, a file of words.
  std::vector<std::byte> aligned(code.begin(), code.end());
  CUlibrary library = nullptr;
  SINTER_CHECK(context.check(context.getApi().cuLibraryLoadData(&library, aligned.data(), nullptr,
                                                                nullptr, 0, nullptr, nullptr, 0),
                             what));
  libraries.push_back(library);
  bytes += code.size();
  return library;
}

// The libraries of these programs of kernels, in their order.
Expected<std::vector<CUlibrary>> CudaKernels::loadPrograms(const Executable &executable,
                                                           std::span<const uint32_t> programs,
                                                           ThreadPool &threads) {
  SINTER_TRY(std::string architecture, architectureFor(context.getCapability()));
  const std::string what = executable.getName() + ": its kernels for " + architecture;
  const auto &all = *executable.getRoot().kernel_programs();
  std::vector<CUlibrary> loaded(programs.size());
  std::vector<CudaSource> sources;
  std::vector<size_t> missing;
  std::optional<Error> refused;
  for (size_t i = 0; i < programs.size(); ++i) {
    const fb::KernelProgram &program = *all.Get(programs[i]);
    if (auto code = findCubin(program, architecture)) {
      Expected<CUlibrary> library = loadCode(*code, what);
      if (library) {
        loaded[i] = *library;
        continue;
      }
      refused = std::move(library).error();
    }
    missing.push_back(i);
    sources.push_back(sourceOf(program, programs[i]));
  }
  SINTER_TRY(CubinCache cache, CubinCache::standard());
  Expected<std::vector<CompiledCuda>> compiled = cache.compile(sources, architecture, threads);
  if (!compiled)
    return tl::unexpected(refused ? *refused : std::move(compiled).error());
  for (size_t i = 0; i < missing.size(); ++i) {
    SINTER_TRY(loaded[missing[i]], loadCode((*compiled)[i].cubin, what));
  }
  return loaded;
}

Expected<void> CudaKernels::load(const Executable &executable,
                                 std::span<const fb::Program *const> programs,
                                 ThreadPool &threads) {
  const fb::Executable &root = executable.getRoot();
  SINTER_TRY(Capability wanted, capabilityOf(root.device()->string_view(), executable.getName()));
  if (context.getCapability() < wanted)
    return fail(executable.getName(),
                "is for GPUs of compute capability " + wanted.toString() + " and later, " +
                    context.getName() + " has " + context.getCapability().toString(),
                "compile the model for this GPU");
  std::set<uint32_t> used, files;
  for (const fb::Program *program : programs)
    addLaunchedKernels(*program, used);
  for (uint32_t kernel : used)
    files.insert(root.kernels()->Get(kernel)->program());
  kernels.resize(root.kernels() ? root.kernels()->size() : 0);
  if (used.empty())
    return {};
  std::vector<uint32_t> needed(files.begin(), files.end());
  SINTER_TRY(std::vector<CUlibrary> loaded, loadPrograms(executable, needed, threads));
  for (uint32_t index : used) {
    const fb::Kernel &kernel = *root.kernels()->Get(index);
    LoadedKernel &entry = kernels[index];
    auto position = std::distance(files.begin(), files.find(kernel.program()));
    std::string what =
        executable.getName() + ": kernel '" + kernel.name()->str().substr(0, 80) + "'";
    const CudaApi &api = context.getApi();
    SINTER_CHECK(
        context.check(api.cuLibraryGetKernel(&entry.handle, loaded[static_cast<size_t>(position)],
                                             kernel.name()->c_str()),
                      what));
    entry.block = kernel.block();
    entry.sharedBytes = kernel.shared_bytes();
    entry.waits = kernel.waits();
    // More than 48 KiB has to be allowed, together with what the kernel's source declares.
    if (entry.sharedBytes != 0)
      SINTER_CHECK(context.check(
          api.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(entry.sharedBytes), entry.handle,
                                   context.getDevice()),
          what + " with " + std::to_string(entry.sharedBytes) + " bytes of shared memory"));
  }
  return {};
}

} // namespace sinter::runtime::cuda
