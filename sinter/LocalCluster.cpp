#include "sinter/LocalCluster.h"
#include "compiler/Analysis/Machine.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Device/Cpu/HostLimits.h"
#include "sinter/Measure.h"
#include "sinter/Prediction.h"
#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;

/// What a processor's training steps reach of their prediction where nobody has measured it.
static constexpr double kEfficiency = 0.8;
/// Links between ranks of one machine where nobody has measured them: a message is written and read
/// once, beside those of all other ranks.
static constexpr double kAlpha = 2e-6, kMessageShare = 0.25;

static std::filesystem::path getKeptFile() {
  std::filesystem::path folder = cacheFolder();
  return folder.empty() ? folder : folder / "cluster.json";
}

/// What cannot be kept is measured again.
static void keep(const Cluster &cluster) {
  std::filesystem::path file = getKeptFile();
  if (file.empty())
    return;
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::string text = cluster.toJson();
  (void)writeFileAtomically(file.string(), std::as_bytes(std::span(text)));
}

static uint64_t getMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// All of this machine's processor as one device, as guessed before it was measured.
static ClusterDevice describeProcessor() {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  HostLimits limits(threads, InstructionSet::of(cpuFeatures()));
  ClusterDevice device;
  device.name = processorName();
  device.target = "cpu";
  device.memoryBytes = getMemoryBytes();
  device.flops = limits.get(LimitKind::F32Products);
  device.narrowFlops = limits.get(LimitKind::Bf16Products);
  device.memoryRate = limits.get(LimitKind::Memory);
  device.efficiency = kEfficiency;
  return device;
}

/// A cluster's devices cut into, or put together to, `ranks` of them.
static void share(Cluster &cluster, size_t ranks) {
  double part = double(cluster.size()) / double(ranks);
  ClusterDevice &device = cluster.device;
  device.memoryBytes = static_cast<uint64_t>(double(device.memoryBytes) * part);
  for (double *rate : {&device.flops, &device.narrowFlops, &device.memoryRate})
    *rate *= part;
  if (!cluster.levels.empty())
    cluster.levels.front().devices = ranks;
  if (ranks == 1)
    cluster.levels.clear();
}

static Cluster describeThisMachine(size_t ranks) {
  if (auto text = readFile(getKeptFile()))
    if (auto kept = Cluster::parse(*text, "cluster.json");
        kept && kept->device.name == processorName() && kept->levels.size() == 1) {
      share(*kept, ranks);
      return *kept;
    }
  Cluster cluster;
  cluster.name = "this machine";
  cluster.source = "rates are measured; links and efficiency are guesses until sinter devices "
                   "--measure-links";
  cluster.device = describeProcessor();
  cluster.levels = {{"memory", 1, kAlpha, kMessageShare * cluster.device.memoryRate}};
  share(cluster, ranks);
  return cluster;
}

/// GPUs by their data sheet; the links of several are those of a cluster that is known.
static Expected<Cluster> describeGpus(const std::string &target, size_t ranks) {
  SINTER_TRY(Machine gpu, describeMachine(target, /*cores=*/0));
  Cluster cluster;
  cluster.name = target;
  cluster.source = "its vendor's data sheet, which no step was run on";
  cluster.device = {
      target, target, 0, gpu.rates.flops, gpu.rates.narrowFlops, gpu.rates.memoryBytes, 1};
  if (ranks > 1) {
    SINTER_TRY(Cluster linked, Cluster::find(ranks <= 8 ? "h100x8" : "h100x128"));
    cluster.levels = linked.levels;
    cluster.routing = linked.routing;
    cluster.source += "; linked as " + linked.name;
  }
  return cluster;
}

Expected<Cluster> sinter::findCluster(const std::string &nameOrFile, const std::string &target,
                                      size_t ranks) {
  if (!nameOrFile.empty())
    return Cluster::find(nameOrFile);
  if (target.starts_with("cuda"))
    return describeGpus(target, ranks);
  return describeThisMachine(ranks);
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace {
/// What one rank finds.
struct Figures {
  double flops = 0, narrowFlops = 0, memoryRate = 0, efficiency = 0;
  double alpha[2] = {}, bytesPerSecond[2] = {}; ///< among the ranks of a machine, and between them
};
} // namespace

/// Seconds of the fastest gather of `bytes` from each rank: others slow some of them.
static Expected<double> timeGather(Communicator &communicator, const RankGroup &group, size_t bytes,
                                   size_t times) {
  std::vector<std::byte> part(bytes), all(bytes * group.size());
  std::vector<double> seconds;
  for (size_t i = 0; i <= times; ++i) {
    auto begin = std::chrono::steady_clock::now();
    SINTER_CHECK(communicator.allGather(group, part, all));
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (i != 0) // pages are touched by then
      seconds.push_back(elapsed.count());
  }
  return std::ranges::min(seconds);
}

/// Alpha and beta of a link from a gather of few and one of many bytes.
static Expected<void> measureLink(Communicator &communicator, const RankGroup &group, double &alpha,
                                  double &bytesPerSecond) {
  constexpr size_t kFew = 64, kMany = 8 << 20;
  SINTER_CHECK(communicator.barrier());
  if (group.size() == 1)
    return {};
  double messages = double(group.size() - 1);
  SINTER_TRY(double few, timeGather(communicator, group, kFew, 200));
  SINTER_TRY(double many, timeGather(communicator, group, kMany, 20));
  alpha = few / messages;
  bytesPerSecond = messages * double(kMany) / std::max(many - few, 1e-9);
  return {};
}

/// A step that is like those of larger models: products of 768 columns, and states that no cache
/// holds.
static constexpr char kTrialModel[] =
    R"({"model_type": "gpt2", "vocab_size": 4096, "n_positions": 256, "n_embd": 768, "n_layer": 2,
        "n_head": 12})";

/// The part that a training step of this rank's reaches of what is predicted for the device.
static Expected<double> measureEfficiency(const ClusterDevice &device, int64_t threads) {
  Model model;
  model.path = "trial model";
  model.description = kTrialModel;
  SINTER_TRY(model.spec, parseModelSpec(model.description, model.path.string()));
  StepModeOptions options;
  options.target = "cpu";
  options.threads = threads;
  options.mode.mode = "train";
  options.mode.sequence = 256;
  options.batch = 1;
  Repetition repetition{1, 5};
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  SINTER_TRY(std::vector<double> ms, measureTraining(*run->trainer, options.observer, repetition));
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options));
  Cluster alone;
  alone.device = device;
  alone.device.efficiency = 1;
  SINTER_TRY(std::vector<ProgramRuns> runs, getModeRuns(run->getExecutable(), options));
  SINTER_TRY(StepPrediction prediction,
             predictStep(run->getExecutable(), runs, request.options, alone));
  return prediction.time.seconds * 1e3 / std::ranges::min(ms);
}

/// Every `localRanks`-th rank: those that have this one's place on their machines.
static RankGroup groupByPlace(const Communicator &communicator, size_t localRanks) {
  RankGroup group;
  size_t first = communicator.getRank() % localRanks;
  for (size_t rank = first; rank < communicator.size(); rank += localRanks)
    group.ranks.push_back(rank);
  group.place = communicator.getRank() / localRanks;
  return group;
}

static RankGroup groupByMachine(const Communicator &communicator, size_t localRanks) {
  RankGroup group;
  group.ranks.resize(localRanks);
  std::iota(group.ranks.begin(), group.ranks.end(),
            communicator.getRank() / localRanks * localRanks);
  group.place = communicator.getRank() % localRanks;
  return group;
}

/// The mean of what all ranks found.
static Expected<Figures> average(Communicator &communicator, const Figures &own) {
  std::vector<Figures> all(communicator.size());
  SINTER_CHECK(communicator.allGather(makeWholeGroup(communicator),
                                      std::as_bytes(std::span(&own, 1)),
                                      std::as_writable_bytes(std::span(all))));
  Figures mean;
  double share = 1 / double(all.size());
  for (const Figures &figures : all) {
    mean.flops += figures.flops * share;
    mean.narrowFlops += figures.narrowFlops * share;
    mean.memoryRate += figures.memoryRate * share;
    mean.efficiency += figures.efficiency * share;
    for (size_t level : {0, 1}) {
      mean.alpha[level] += figures.alpha[level] * share;
      mean.bytesPerSecond[level] += figures.bytesPerSecond[level] * share;
    }
  }
  return mean;
}

Expected<Cluster> sinter::measureCluster(Communicator &communicator, size_t localRanks,
                                         const RunOptions &options) {
  auto threads = static_cast<unsigned>(getThreads(options));
  HostLimits limits(threads, InstructionSet::of(cpuFeatures()));
  constexpr double kSeconds = 0.2;
  Figures own;
  for (auto [kind, figure] : {std::pair(LimitKind::F32Products, &own.flops),
                              std::pair(LimitKind::Bf16Products, &own.narrowFlops),
                              std::pair(LimitKind::Memory, &own.memoryRate)}) {
    SINTER_CHECK(communicator.barrier());
    *figure = limits.measureNow(kind, kSeconds);
  }
  SINTER_CHECK(measureLink(communicator, groupByMachine(communicator, localRanks), own.alpha[0],
                           own.bytesPerSecond[0]));
  SINTER_CHECK(measureLink(communicator, groupByPlace(communicator, localRanks), own.alpha[1],
                           own.bytesPerSecond[1]));
  ClusterDevice device = {
      processorName(), "cpu", getMemoryBytes() / localRanks, own.flops, own.narrowFlops,
      own.memoryRate,  1};
  SINTER_TRY(own.efficiency, measureEfficiency(device, threads));
  SINTER_TRY(Figures mean, average(communicator, own));
  Cluster cluster;
  cluster.name = "this machine";
  cluster.source = "sinter devices --measure-links, " + std::to_string(communicator.size()) +
                   " ranks of " + std::to_string(threads) + " threads";
  device.flops = mean.flops;
  device.narrowFlops = mean.narrowFlops;
  device.memoryRate = mean.memoryRate;
  device.efficiency = mean.efficiency;
  cluster.device = device;
  const char *names[] = {"memory", "network"};
  const size_t devices[] = {localRanks, communicator.size()};
  for (size_t level : {0, 1})
    if (mean.bytesPerSecond[level] != 0)
      cluster.levels.push_back(
          {names[level], devices[level], mean.alpha[level], mean.bytesPerSecond[level]});
  if (communicator.getRank() == 0 && localRanks == communicator.size())
    keep(cluster);
  return cluster;
}
