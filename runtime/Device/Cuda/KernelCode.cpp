#include "runtime/Device/Cuda/KernelCode.h"
#include "runtime/Format/KernelMarks.h"

namespace sinter::runtime::cuda {

std::optional<std::span<const std::byte>> findCubin(const fb::KernelProgram &program,
                                                    std::string_view architecture) {
  if (program.cubins())
    for (const fb::Cubin *cubin : *program.cubins())
      if (cubin->architecture()->string_view() == architecture)
        return std::as_bytes(
            std::span(cubin->bytes()->data(), cubin->bytes()->size() - kernelMarkBytes));
  return std::nullopt;
}

void addLaunchedKernels(const fb::Program &program, std::set<uint32_t> &kernels) {
  auto add = [&](const auto &way) {
    if (const fb::Launch *launch = way.action_as_Launch())
      kernels.insert(launch->kernel());
  };
  if (program.commands())
    for (const fb::Command *command : *program.commands()) {
      add(*command);
      if (command->alternatives())
        for (const fb::Alternative *alternative : *command->alternatives())
          add(*alternative);
    }
}

} // namespace sinter::runtime::cuda
