#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Collective/RankProgress.h"
#include "runtime/Device/Cuda/CudaCopies.h"
#include "runtime/Device/Cuda/CudaGraph.h"
#include "runtime/Device/Cuda/CudaProgram.h"
#include "runtime/Device/Cuda/CudaRange.h"
#include "runtime/Device/Cuda/CudaStreams.h"
#include "runtime/Device/Cuda/CudaTransfer.h"
#include "runtime/Device/Cuda/RankGpu.h"
#include "runtime/Device/Cuda/UploadPlan.h"
#include "runtime/Device/WeightLoader.h"
#include "runtime/Format/Actions.h"
#include "runtime/Format/PipelineStages.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace sinter::runtime::cuda {
namespace {

bool isSet(const char *variable, std::string_view value) {
  const char *text = std::getenv(variable);
  return text && value == text;
}

// An error with what failed in front of it, `what()`.
template <typename Name> Expected<void> named(Expected<void> result, Name what) {
  if (!result) {
    std::string &own = result.error().what;
    own = own.empty() ? what() : what() + ": " + own;
  }
  return result;
}

// Commands of a program that are captured as one graph, or of which none may be.
struct Part {
  size_t begin, end;
  std::optional<CudaGraph> graph;
};

struct BoundProgram {
  CudaProgram steps;
  // The first command that changes a state that may be being copied; the number of commands where
  // none does. Copies are waited for between what is before it and the rest, which is why these are
  // two graphs: a wait for an event of outside would be a node of a kind of its own.
  size_t firstChange;
  std::vector<Part> parts;
  std::vector<CudaEvent> events = {}; ///< of traced runs, one more than commands
  bool hasRun = false, isCaptured = false;
  std::vector<size_t> senders = {}; ///< programs that send what this one writes
};

std::vector<Part> divide(const CudaProgram &steps, size_t firstChange) {
  std::vector<Part> parts;
  parts.push_back({0, steps.size(), std::nullopt});
  for (size_t i = 1; i < steps.size(); ++i)
    if (i == firstChange || steps.mayCapture(i) != steps.mayCapture(i - 1)) {
      parts.back().end = i;
      parts.push_back({i, steps.size(), std::nullopt});
    }
  return parts;
}

// All that is to be given back while the context is current.
struct Resources {
  explicit Resources(const CudaContext &context)
      : context(context), kernels(context), gemms(context), attentions(context), streams(context) {}
  // What is freed may still be in use.
  ~Resources() {
    if (ranks)
      ranks->end();
    context.getApi().cuStreamSynchronize(context.getStream());
  }

  const CudaContext &context;
  std::unique_ptr<CudaPool> pool;
  CudaKernels kernels;
  LtLibrary gemms;
  CudnnLibrary attentions;
  std::optional<Tuner> tuner; ///< where the executable is to be tuned
  std::unique_ptr<CudaTransfer> transfer;
  DeviceMemory parameter, constant, state, arena, input, output;
  std::unique_ptr<NcclRanks> ranks; ///< where there are several
  PinnedMemory inputMirror, outputMirror;
  std::vector<BoundProgram> programs;
  std::unique_ptr<CudaCopies> copies; ///< where states may be copied beside the steps
  CudaStreams streams;
};

class CudaDevice final : public Device {
public:
  CudaDevice(DevicePlan plan, std::unique_ptr<CudaContext> opened, Communicator *ranks)
      : plan(std::move(plan)), use(predictCudaMemory(this->plan)), context(std::move(opened)),
        communicator(ranks), progress(ranks ? ranks->progress : nullptr),
        own(std::make_unique<Resources>(*context)) {}
  ~CudaDevice() override {
    CudaContext::Current current(*context);
    own.reset();
  }

  Expected<void> bind(const BindOptions &options) override;
  MemoryUse getMemory() const override { return use; }
  std::vector<std::string> getAlternatives() const override {
    return own->tuner ? own->tuner->getAlternatives() : std::vector<std::string>();
  }
  Expected<void> run(size_t program) override;
  Expected<void> run(size_t program, Trace &trace) override;
  Expected<void> finishSends(size_t program) override;
  Expected<void> start(size_t program) override;
  Expected<void> runCommand(size_t program, size_t command) override;
  std::span<std::byte> hostMemory(fb::Space inputOrOutput) const override {
    return inputOrOutput == fb::Space::Input ? own->inputMirror.getBytes()
                                             : own->outputMirror.getBytes();
  }
  std::span<std::byte> view(const fb::Slice &) const override { return {}; }
  Expected<void> read(const fb::Slice &slice, std::span<std::byte> out) const override;
  Expected<void> write(const fb::Slice &slice, std::span<const std::byte> bytes) override;
  Expected<void> beginCopies(std::span<const SliceCopy> copies) override;
  Expected<void> finishCopies() const override;
  std::span<std::byte> copyMemory(uint64_t bytes) override;
  Expected<void> clearState() override;

private:
  using CheckpointMemory = std::map<uint32_t, DeviceMemory>;

  Expected<void> loadKernels();
  Expected<void> allocate(DeviceMemory &memory, uint64_t bytes, const char *owner);
  Expected<void> preprocess(const BindOptions &options);
  Expected<void> allocateSteps();
  Expected<void> bindPrograms(const BindOptions &options);
  void findSenders();
  CUdeviceptr address(const fb::Slice &slice, const DeviceMemory &arenaInUse,
                      const CheckpointMemory *checkpoint) const;
  Expected<void> carryIn(size_t program) const;
  Expected<void> carryOut(size_t program) const;
  size_t findFirstChange(const fb::Program &program,
                         const std::vector<std::string> &copiedStates) const;
  Expected<void> waitForCopies() const;
  Expected<void> waitForSends(size_t program) const;
  bool mayOverlap() const;
  Expected<void> enqueue(size_t program, size_t command, std::optional<size_t> begin) const;
  Expected<void> enqueueAndWait(size_t program, size_t command) const;
  Expected<void> wait() const;
  Expected<void> walk(size_t program, const Part &part) const;
  Expected<void> walkWaiting(size_t program) const;
  void capture(size_t program);
  void warn(const Error &warning) const;
  Expected<void> makeEvents(BoundProgram &bound) const;
  Expected<void> ofProgram(Expected<void> result, size_t program) const {
    return named(std::move(result), [&] { return nameOf(program); });
  }
  Expected<void> ofCommand(Expected<void> result, size_t program, size_t command) const {
    return named(std::move(result), [&] { return nameOf(program, command); });
  }
  std::string nameOf(size_t program) const;
  std::string nameOf(size_t program, size_t command) const {
    return nameOfCommand(*plan.executable, *plan.programs[program].program, command,
                         own->programs[program].steps.wayOf(command));
  }

  DevicePlan plan;
  MemoryUse use;
  std::function<void(const Error &)> onWarning;
  bool debug = false, captures = true;
  std::unique_ptr<CudaContext> context;
  Communicator *communicator;
  RankProgress *progress; ///< null where nobody asks
  std::unique_ptr<Resources> own;
};

std::string CudaDevice::nameOf(size_t program) const {
  std::string text = plan.executable->getName() + ": program '" +
                     plan.programs[program].program->name()->str() + "'";
  return debug ? text : text + " (SINTER_CUDA_DEBUG=1 finds the command)";
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

// Launches overlap where the GPU can, and the driver puts that into graphs.
bool CudaDevice::mayOverlap() const {
  constexpr int driverForGraphs = 12030;
  int version = 0;
  return context->getCapability() >= Capability{9, 0} &&
         context->getApi().cuDriverGetVersion(&version) == CUDA_SUCCESS &&
         version >= driverForGraphs && !isSet("SINTER_CUDA_OVERLAP", "0");
}

Expected<void> CudaDevice::bind(const BindOptions &options) {
  debug = options.debug || isSet("SINTER_CUDA_DEBUG", "1");
  captures = !debug && !isSet("SINTER_CUDA_GRAPH", "0");
  onWarning = options.onWarning;
  CudaContext::Current current(*context);
  SINTER_CHECK(loadKernels());
  SINTER_TRY(uint64_t free, context->getFreeBytes());
  SINTER_CHECK(
      checkMemory(plan.executable->getName(), use, free, "the memory of " + context->getName()));
  SINTER_TRY(own->pool, CudaPool::create(*context));
  SINTER_TRY(own->transfer, CudaTransfer::create(*context, *plan.pool));
  SINTER_CHECK(allocate(own->parameter, use.parameter, "weights"));
  SINTER_CHECK(allocate(own->constant, use.constant, "constants"));
  if (const auto *constants = plan.executable->getRoot().constants();
      constants && use.constant != 0)
    SINTER_CHECK(own->transfer->upload(std::as_bytes(std::span(constants->data(), use.constant)),
                                       own->constant.getAddress()));
  if (communicator && communicator->size() > 1) {
    SINTER_TRY(own->ranks, NcclRanks::open(*context, *communicator,
                                           countStages(plan.executable->getRoot()) == 0));
  }
  SINTER_CHECK(preprocess(options));
  SINTER_CHECK(allocateSteps());
  if (plan.executable->getRoot().tune())
    own->tuner.emplace(*context, own->pool.get());
  if (countStages(plan.executable->getRoot()) != 0) {
    DeviceMemory scratch;
    SINTER_CHECK(allocate(scratch, 1, "links"));
    Expected<void> opened = own->ranks->openLinks(*plan.executable, scratch.getAddress());
    if (!opened)
      own->ranks->end(); // a message may still be read from there
    SINTER_CHECK(std::move(opened));
  }
  SINTER_CHECK(bindPrograms(options));
  if (own->ranks)
    for (const DeviceMemory *memory : {&own->state, &own->arena})
      SINTER_CHECK(own->ranks->registerMemory(memory->getAddress(), memory->getBytes()));
  if (const std::optional<Error> &refusal = own->attentions.getRefusal())
    warn({refusal->what, refusal->why, "our own kernels compute it"});
  if (!options.copiedStates.empty()) {
    SINTER_TRY(own->copies, CudaCopies::create(*context));
  }
  if (own->tuner) {
    SINTER_CHECK(context->wait(plan.executable->getName() + ": choosing among alternatives"));
    own->pool->trim(); // of what timing took
  }
  use.reserved = own->pool->getStatistics().reservedHigh;
  return clearState(); // commands may have been tried
}

Expected<void> CudaDevice::bindPrograms(const BindOptions &options) {
  const fb::Executable &root = plan.executable->getRoot();
  for (const auto &[program, index, slot] : plan.programs) {
    auto addressInSlot = [this, &root, stage = program->stage(), slot](const fb::Slice &slice) {
      uint64_t moved = slice.space() == fb::Space::State
                           ? offsetInSlot(root, stage, slice.offset(), slot) - slice.offset()
                           : 0;
      return address(slice, own->arena, nullptr) + moved;
    };
    CudaResolver resolver{addressInSlot,   *plan.executable,
                          own->kernels,    own->gemms,
                          own->attentions, own->tuner ? &*own->tuner : nullptr,
                          mayOverlap(),    communicator ? communicator->getRank() : 0,
                          own->ranks.get()};
    size_t count = program->commands() ? program->commands()->size() : 0;
    SINTER_TRY(CudaProgram steps, CudaProgram::record(*context, *program, 0, count, resolver));
    SINTER_CHECK(own->streams.require(steps.getStreams()));
    if (countStages(root) != 0 && slot == 0)
      SINTER_CHECK(steps.rehearse(*program, resolver));
    size_t firstChange = findFirstChange(*program, options.copiedStates);
    std::vector<Part> parts = divide(steps, firstChange);
    own->programs.push_back({std::move(steps), firstChange, std::move(parts)});
  }
  findSenders();
  return {};
}

// As the ranks' verifier has it (RanksVerifier.h).
void CudaDevice::findSenders() {
  const fb::Executable &root = plan.executable->getRoot();
  if (countStages(root) == 0)
    return;
  for (size_t i = 0; i < plan.programs.size(); ++i)
    for (size_t j = 0; j < plan.programs.size(); ++j)
      if (i == j || writesSentState(root, *plan.programs[i].program, *plan.programs[j].program))
        own->programs[i].senders.push_back(j);
}

Expected<void> CudaDevice::loadKernels() {
  std::vector<const fb::Program *> programs;
  for (const SelectedProgram &selected : plan.programs)
    programs.push_back(selected.program);
  if (plan.preprocess)
    programs.push_back(plan.preprocess);
  SINTER_CHECK(own->kernels.load(*plan.executable, programs, *plan.pool));
  use.code = own->kernels.getCodeBytes();
  return {};
}

// Zeroed memory.
Expected<void> CudaDevice::allocate(DeviceMemory &memory, uint64_t bytes, const char *owner) {
  SINTER_TRY(memory, own->pool->allocate(bytes, owner));
  if (bytes == 0)
    return {};
  return context->check(
      context->getApi().cuMemsetD8Async(memory.getAddress(), 0, bytes, context->getStream()),
      owner);
}

Expected<void> CudaDevice::allocateSteps() {
  SINTER_CHECK(allocate(own->state, use.state, "caches"));
  SINTER_CHECK(allocate(own->arena, use.arena, "activations"));
  SINTER_CHECK(allocate(own->input, use.input, "inputs"));
  SINTER_CHECK(allocate(own->output, use.output, "outputs"));
  SINTER_TRY(own->inputMirror, PinnedMemory::allocate(*context, use.input, "inputs"));
  SINTER_TRY(own->outputMirror, PinnedMemory::allocate(*context, use.output, "outputs"));
  return {};
}

CUdeviceptr CudaDevice::address(const fb::Slice &slice, const DeviceMemory &arenaInUse,
                                const CheckpointMemory *checkpoint) const {
  switch (slice.space()) {
  case fb::Space::Checkpoint:
    return checkpoint->at(slice.index()).getAddress() + slice.offset();
  case fb::Space::Parameter:
    return own->parameter.getAddress() + slice.offset();
  case fb::Space::State:
    return own->state.getAddress() + slice.offset();
  case fb::Space::Input:
    return own->input.getAddress() + slice.offset();
  case fb::Space::Output:
    return own->output.getAddress() + slice.offset();
  case fb::Space::Constant:
    return own->constant.getAddress() + slice.offset();
  case fb::Space::Arena:
    return arenaInUse.getAddress() + slice.offset();
  }
  return 0;
}

// Records and enqueues one command after the other, since the tensors' addresses are known only
// while they are there.
Expected<void> CudaDevice::preprocess(const BindOptions &options) {
  const fb::Program *program = plan.preprocess;
  if (!program || !program->commands())
    return {};
  SINTER_TRY(WeightLoader checkpoint,
             WeightLoader::open(*plan.executable, *program, options.weights,
                                options.seed.value_or(plan.executable->getRoot().seed())));
  use.checkpoint = checkpoint.getBytes();
  {
    DeviceMemory scratch;
    SINTER_CHECK(allocate(scratch, program->arena_bytes(), "preprocessing the weights"));
    UploadPlan uploads = UploadPlan::of(*plan.executable, program);
    CheckpointMemory there;
    CudaResolver resolver{[&](const fb::Slice &slice) { return address(slice, scratch, &there); },
                          *plan.executable, own->kernels, own->gemms, own->attentions};
    resolver.rank = communicator ? communicator->getRank() : 0;
    resolver.ranks = own->ranks.get();
    flatbuffers::uoffset_t count = program->commands()->size();
    for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
      const fb::Command &command = *program->commands()->Get(i);
      auto what = [&] { return nameOfCommand(*plan.executable, *program, i); };
      SINTER_CHECK(checkpoint.beforeCommand(*plan.pool, i));
      if (const fb::Slice *copied = copiedFromCheckpoint(command)) {
        std::span<const std::byte> source =
            checkpoint.content(copied->index()).subspan(copied->offset(), copied->bytes());
        SINTER_CHECK(
            named(own->transfer->upload(source, resolver.address(*command.action_as_Copy()->out())),
                  what));
      } else {
        for (uint32_t tensor : uploads.begins[i]) {
          std::span<const std::byte> content = checkpoint.content(tensor);
          SINTER_TRY(there[tensor], own->pool->allocate(content.size(), "a tensor of the weights"));
          SINTER_CHECK(named(own->transfer->upload(content, there[tensor].getAddress()), what));
        }
        SINTER_TRY(CudaProgram step, CudaProgram::record(*context, *program, i, i + 1, resolver));
        SINTER_CHECK(named(step.enqueueAlone(0), what));
        if (debug)
          SINTER_CHECK(named(context->wait(""), what));
        for (uint32_t tensor : uploads.ends[i])
          there.erase(tensor);
      }
      checkpoint.afterCommand(i);
      if (options.progress)
        options.progress(i + 1, count);
    }
  }
  SINTER_CHECK(context->wait(plan.executable->getName() + ": preprocessing the weights"));
  own->pool->trim();
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Expected<void> CudaDevice::carryIn(size_t program) const {
  uint64_t bytes = plan.programs[program].program->input_bytes();
  if (bytes == 0)
    return {};
  CUresult result = context->getApi().cuMemcpyHtoDAsync(
      own->input.getAddress(), own->inputMirror.getBytes().data(), bytes, context->getStream());
  return ofProgram(context->check(result, "its inputs"), program);
}

Expected<void> CudaDevice::carryOut(size_t program) const {
  uint64_t bytes = plan.programs[program].program->output_bytes();
  if (bytes == 0)
    return {};
  CUresult result = context->getApi().cuMemcpyDtoHAsync(
      own->outputMirror.getBytes().data(), own->output.getAddress(), bytes, context->getStream());
  return ofProgram(context->check(result, "its outputs"), program);
}

// Alone, or in a walk that began with command `begin`.
Expected<void> CudaDevice::enqueue(size_t program, size_t command,
                                   std::optional<size_t> begin) const {
  const auto &commands = *plan.programs[program].program->commands();
  const auto *label = commands.Get(static_cast<flatbuffers::uoffset_t>(command))->label();
  CudaRange range(label ? label->c_str() : "command");
  const CudaProgram &steps = own->programs[program].steps;
  return ofCommand(begin ? steps.enqueue(command, *begin, own->streams)
                         : steps.enqueueAlone(command),
                   program, command);
}

Expected<void> CudaDevice::enqueueAndWait(size_t program, size_t command) const {
  if (progress)
    progress->beginCommand(plan.programs[program].index, static_cast<uint32_t>(command));
  SINTER_CHECK(enqueue(program, command, std::nullopt));
  Expected<void> done = ofCommand(wait(), program, command);
  if (progress)
    progress->endProgram();
  return done;
}

// For what may hold collectives, which end only where all ranks take part.
Expected<void> CudaDevice::wait() const {
  return own->ranks ? own->ranks->wait() : context->wait("");
}

// The number of a program's commands where it changes none of these states.
size_t CudaDevice::findFirstChange(const fb::Program &program,
                                   const std::vector<std::string> &copiedStates) const {
  std::vector<fb::Slice> copied;
  if (const auto *states = plan.executable->getRoot().states())
    for (const fb::Binding *state : *states)
      if (std::ranges::find(copiedStates, state->name()->string_view()) != copiedStates.end())
        copied.push_back(*state->slice());
  auto overlap = [](const fb::Slice &a, const fb::Slice &b) {
    return a.space() == b.space() && a.offset() < b.offset() + b.bytes() &&
           b.offset() < a.offset() + a.bytes();
  };
  flatbuffers::uoffset_t count = program.commands() ? program.commands()->size() : 0;
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    bool changes = false;
    forEachWrittenSlice(*program.commands()->Get(i), [&](const fb::Slice &slice) {
      for (const fb::Slice &state : copied)
        changes |= overlap(slice, state);
    });
    if (changes)
      return i;
  }
  return count;
}

Expected<void> CudaDevice::waitForCopies() const {
  return own->copies ? own->copies->holdUp() : Expected<void>();
}

Expected<void> CudaDevice::waitForSends(size_t program) const {
  for (size_t sender : own->programs[program].senders)
    SINTER_CHECK(ofProgram(own->programs[sender].steps.awaitSends(context->getStream()), sender));
  return {};
}

Expected<void> CudaDevice::finishSends(size_t program) {
  CudaContext::Current current(*context);
  SINTER_CHECK(own->programs[program].steps.awaitSends(context->getStream()));
  return ofProgram(wait(), program);
}

// All that a run puts into the streams for a part of a program. It begins and ends in the context's
// stream; the first commands of all may stand behind a wait for copies, and no kernel of the part's
// graph stands before them: there is nothing to overlap with.
Expected<void> CudaDevice::walk(size_t program, const Part &part) const {
  const CudaProgram &steps = own->programs[program].steps;
  CudaProgram::Branches branches = steps.branches(part.begin, part.end);
  if (part.begin == 0)
    SINTER_CHECK(carryIn(program));
  SINTER_CHECK(ofProgram(own->streams.fork(branches.forked), program));
  for (size_t i = part.begin; i < part.end; ++i)
    SINTER_CHECK(enqueue(program, i, part.begin));
  SINTER_CHECK(ofProgram(own->streams.join(branches.joined), program));
  return part.end == steps.size() ? carryOut(program) : Expected<void>();
}

// Waits after each command, so that whatever goes wrong is that command's. What is read before it
// is written is NaN.
Expected<void> CudaDevice::walkWaiting(size_t program) const {
  SINTER_CHECK(carryIn(program));
  SINTER_CHECK(waitForCopies());
  if (use.arena != 0)
    SINTER_CHECK(context->check(context->getApi().cuMemsetD8Async(own->arena.getAddress(), 0xff,
                                                                  use.arena, context->getStream()),
                                nameOf(program)));
  for (size_t i = 0; i < own->programs[program].steps.size(); ++i)
    SINTER_CHECK(enqueueAndWait(program, i));
  return carryOut(program);
}

void CudaDevice::capture(size_t program) {
  own->programs[program].isCaptured = true;
  for (Part &part : own->programs[program].parts) {
    if (part.begin < part.end && !own->programs[program].steps.mayCapture(part.begin))
      continue;
    Expected<CudaGraph> graph = CudaGraph::capture(*context, [&] { return walk(program, part); });
    if (graph) {
      part.graph.emplace(std::move(*graph));
      continue;
    }
    captures = false;
    Error warning = std::move(graph).error();
    warning.remedy = "every step is launched command by command, which takes longer";
    return warn(warning);
  }
}

void CudaDevice::warn(const Error &warning) const {
  if (onWarning)
    onWarning(warning);
  else
    std::fprintf(stderr, "warning: %s\n", warning.message().c_str());
}

// The first run is a walk: kernels and libraries load their code when they are first launched,
// which a capture does not allow. Of several ranks it waits after each command: loading code may
// wait for all that the GPU does, and must find no collective there that waits for other ranks.
Expected<void> CudaDevice::run(size_t program) {
  CudaContext::Current current(*context);
  CudaRange range(plan.programs[program].program->name()->c_str());
  BoundProgram &bound = own->programs[program];
  SINTER_CHECK(waitForSends(program));
  if (debug || (own->ranks && !bound.hasRun)) {
    SINTER_CHECK(walkWaiting(program));
  } else {
    for (const Part &part : bound.parts) {
      if (part.begin == bound.firstChange)
        SINTER_CHECK(waitForCopies());
      SINTER_CHECK(part.graph ? ofProgram(part.graph->enqueue(), program) : walk(program, part));
    }
  }
  SINTER_CHECK(ofProgram(wait(), program));
  bound.hasRun = true;
  if (captures && !bound.isCaptured)
    capture(program);
  return {};
}

Expected<void> CudaDevice::makeEvents(BoundProgram &bound) const {
  while (bound.events.size() <= bound.steps.size()) {
    SINTER_TRY(CudaEvent event, CudaEvent::create(*context, /*timed=*/true));
    bound.events.push_back(std::move(event));
  }
  return {};
}

// The GPU times its commands, the processor the run, which also has the copies of inputs and
// outputs in it: these are the time between commands.
Expected<void> CudaDevice::run(size_t program, Trace &trace) {
  CudaContext::Current current(*context);
  BoundProgram &bound = own->programs[program];
  SINTER_CHECK(makeEvents(bound));
  uint32_t index = plan.programs[program].index;
  int64_t begin = Trace::now();
  SINTER_CHECK(waitForSends(program));
  SINTER_CHECK(waitForCopies());
  SINTER_CHECK(carryIn(program));
  SINTER_CHECK(bound.events[0].record());
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    SINTER_CHECK(enqueue(program, i, std::nullopt));
    SINTER_CHECK(bound.events[i + 1].record());
    if (own->ranks && !bound.hasRun)
      SINTER_CHECK(ofCommand(wait(), program, i)); // as in the first of all runs
  }
  SINTER_CHECK(carryOut(program));
  SINTER_CHECK(ofProgram(wait(), program));
  bound.hasRun = true;
  int64_t end = Trace::now(), last = begin;
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    SINTER_TRY(float milliseconds, bound.events[i + 1].millisecondsSince(bound.events[i]));
    // The two clocks need not agree to the last digit.
    int64_t until = std::min<int64_t>(last + std::llround(double(milliseconds) * 1e6), end);
    trace.add({index, static_cast<uint32_t>(i), last, until});
    last = until;
  }
  trace.add({index, TraceEvent::wholeRun, begin, end});
  return {};
}

Expected<void> CudaDevice::start(size_t program) {
  CudaContext::Current current(*context);
  SINTER_CHECK(waitForSends(program));
  SINTER_CHECK(waitForCopies());
  return carryIn(program);
}

Expected<void> CudaDevice::runCommand(size_t program, size_t command) {
  CudaContext::Current current(*context);
  return enqueueAndWait(program, command);
}

Expected<void> CudaDevice::read(const fb::Slice &slice, std::span<std::byte> out) const {
  CudaContext::Current current(*context);
  return named(own->transfer->download(address(slice, own->arena, nullptr), out),
               [&] { return plan.executable->getName(); });
}

Expected<void> CudaDevice::write(const fb::Slice &slice, std::span<const std::byte> bytes) {
  CudaContext::Current current(*context);
  SINTER_CHECK(waitForCopies());
  return named(own->transfer->upload(bytes, address(slice, own->arena, nullptr)),
               [&] { return plan.executable->getName(); });
}

// What is not in the memory for it would stop the steps, so it is waited for.
Expected<void> CudaDevice::beginCopies(std::span<const SliceCopy> copies) {
  CudaContext::Current current(*context);
  std::span<std::byte> there = own->copies ? own->copies->getMemory() : std::span<std::byte>();
  auto isThere = [&](std::span<std::byte> out) {
    return out.data() >= there.data() && out.data() + out.size() <= there.data() + there.size();
  };
  std::vector<CudaCopies::Copy> begun;
  for (const SliceCopy &copy : copies) {
    if (isThere(copy.out))
      begun.push_back({address(copy.slice, own->arena, nullptr), copy.out});
    else
      SINTER_CHECK(read(copy.slice, copy.out));
  }
  return begun.empty() ? Expected<void>() : own->copies->begin(begun);
}

Expected<void> CudaDevice::finishCopies() const {
  CudaContext::Current current(*context);
  return own->copies ? own->copies->finish() : Expected<void>();
}

std::span<std::byte> CudaDevice::copyMemory(uint64_t bytes) {
  CudaContext::Current current(*context);
  if (!own->copies)
    return {};
  if (Expected<void> taken = own->copies->allocate(bytes); !taken) {
    Error warning = std::move(taken).error();
    warning.remedy = "steps wait for every copy of the states";
    warn(warning);
  }
  return own->copies->getMemory();
}

Expected<void> CudaDevice::clearState() {
  if (use.state == 0)
    return {};
  CudaContext::Current current(*context);
  SINTER_CHECK(waitForCopies());
  return context->check(context->getApi().cuMemsetD8Async(own->state.getAddress(), 0, use.state,
                                                          context->getStream()),
                        plan.executable->getName() + ": clearing its states");
}

} // namespace

Expected<std::unique_ptr<Device>> createCudaDevice(DevicePlan plan, Communicator *ranks) {
  int gpu = 0;
  if (ranks && ranks->size() > 1) {
    SINTER_TRY(gpu, chooseGpu(*ranks));
  }
  SINTER_TRY(std::unique_ptr<CudaContext> context, CudaContext::open(gpu));
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(std::move(plan), std::move(context), ranks));
}

} // namespace sinter::runtime::cuda
