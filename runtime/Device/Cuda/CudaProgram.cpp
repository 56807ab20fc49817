#include "runtime/Device/Cuda/CudaProgram.h"

namespace sinter::runtime::cuda {

Expected<CudaProgram> CudaProgram::record(const CudaContext &context, const fb::Program &program,
                                          size_t begin, size_t end, const CudaResolver &resolver) {
  CudaProgram result(context);
  result.steps.reserve(end - begin);
  for (size_t i = begin; i < end; ++i)
    SINTER_CHECK(
        result.add(*program.commands()->Get(static_cast<flatbuffers::uoffset_t>(i)), resolver));
  // The arguments do not move any more.
  for (CUdeviceptr &argument : result.arguments)
    result.parameters.push_back(&argument);
  return result;
}

Expected<void> CudaProgram::add(const fb::Command &command, const CudaResolver &resolver) {
  switch (command.action_type()) {
  case fb::Action::Launch: {
    const fb::Launch &launch = *command.action_as_Launch();
    const LoadedKernel &kernel = resolver.kernels[launch.kernel()];
    const auto *before = steps.empty() ? nullptr : std::get_if<LaunchStep>(&steps.back());
    steps.emplace_back(
        LaunchStep{kernel, static_cast<unsigned>(launch.grid()), arguments.size(),
                   resolver.overlaps && kernel.waits && before && before->grid != 0});
    if (launch.slices())
      for (flatbuffers::uoffset_t i = 0; i < launch.slices()->size(); ++i)
        arguments.push_back(resolver.address(*launch.slices()->Get(i)));
    return {};
  }
  case fb::Action::Gemm: {
    SINTER_TRY(LtGemm gemm,
               resolver.gemms.bind(*command.action_as_Gemm(), resolver.address, resolver.mayWrite));
    steps.emplace_back(std::move(gemm));
    return {};
  }
  case fb::Action::Copy: {
    const fb::Copy &copy = *command.action_as_Copy();
    steps.emplace_back(CopyStep{resolver.address(*copy.source()), resolver.address(*copy.out()),
                                copy.out()->bytes()});
    return {};
  }
  case fb::Action::Fill: {
    const fb::Fill &fill = *command.action_as_Fill();
    steps.emplace_back(FillStep{resolver.address(*fill.out()), fill.out()->bytes(), fill.value()});
    return {};
  }
  default: // the verifier lets no others through
    return {};
  }
}

CUresult CudaProgram::launch(const LaunchStep &step, bool alone) const {
  if (step.grid == 0)
    return CUDA_SUCCESS;
  // The driver reads the pointers and what they point to, and changes neither.
  void **own = const_cast<void **>(parameters.data()) + step.firstArgument;
  auto function = reinterpret_cast<CUfunction>(step.kernel.handle);
  if (!step.overlaps || alone)
    return context->api().cuLaunchKernel(function, step.grid, 1, 1, step.kernel.block, 1, 1,
                                         step.kernel.sharedBytes, context->stream(), own, nullptr);
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = step.grid;
  config.blockDimX = step.kernel.block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = step.kernel.sharedBytes;
  config.hStream = context->stream();
  config.attrs = &early;
  config.numAttrs = 1;
  return context->api().cuLaunchKernelEx(&config, function, own, nullptr);
}

Expected<void> CudaProgram::enqueue(size_t command, bool alone) const {
  const CudaApi &api = context->api();
  CUstream stream = context->stream();
  const Step &step = steps[command];
  if (const auto *gemm = std::get_if<LtGemm>(&step))
    return gemm->enqueue();
  CUresult result = CUDA_SUCCESS;
  if (const auto *kernel = std::get_if<LaunchStep>(&step))
    result = launch(*kernel, alone);
  else if (const auto *copy = std::get_if<CopyStep>(&step); copy && copy->bytes != 0)
    result = api.cuMemcpyDtoDAsync(copy->out, copy->source, copy->bytes, stream);
  else if (const auto *fill = std::get_if<FillStep>(&step); fill && fill->bytes != 0)
    result = api.cuMemsetD8Async(fill->out, fill->value, fill->bytes, stream);
  return context->check(result, "");
}

std::string nameOfCommand(const Executable &executable, const fb::Program &program,
                          size_t command) {
  const fb::Command &named = *program.commands()->Get(static_cast<flatbuffers::uoffset_t>(command));
  std::string text = executable.name() + ": program '" + program.name()->str() + "', command " +
                     std::to_string(command);
  std::string label = named.label() ? named.label()->str() : "";
  if (named.layer() && named.layer()->size() != 0)
    label += (label.empty() ? "" : ", ") + named.layer()->str();
  if (!label.empty())
    text += " (" + label + ")";
  if (const fb::Launch *launch = named.action_as_Launch())
    text += ", kernel '" + executable.root().kernels()->Get(launch->kernel())->name()->str() + "'";
  return text;
}

} // namespace sinter::runtime::cuda
