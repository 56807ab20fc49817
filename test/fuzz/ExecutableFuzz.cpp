// Executables from anywhere: as a file with its envelope, as one whose checksum is right again, and
// as the bare flatbuffer. What the verifier accepts must bind without touching memory of others.

#include "runtime/Format/Executable.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Session/Session.h"
#include <algorithm>
#include <cstring>

using namespace sinter::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  (void)Executable::fromFile(bytes, "fuzz");
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  bool isFile = size >= executableHeaderBytes && std::memcmp(data, "SINTER", 6) == 0;
  if (isFile)
    std::ranges::copy(makeExecutableHeader(std::span(file).subspan(executableHeaderBytes)),
                      file.begin());
  auto executable =
      isFile ? Executable::fromFile(file, "fuzz") : Executable::fromFlatbuffer(bytes, "fuzz");
  if (!executable)
    return 0;
  const sinter::fb::Executable &root = (*executable)->getRoot();
  if (!(*executable)->isForCpu()) {
    (void)predictMemory(*executable); // all that needs no GPU
    return 0;
  }
  uint64_t bytesAsked = root.parameter_bytes() + root.state_bytes();
  uint64_t work = 0;
  if (root.checkpoint())
    for (const auto *tensor : *root.checkpoint()) {
      uint64_t elements = 1;
      if (tensor->shape())
        for (int64_t extent : *tensor->shape())
          elements *= static_cast<uint64_t>(extent);
      bytesAsked += elements * 8;
    }
  if (root.programs())
    for (const auto *program : *root.programs()) {
      bytesAsked += program->arena_bytes() + program->input_bytes() + program->output_bytes();
      work += program->commands() ? program->commands()->size() : 0;
    }
  // Larger ones say nothing new and take long.
  constexpr uint64_t enough = 1 << 20;
  if (bytesAsked > enough || work > 16)
    return 0;
  // Accepted code is trusted; only its binding is under test.
  BindOptions options;
  options.threads = 1;
  if (root.kernels())
    for (const auto *kernel : *root.kernels())
      options.kernels[kernel->name()->str()] = [](void *const *, int64_t, int64_t) {};
  (void)Session::bind(*executable, options);
  return 0;
}
