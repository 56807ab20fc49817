#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Collective/RankProgress.h"
#include "runtime/Device/Cpu/DebugChecks.h"
#include "runtime/Device/Cpu/ProgressThread.h"
#include "runtime/Device/Cpu/Recording.h"
#include "runtime/Device/WeightLoader.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sinter::runtime {
namespace {

class CpuDevice final : public Device {
public:
  explicit CpuDevice(DevicePlan plan) : plan(std::move(plan)), use(this->plan.use) {}

  Expected<MemoryUse> predict(const BindOptions &options);
  Expected<void> bind(const BindOptions &options) override;
  MemoryUse getMemory() const override { return use; }
  Expected<void> run(size_t program) override;
  Expected<void> run(size_t program, Trace &trace) override;
  Expected<void> finishSends(size_t program) override {
    return pipelined ? recordings[program].finishSends() : Expected<void>();
  }
  // What it sent is about to be written again.
  Expected<void> start(size_t program) override { return finishSends(program); }
  Expected<void> runCommand(size_t program, size_t command) override {
    return recordings[program].runStep(command, *plan.pool);
  }
  std::span<std::byte> hostMemory(fb::Space inputOrOutput) const override {
    return inputOrOutput == fb::Space::Input ? input.getBytes() : output.getBytes();
  }
  std::span<std::byte> view(const fb::Slice &slice) const override;
  Expected<void> read(const fb::Slice &slice, std::span<std::byte> out) const override {
    std::ranges::copy(view(slice), out.begin());
    return {};
  }
  Expected<void> write(const fb::Slice &slice, std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, view(slice).begin());
    return {};
  }
  Expected<void> beginCopies(std::span<const SliceCopy> copies) override {
    for (const SliceCopy &copy : copies)
      std::ranges::copy(view(copy.slice), copy.out.begin());
    return {};
  }
  Expected<void> finishCopies() const override { return {}; }
  std::span<std::byte> copyMemory(uint64_t) override { return {}; }
  Expected<void> clearState() override {
    if (state.data())
      std::memset(state.data(), 0, state.getBytes().size());
    return {};
  }

private:
  Expected<void> loadKernels(const KernelTable &table);
  void addMadeWeights(const BindOptions &options) {
    use.preprocessArena +=
        WeightLoader::madeBytes(*plan.executable, plan.preprocess, options.weights);
  }
  Expected<void> allocate(bool debug);
  void recordPrograms();
  Expected<void> preprocess(const BindOptions &options);
  Resolver resolver(const Region &arenaInUse, const WeightLoader *checkpoint, uint32_t stage = 0,
                    uint64_t slot = 0);
  Expected<void> runStep(const Recording &recording, size_t step) const;
  Expected<void> runChecked(size_t program);

  // Tell who watches this rank.
  void begin(size_t program, size_t command) const {
    if (progress)
      progress->beginCommand(plan.programs[program].index, static_cast<uint32_t>(command));
  }
  void end() const {
    if (progress)
      progress->endProgram();
  }

  DevicePlan plan;
  MemoryUse use;
  CodeImage code;
  std::vector<KernelFunction> kernels;
  Region parameter, state, arena, input, output;
  std::vector<Recording> recordings;
  std::unique_ptr<DebugChecks> checks;
  Communicator *communicator = nullptr;
  bool pipelined = false;                         // ranks send to each other
  RankProgress *progress = nullptr;               // null where nobody asks
  std::unique_ptr<ProgressThread> progressThread; // where collectives run beside the rest
};

Expected<void> CpuDevice::loadKernels(const KernelTable &table) {
  const fb::Executable &root = plan.executable->getRoot();
  size_t count = root.kernels() ? root.kernels()->size() : 0;
  kernels.resize(count);
  bool needsCode = false;
  for (size_t i = 0; i < count; ++i) {
    const fb::Kernel &kernel = *root.kernels()->Get(static_cast<flatbuffers::uoffset_t>(i));
    auto replaced = table.find(kernel.name()->string_view());
    if (replaced != table.end())
      kernels[i] = replaced->second;
    else
      needsCode = true;
  }
  if (!needsCode)
    return {};
  SINTER_TRY(code,
             CodeImage::load(std::as_bytes(std::span(root.code()->data(), root.code()->size()))));
  use.code = code.getBytes();
  for (size_t i = 0; i < count; ++i)
    if (!kernels[i])
      kernels[i] =
          code.entry(root.kernels()->Get(static_cast<flatbuffers::uoffset_t>(i))->offset());
  return {};
}

Expected<void> CpuDevice::allocate(bool debug) {
  SINTER_TRY(parameter, Region::allocate(use.parameter, "weights", debug));
  SINTER_TRY(state, Region::allocate(use.state, "caches", debug));
  SINTER_TRY(arena, Region::allocate(use.arena, "activations", debug));
  SINTER_TRY(input, Region::allocate(use.input, "inputs", debug));
  SINTER_TRY(output, Region::allocate(use.output, "outputs", debug));
  if (!debug)
    return {};
  checks = std::make_unique<DebugChecks>();
  checks->watch(fb::Space::Parameter, parameter);
  checks->watch(fb::Space::State, state);
  checks->watch(fb::Space::Arena, arena);
  checks->watch(fb::Space::Input, input);
  checks->watch(fb::Space::Output, output);
  return {};
}

Resolver CpuDevice::resolver(const Region &arenaInUse, const WeightLoader *checkpoint,
                             uint32_t stage, uint64_t slot) {
  auto address = [this, &arenaInUse, checkpoint, stage,
                  slot](const fb::Slice &slice) -> std::byte * {
    switch (slice.space()) {
    case fb::Space::Checkpoint:
      return checkpoint->address(slice.index()) + slice.offset();
    case fb::Space::Parameter:
      return parameter.data() + slice.offset();
    case fb::Space::State:
      return state.data() + offsetInSlot(plan.executable->getRoot(), stage, slice.offset(), slot);
    case fb::Space::Input:
      return input.data() + slice.offset();
    case fb::Space::Output:
      return output.data() + slice.offset();
    case fb::Space::Arena:
      return arenaInUse.data() + slice.offset();
    case fb::Space::Constant:
      // Kernels and copies only read constants; the executable's bytes serve them in place.
      return reinterpret_cast<std::byte *>(
                 const_cast<uint8_t *>(plan.executable->getRoot().constants()->data())) +
             slice.offset();
    }
    return nullptr;
  };
  return {address, kernels, *plan.pool, plan.executable->getRoot(), communicator};
}

std::span<std::byte> CpuDevice::view(const fb::Slice &slice) const {
  const Region *region = slice.space() == fb::Space::Parameter ? &parameter
                         : slice.space() == fb::Space::State   ? &state
                         : slice.space() == fb::Space::Input   ? &input
                         : slice.space() == fb::Space::Output  ? &output
                                                               : &arena;
  return region->getBytes().subspan(slice.offset(), slice.bytes());
}

void CpuDevice::recordPrograms() {
  for (const SelectedProgram &selected : plan.programs)
    recordings.push_back(record(
        *selected.program, resolver(arena, nullptr, selected.program->stage(), selected.slot)));
  // Between stages messages move along with the steps of the one thread.
  if (!pipelined &&
      std::ranges::any_of(recordings, [](const Recording &each) { return !each.order.empty(); }))
    progressThread = std::make_unique<ProgressThread>();
}

Expected<void> CpuDevice::preprocess(const BindOptions &options) {
  const fb::Program *program = plan.preprocess;
  if (!program)
    return {};
  SINTER_TRY(WeightLoader checkpoint,
             WeightLoader::open(*plan.executable, *program, options.weights,
                                options.seed.value_or(plan.executable->getRoot().seed())));
  use.checkpoint = checkpoint.getBytes();
  SINTER_TRY(Region scratch, Region::allocate(program->arena_bytes(), "preprocessing the weights"));
  Recording recording = record(*program, resolver(scratch, &checkpoint));
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    SINTER_CHECK(checkpoint.beforeCommand(*plan.pool, i));
    SINTER_CHECK(recording.runStep(i, *plan.pool));
    if (options.progress) // who measures memory sees what a command has taken
      options.progress(i + 1, recording.steps.size());
    checkpoint.afterCommand(i);
  }
  return {};
}

Expected<MemoryUse> CpuDevice::predict(const BindOptions &options) {
  SINTER_CHECK(loadKernels(options.kernels));
  addMadeWeights(options);
  return use;
}

Expected<void> CpuDevice::bind(const BindOptions &options) {
  SINTER_CHECK(loadKernels(options.kernels));
  addMadeWeights(options);
  SINTER_CHECK(checkMemory(plan.executable->getName(), use, memoryLimit(), "memory"));
  if (auto shortage =
          describeShortage(plan.executable->getName(), use.getPeak(), availableMemory())) {
    if (options.onWarning)
      options.onWarning(*shortage);
    else
      std::fprintf(stderr, "sinter: warning: %s\n", shortage->message().c_str());
  }
  SINTER_CHECK(allocate(options.debug));
  communicator = options.communicator;
  progress = communicator ? communicator->progress : nullptr;
  pipelined = communicator && countStages(plan.executable->getRoot()) != 0;
  recordPrograms();
  SINTER_CHECK(preprocess(options));
  return {};
}

// A step, and beside it what is being sent to other stages.
Expected<void> CpuDevice::runStep(const Recording &recording, size_t step) const {
  if (pipelined)
    SINTER_CHECK(communicator->advance());
  return recording.runStep(step, *plan.pool);
}

Expected<void> CpuDevice::run(size_t program) {
  if (checks)
    return runChecked(program);
  const Recording &recording = recordings[program];
  SINTER_CHECK(start(program));
  if (progressThread && !recording.order.empty()) {
    SINTER_CHECK(progressThread->run(recording, *plan.pool, [&](size_t i) { begin(program, i); }));
  } else {
    for (size_t i = 0; i < recording.steps.size(); ++i) {
      begin(program, i);
      SINTER_CHECK(runStep(recording, i));
    }
  }
  end();
  return {};
}

// In the order of the list, which is right in one stream, too.
Expected<void> CpuDevice::run(size_t program, Trace &trace) {
  if (checks)
    return runChecked(program);
  const Recording &recording = recordings[program];
  uint32_t index = plan.programs[program].index;
  SINTER_CHECK(start(program));
  // One reading of the clock ends a command and begins the next.
  int64_t begin = Trace::now(), last = begin;
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    int64_t start = last;
    this->begin(program, i);
    SINTER_CHECK(runStep(recording, i));
    last = Trace::now();
    trace.add({index, static_cast<uint32_t>(i), start, last});
  }
  end();
  trace.add({index, TraceEvent::wholeRun, begin, last});
  return {};
}

Expected<void> CpuDevice::runChecked(size_t program) {
  const SelectedProgram &selected = plan.programs[program];
  const fb::Program &bound = *selected.program;
  const Recording &recording = recordings[program];
  auto inSlot = [&](uint64_t offset) {
    return offsetInSlot(plan.executable->getRoot(), bound.stage(), offset, selected.slot);
  };
  checks->poison();
  SINTER_CHECK(start(program));
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    const fb::Command &command = *bound.commands()->Get(static_cast<flatbuffers::uoffset_t>(i));
    uint64_t before = checks->hashOutside(command, inSlot);
    begin(program, i);
    SINTER_CHECK(runStep(recording, i));
    if (checks->hashOutside(command, inSlot) == before && checks->guardsIntact())
      continue;
    std::string what = plan.executable->getName() + ": program '" + bound.name()->str() +
                       "', command " + std::to_string(i);
    if (command.label())
      what += " (" + command.label()->str() + ")";
    Error error{what, "wrote outside of its slices", "report this"};
    error.defect = true;
    return tl::unexpected(std::move(error));
  }
  end();
  return {};
}

} // namespace

std::unique_ptr<Device> createCpuDevice(DevicePlan plan) {
  return std::make_unique<CpuDevice>(std::move(plan));
}

Expected<MemoryUse> predictCpuMemory(DevicePlan plan, const BindOptions &options) {
  return CpuDevice(std::move(plan)).predict(options);
}

} // namespace sinter::runtime
