#include "test/kernels/KernelHarness.h"
#include "test/simt/DeviceMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace sinter;
using namespace sinter::kernels;

const KernelTemplate &kernels::getTemplate(const std::string &name) {
  static Expected<TemplateManifest> manifest =
      TemplateManifest::read(SINTER_KERNEL_TEMPLATES "/Templates.json");
  if (!manifest) {
    std::fprintf(stderr, "%s\n", manifest.error().message().c_str());
    std::abort();
  }
  return manifest->getTemplates().at(name);
}

Expected<EmulatedKernels> EmulatedKernels::compile(const KernelTemplate &source,
                                                   const std::map<std::string, Parameters> &kernels,
                                                   bool checked) {
  std::string text = "#include \"" + source.header + "\"\n";
  for (const auto &[name, parameters] : kernels) {
    SINTER_TRY(std::string kernel, source.makeKernel(name, parameters));
    text += kernel;
  }
  simt::CompileOptions options;
  options.checked = checked;
  options.name = source.name + ".cu";
  options.includes = {SINTER_KERNEL_TEMPLATES};
  options.cache = SINTER_KERNEL_CACHE;
  SINTER_TRY(simt::Program program, simt::Program::compile(text, options));
  return EmulatedKernels(std::move(program));
}

static bool isUnwritten(const HostTensor &tensor) {
  return std::ranges::all_of(tensor.values, [](double value) { return std::isnan(value); });
}

Expected<simt::Report> EmulatedKernels::run(const std::string &kernel,
                                            const std::vector<HostTensor *> &tensors,
                                            simt::Schedule::Order order) {
  SINTER_TRY(simt::Kernel shapeOf, program.kernel(kernel + "_launch"));
  SINTER_TRY(simt::Kernel entry, program.kernel(kernel));
  simt::DeviceMemory device;
  auto *shape = device.array<long long>(3);
  void *shapeArgument[] = {shape};
  simt::launch(shapeOf, {.grid = 1, .block = 1}, shapeArgument);
  long long numbers[3];
  device.download(numbers, shape, sizeof numbers);

  std::map<HostTensor *, void *> places;
  std::vector<void *> arguments;
  for (HostTensor *tensor : tensors) {
    void *&place = places[tensor];
    if (!place) {
      std::vector<char> bytes = tensor->bytes();
      place = device.allocate(bytes.size());
      if (!isUnwritten(*tensor))
        device.upload(place, bytes.data(), bytes.size());
    }
    arguments.push_back(place);
  }
  simt::Launch launch;
  launch.grid = static_cast<unsigned>(numbers[0]);
  launch.block = static_cast<unsigned>(numbers[1]);
  launch.sharedBytes = static_cast<size_t>(numbers[2]);
  launch.schedule.order = order;
  simt::Report report = simt::launch(entry, launch, arguments);
  for (auto [tensor, place] : places) {
    std::vector<char> bytes(tensor->values.size() * tensor->elementBytes());
    device.download(bytes.data(), place, bytes.size());
    tensor->read(bytes);
  }
  return report;
}
