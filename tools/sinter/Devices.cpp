//===- Devices.cpp - `sinter devices`: what this machine can run on ---------===//

#include "compiler/Analysis/Machine.h"
#include "runtime/Base/Json.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "sinter/LocalCluster.h"
#include "tools/cli/OneLine.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

using namespace sinter;
using namespace sinter::cli;

static std::string explain(const Error &error) { return showFlags(error.message()); }

/// The processor, as the compiler sees it.
static nlohmann::json describeCpu() {
  Expected<Machine> cpu = describeMachine("cpu", /*cores=*/0);
  if (!cpu)
    return {{"target", "cpu"}, {"missing", explain(cpu.error())}};
  return {{"target", "cpu"},
          {"name", cpu->chip},
          {"cores", cpu->cores},
          {"vector_bits", cpu->vectorBits}};
}

/// The GPU and what compiles for it, or why there is none.
static nlohmann::json describeGpu() {
  Expected<runtime::cuda::GpuInfo> gpu = runtime::cuda::findGpu();
  Expected<std::string> compiler = runtime::cuda::nvrtcVersion();
  nlohmann::json report = {{"target", "cuda"}};
  if (compiler)
    report["nvrtc"] = *compiler;
  else
    report["nvrtc_missing"] = explain(compiler.error());
  if (!gpu) {
    report["missing"] = explain(gpu.error());
    return report;
  }
  report["name"] = gpu->name;
  report["capability"] = gpu->capability.toString();
  report["multiprocessors"] = gpu->multiprocessors;
  report["driver"] = std::to_string(gpu->driverVersion / 1000) + "." +
                     std::to_string(gpu->driverVersion % 1000 / 10);
  if (Expected<std::string> target = runtime::cuda::targetFor(gpu->capability))
    report["target"] = *target;
  else
    report["missing"] = explain(target.error());
  return report;
}

static void printDevice(const nlohmann::json &device) {
  std::string line = device["target"];
  line.resize(std::max<size_t>(line.size() + 1, 12), ' ');
  line += device.contains("name") ? device["name"].get<std::string>() : "not usable";
  for (const auto &[key, value] : device.items())
    if (key != "target" && key != "name" && key != "missing")
      line += ", " + key + " " + (value.is_string() ? value.get<std::string>() : writeJson(value));
  if (device.contains("missing"))
    line += ": " + device["missing"].get<std::string>();
  std::printf("%s\n", line.c_str());
}

static void printDevices(bool asJson) {
  nlohmann::json devices = {describeCpu(), describeGpu()};
  if (asJson)
    printJson(nlohmann::json{{"devices", devices}});
  else
    for (const nlohmann::json &device : devices)
      printDevice(device);
}

namespace {
struct DevicesCommandOptions : CommandOptions<RunOptions> {
  bool measuresLinks = false;
};
} // namespace

/// Prints a cluster's description of what the ranks of this job are and how they are linked.
static Expected<void> measureLinks(const DevicesCommandOptions &options) {
  std::optional<runtime::LaunchedRank> launched = runtime::findLaunchedRank();
  if (!options.communicator || !launched)
    return fail("`measure_links`", "there is one rank", "give `ranks` 2, or start it by mpirun");
  size_t local = launched->localSize;
  if (local == 0 || launched->size % local != 0 || launched->rank % local != launched->localRank)
    return fail("`measure_links`", "ranks of a machine do not follow each other",
                "start as many on each, by mpirun --map-by ppr:N:node, for example");
  SINTER_TRY(runtime::Cluster cluster, measureCluster(*options.communicator, local, options));
  std::printf("%s", cluster.toJson().c_str());
  return {};
}

static Expected<void> runDevices(DevicesCommandOptions &options) {
  if (!options.measuresLinks) {
    if (options.ranks != 0)
      return fail("`ranks` " + std::to_string(options.ranks), "is for `measure_links`",
                  "add that, or leave it out");
    printDevices(options.json);
    return {};
  }
  constexpr int64_t kLeastRanks = 2;
  if (options.ranks == 0 && !runtime::findLaunchedRank())
    options.ranks = std::max<int64_t>(kLeastRanks, std::thread::hardware_concurrency());
  RankedCommand command;
  command.options.ranks = options.ranks;
  command.options.rankTimeout = options.rankTimeout;
  command.observer = &options.observer;
  command.communicator = &options.communicator;
  command.threads = &options.threads;
  return runOnRanks(std::move(command), [&] { return measureLinks(options); });
}

void sinter::cli::addDevices(CLI::App &program) {
  CLI::App *command = addCommand(program, "devices", "What this machine can run on");
  auto options = std::make_shared<DevicesCommandOptions>();
  command->add_flag("--json", options->json, "print one machine-readable object");
  command->add_flag(
      "--measure-links", options->measuresLinks,
      "measure ranks of this machine, or of a job under mpirun, and the links between "
      "them, and print them as a cluster's description");
  addOptions<RunOptions>(*command, *options, {"threads"});
  addRankFlags(*command, *options);
  command->get_option("--ranks")->description(
      "with --measure-links: ranks to start on this machine (default: one a processor)");
  command->callback([options] { finish(runDevices(*options)); });
}
