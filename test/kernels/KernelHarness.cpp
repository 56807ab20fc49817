#include "test/kernels/KernelHarness.h"
#include "test/simt/DeviceMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace sinter;
using namespace sinter::kernels;

/// The folder with the templates: the repository's, or $SINTER_KERNEL_TEMPLATES.
static std::filesystem::path getTemplatesFolder() {
  const char *other = std::getenv("SINTER_KERNEL_TEMPLATES");
  return other ? other : SINTER_KERNEL_TEMPLATES;
}

const KernelTemplate &kernels::getTemplate(const std::string &name) {
  static Expected<TemplateManifest> manifest =
      TemplateManifest::read(getTemplatesFolder() / "Templates.json");
  if (!manifest) {
    std::fprintf(stderr, "%s\n", manifest.error().message().c_str());
    std::abort();
  }
  return manifest->getTemplates().at(name);
}

std::string kernels::whyNoKernels() {
  if (test::getKernelPlace() == test::KernelPlace::Emulator)
    return simt::Program::whyNot();
  Expected<std::string> compiler = runtime::cuda::nvrtcVersion();
  return compiler ? "" : compiler.error().message();
}

bool kernels::haveWarpgroups() {
  if (test::getKernelPlace() == test::KernelPlace::Emulator)
    return true;
  auto context = runtime::cuda::CudaContext::open();
  return context && (*context)->getCapability() == runtime::cuda::Capability{9, 0};
}

/// All headers of the templates' folder, by name.
static std::map<std::string, std::string> readHeaders() {
  std::map<std::string, std::string> headers;
  for (const auto &entry : std::filesystem::directory_iterator(getTemplatesFolder()))
    if (entry.path().extension() == ".cuh") {
      std::ifstream file(entry.path(), std::ios::binary);
      headers[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
    }
  return headers;
}

Expected<TestKernels> TestKernels::compile(const KernelTemplate &source,
                                           const std::map<std::string, Parameters> &kernels,
                                           bool checked, std::optional<int> fullGrid) {
  std::string text;
  if (fullGrid)
    text += "#define SINTER_FULL_GRID " + std::to_string(*fullGrid) + "\n";
  text += "#include \"" + source.header + "\"\n";
  for (const auto &[name, parameters] : kernels) {
    SINTER_TRY(std::string kernel, source.makeKernel(name, parameters));
    text += kernel;
  }
  TestKernels result;
  result.name = source.name;
  if (test::getKernelPlace() == test::KernelPlace::Device) {
    SINTER_TRY(result.device,
               test::DeviceProgram::compile({source.name + ".cu", text, {}, readHeaders()}));
    return result;
  }
  simt::CompileOptions options;
  options.checked = checked;
  options.name = source.name + ".cu";
  options.includes = {getTemplatesFolder()};
  options.cache = SINTER_KERNEL_CACHE;
  SINTER_TRY(result.emulated, simt::Program::compile(text, options));
  return result;
}

static bool isUnwritten(const HostTensor &tensor) {
  return std::ranges::all_of(tensor.values, [](double value) { return std::isnan(value); });
}

/// A name of its own for each time that a test runs a kernel.
static std::string nameRun(const std::string &kernel) {
  static std::map<std::string, int> runs;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + kernel;
  return name + "." + std::to_string(runs[name]++);
}

Expected<simt::Report> TestKernels::run(const std::string &kernel,
                                        const std::vector<HostTensor *> &tensors,
                                        simt::Schedule::Order order) {
  SINTER_TRY(simt::Report report,
             device ? runOnDevice(kernel, tensors) : emulate(kernel, tensors, order));
  std::vector<std::span<const double>> values;
  for (const HostTensor *tensor : tensors)
    values.push_back(tensor->values);
  SINTER_CHECK(test::compareWithRecord(nameRun(kernel), values));
  return report;
}

Expected<simt::Report> TestKernels::runOnDevice(const std::string &kernel,
                                                const std::vector<HostTensor *> &tensors) {
  Shape shape;
  std::span<std::byte> shapeMemory[] = {std::as_writable_bytes(std::span(&shape, 1))};
  SINTER_CHECK(device->run(kernel + "_launch", 1, 1, 0, shapeMemory));
  std::map<HostTensor *, std::vector<char>> places;
  std::vector<std::span<std::byte>> memory;
  for (HostTensor *tensor : tensors) {
    auto [place, isNew] = places.try_emplace(tensor);
    if (isNew)
      place->second = tensor->bytes();
    memory.push_back(std::as_writable_bytes(std::span(place->second)));
  }
  SINTER_CHECK(device->run(kernel, static_cast<unsigned>(shape.grid),
                           static_cast<unsigned>(shape.block),
                           static_cast<unsigned>(shape.sharedBytes), memory));
  for (auto &[tensor, bytes] : places)
    tensor->read(bytes);
  return simt::Report();
}

Expected<simt::Report> TestKernels::emulate(const std::string &kernel,
                                            const std::vector<HostTensor *> &tensors,
                                            simt::Schedule::Order order) {
  SINTER_TRY(simt::Kernel shapeOf, emulated->kernel(kernel + "_launch"));
  SINTER_TRY(simt::Kernel entry, emulated->kernel(kernel));
  simt::DeviceMemory device;
  auto *shapePlace = device.array<long long>(3);
  void *shapeArgument[] = {shapePlace};
  simt::launch(shapeOf, {.grid = 1, .block = 1}, shapeArgument);
  Shape shape;
  device.download(&shape, shapePlace, sizeof shape);

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
  launch.grid = static_cast<unsigned>(shape.grid);
  launch.block = static_cast<unsigned>(shape.block);
  launch.sharedBytes = static_cast<size_t>(shape.sharedBytes);
  launch.schedule.order = order;
  simt::Report report = simt::launch(entry, launch, arguments);
  for (auto [tensor, place] : places) {
    std::vector<char> bytes(tensor->values.size() * tensor->elementBytes());
    device.download(bytes.data(), place, bytes.size());
    tensor->read(bytes);
  }
  return report;
}
