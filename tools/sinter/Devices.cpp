//===- Devices.cpp - `sinter devices`: what this machine can run on ---------===//

#include "compiler/Analysis/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "tools/cli/Output.h"
#include "tools/sinter/Commands.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

/// The processor, as the compiler sees it.
static nlohmann::json describeCpu() {
  mlir::MLIRContext context;
  context.loadDialect<SinterDialect>();
  Expected<TargetAttr> cpu = parseTarget(&context, "cpu", /*cores=*/0);
  if (!cpu)
    return {{"target", "cpu"}, {"missing", cpu.error().message()}};
  return {{"target", "cpu"},
          {"name", cpu->getChip().str()},
          {"cores", cpu->getCores()},
          {"vector_bits", cpu->getVectorBits()}};
}

/// The GPU and what compiles for it, or why there is none.
static nlohmann::json describeGpu() {
  Expected<runtime::cuda::GpuInfo> gpu = runtime::cuda::findGpu();
  Expected<std::string> compiler = runtime::cuda::nvrtcVersion();
  nlohmann::json report = {{"target", "cuda"}};
  if (compiler)
    report["nvrtc"] = *compiler;
  else
    report["nvrtc_missing"] = compiler.error().message();
  if (!gpu) {
    report["missing"] = gpu.error().message();
    return report;
  }
  report["name"] = gpu->name;
  report["capability"] = gpu->capability.text();
  report["multiprocessors"] = gpu->multiprocessors;
  report["driver"] = std::to_string(gpu->driverVersion / 1000) + "." +
                     std::to_string(gpu->driverVersion % 1000 / 10);
  if (Expected<std::string> target = runtime::cuda::targetFor(gpu->capability))
    report["target"] = *target;
  else
    report["missing"] = target.error().message();
  return report;
}

static void print(const nlohmann::json &device) {
  std::string line = device["target"];
  line.resize(std::max<size_t>(line.size() + 1, 12), ' ');
  if (device.contains("missing"))
    line += "not usable: " + device["missing"].get<std::string>();
  else
    line += device["name"].get<std::string>();
  for (const auto &[key, value] : device.items())
    if (key != "target" && key != "name" && key != "missing")
      line += ", " + key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  std::printf("%s\n", line.c_str());
}

void sinter::cli::addDevices(CLI::App &program) {
  CLI::App *command = addCommand(program, "devices", "What this machine can run on");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one machine-readable object");
  command->callback([json] {
    nlohmann::json devices = {describeCpu(), describeGpu()};
    if (*json)
      printJson(nlohmann::json{{"devices", devices}});
    else
      for (const nlohmann::json &device : devices)
        print(device);
  });
}
