#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/KernelCode.h"
#include "runtime/Device/Cuda/UploadPlan.h"
#include "runtime/Format/CudaArchitecture.h"

namespace sinter::runtime::cuda {

MemoryUse predictCudaMemory(const DevicePlan &plan) {
  const Executable &executable = *plan.executable;
  const fb::Executable &root = executable.getRoot();
  MemoryUse use = plan.use;
  use.preprocessArena += UploadPlan::of(executable, plan.preprocess).peakBytes;
  use.host = use.input + use.output + stagingBytes;
  std::set<uint32_t> kernels, files;
  for (const SelectedProgram &selected : plan.programs)
    addLaunchedKernels(*selected.program, kernels);
  if (plan.preprocess)
    addLaunchedKernels(*plan.preprocess, kernels);
  for (uint32_t kernel : kernels)
    files.insert(root.kernels()->Get(kernel)->program());
  // The verifier knows the device.
  std::string architecture = capabilityOf(root.device()->string_view(), executable.getName())
                                 .and_then(architectureFor)
                                 .value_or("");
  for (uint32_t file : files)
    if (auto code = findCubin(*root.kernel_programs()->Get(file), architecture))
      use.code += code->size();
  return use;
}

} // namespace sinter::runtime::cuda
