#include "runtime/Device/Cuda/CudaProgram.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/Actions.h"
#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace sinter::runtime::cuda {
namespace {

// Calls `fn` with the action of one alternative of doing a command: 0 for its own, else an
// alternative's.
template <typename Fn>
auto visitAlternative(const fb::Command &command, size_t alternative, Fn fn) {
  if (alternative == 0)
    return visitAction(command, fn);
  return visitAction(
      *command.alternatives()->Get(static_cast<flatbuffers::uoffset_t>(alternative - 1)), fn);
}

size_t countAlternatives(const fb::Command &command) {
  return 1 + (command.alternatives() ? command.alternatives()->size() : 0);
}

std::string nameOf(const fb::Executable &root, const fb::Launch &launch) {
  return "kernel '" + root.kernels()->Get(launch.kernel())->name()->str() + "'";
}

std::string nameOf(const fb::Executable &, const fb::Gemm &) { return "the library's product"; }
std::string nameOf(const fb::Executable &, const fb::Attention &) {
  return "the library's attention";
}
template <typename Action> std::string nameOf(const fb::Executable &, const Action &) {
  return fb::EnumNameAction(fb::ActionTraits<Action>::enum_value);
}

// What a choice between this alternative and others depends on. How fast a kernel is depends on its
// code, which its source stands for, and on how much it is launched for.
std::string describe(const CudaResolver &resolver, const fb::Launch &launch) {
  const fb::Executable &root = resolver.executable.getRoot();
  const fb::Kernel &kernel = *root.kernels()->Get(launch.kernel());
  const fb::KernelProgram &program = *root.kernel_programs()->Get(kernel.program());
  ContentHash source;
  source.add(program.source()->string_view());
  std::string text = kernel.name()->str() + ' ' + source.hex() + ' ' +
                     std::to_string(kernel.block()) + ' ' + std::to_string(kernel.shared_bytes()) +
                     ' ' + std::to_string(launch.grid());
  if (launch.slices())
    for (flatbuffers::uoffset_t i = 0; i < launch.slices()->size(); ++i)
      text += ' ' + std::to_string(launch.slices()->Get(i)->bytes());
  return text;
}

std::string describe(const CudaResolver &resolver, const fb::Gemm &gemm) {
  return resolver.gemms.describe(gemm);
}

std::string describe(const CudaResolver &resolver, const fb::Attention &attention) {
  return resolver.attentions.describe(attention);
}

std::string describe(const CudaResolver &, const fb::Send &send) {
  return "Send " + std::to_string(send.source()->bytes());
}

template <typename Action> std::string describe(const CudaResolver &, const Action &action) {
  return fb::EnumNameAction(fb::ActionTraits<Action>::enum_value) + std::string(" ") +
         std::to_string(action.out()->bytes());
}

// Memory that steps write is zeros: what other alternatives left there may be no index and no
// length.
Expected<void> clearOperands(const CudaContext &context, const fb::Command &command,
                             const CudaResolver &resolver) {
  Expected<void> cleared;
  forEachSlice(command, [&](const fb::Slice &slice) {
    bool ofSteps = slice.space() != fb::Space::Parameter && slice.space() != fb::Space::Constant &&
                   slice.space() != fb::Space::Checkpoint;
    if (ofSteps && slice.bytes() != 0 && cleared)
      cleared = context.check(context.getApi().cuMemsetD8Async(resolver.address(slice), 0,
                                                               slice.bytes(), context.getStream()),
                              "clearing what is tried on");
  });
  return cleared;
}

} // namespace

Expected<CudaProgram> CudaProgram::record(const CudaContext &context, const fb::Program &program,
                                          size_t begin, size_t end, const CudaResolver &resolver) {
  CudaProgram result(context);
  result.steps.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const fb::Command &command = *program.commands()->Get(static_cast<flatbuffers::uoffset_t>(i));
    auto add = [&](size_t alternative) {
      result.chosen.push_back(alternative);
      return visitAlternative(command, alternative,
                              [&](const auto &action) { return result.add(action, resolver); });
    };
    auto order = [&] { return result.order(command, begin, resolver); };
    if (Expected<void> added = result.choose(command, resolver).and_then(add).and_then(order);
        !added) {
      Error error = std::move(added).error();
      error.what = nameOfCommand(resolver.executable, program, i) +
                   (error.what.empty() ? "" : ": ") + error.what;
      return tl::unexpected(std::move(error));
    }
  }
  for (Step &step : result.steps)
    if (auto *launch = std::get_if<LaunchStep>(&step.action))
      launch->overlaps = resolver.overlaps && launch->kernel.waits && result.mayOverlap(step);
  result.bindArguments();
  return result;
}

// Puts the last step into its stream, behind what it waits for.
Expected<void> CudaProgram::order(const fb::Command &command, size_t begin,
                                  const CudaResolver &resolver) {
  Step &step = steps.back();
  step.stream = command.stream();
  if (command.waits())
    for (uint32_t other : *command.waits())
      if (other >= begin)
        step.waits.push_back(static_cast<uint32_t>(other - begin));
  if (std::holds_alternative<CollectiveStep>(step.action)) {
    std::optional<size_t> before = std::exchange(lastCollective, steps.size() - 1);
    if (before && steps[*before].stream != step.stream && !resolver.ranks->isOrdered() &&
        std::ranges::find(step.waits, *before) == step.waits.end())
      step.waits.push_back(static_cast<uint32_t>(*before));
  }
  for (uint32_t other : step.waits)
    if (std::optional<CudaEvent> &done = steps[other].done; !done) {
      SINTER_TRY(CudaEvent event, CudaEvent::create(*context, /*timed=*/false));
      done.emplace(std::move(event));
    }
  last.resize(std::max<size_t>(last.size(), step.stream + 1));
  step.before = std::exchange(last[step.stream], steps.size() - 1);
  return {};
}

// Whether a launch stands right behind another.
bool CudaProgram::mayOverlap(const Step &step) const {
  if (!step.before || !step.waits.empty() || steps[*step.before].done)
    return false;
  const auto *before = std::get_if<LaunchStep>(&steps[*step.before].action);
  return before && before->grid != 0;
}

// The arguments do not move any more.
void CudaProgram::bindArguments() {
  for (CUdeviceptr &argument : arguments)
    parameters.push_back(&argument);
}

// The fastest alternative of doing a command of those that this GPU and the libraries here can.
Expected<size_t> CudaProgram::choose(const fb::Command &command,
                                     const CudaResolver &resolver) const {
  if (!resolver.tuner || countAlternatives(command) == 1)
    return 0;
  CudaProgram tried(*context);
  std::vector<size_t> possible; // the alternatives that are steps of `tried`
  std::vector<Tuner::Alternative> alternatives;
  std::string problem;
  std::optional<Error> refused;
  for (size_t alternative = 0; alternative < countAlternatives(command); ++alternative)
    visitAlternative(command, alternative, [&](const auto &action) {
      if (Expected<void> added = tried.add(action, resolver); !added) {
        refused = refused ? *refused : std::move(added).error();
        return;
      }
      alternatives.push_back(
          {nameOf(resolver.executable.getRoot(), action),
           [&tried, step = possible.size()] { return tried.enqueueAlone(step); }});
      possible.push_back(alternative);
      problem += describe(resolver, action) + '\n';
    });
  if (alternatives.empty())
    return tl::unexpected(*refused);
  tried.bindArguments();
  SINTER_TRY(size_t fastest, resolver.tuner->choose(problem, alternatives, [&] {
    return clearOperands(*context, command, resolver);
  }));
  return possible[fastest];
}

Expected<void> CudaProgram::add(const fb::Launch &launch, const CudaResolver &resolver) {
  steps.push_back({LaunchStep{resolver.kernels[launch.kernel()],
                              static_cast<unsigned>(launch.grid()), arguments.size(),
                              /*overlaps=*/false}});
  if (launch.slices())
    for (flatbuffers::uoffset_t i = 0; i < launch.slices()->size(); ++i)
      arguments.push_back(resolver.address(*launch.slices()->Get(i)));
  return {};
}

Expected<void> CudaProgram::add(const fb::Gemm &gemm, const CudaResolver &resolver) {
  SINTER_TRY(LtGemm bound, resolver.gemms.bind(gemm, resolver.address, resolver.tuner));
  steps.push_back({std::move(bound)});
  return {};
}

Expected<void> CudaProgram::add(const fb::Attention &attention, const CudaResolver &resolver) {
  SINTER_TRY(CudnnAttention bound, resolver.attentions.bind(attention, resolver.address));
  steps.push_back({std::move(bound)});
  return {};
}

Expected<void> CudaProgram::add(const fb::Copy &copy, const CudaResolver &resolver) {
  steps.push_back({CopyStep{resolver.address(*copy.source()), resolver.address(*copy.out()),
                            copy.out()->bytes()}});
  return {};
}

Expected<void> CudaProgram::add(const fb::Fill &fill, const CudaResolver &resolver) {
  steps.push_back({FillStep{resolver.address(*fill.out()), fill.out()->bytes(), fill.value()}});
  return {};
}

// What sends nothing is a copy of this rank's part.
Expected<void> CudaProgram::add(const fb::Collective &collective, const CudaResolver &resolver) {
  std::span<const uint32_t> axes(collective.axes()->data(), collective.axes()->size());
  RankGroup group = findGroup(resolver.executable.getRoot(), axes, resolver.rank);
  CUdeviceptr source = resolver.address(*collective.source()),
              out = resolver.address(*collective.out());
  uint64_t bytes = collective.out()->bytes();
  if (collective.kind() == fb::CollectiveKind::AllSlice || group.size() == 1) {
    steps.push_back({CopyStep{source + group.place * bytes, out, bytes}});
    return {};
  }
  SINTER_TRY(NcclCollective bound, resolver.ranks->bind(collective, group, source, out));
  steps.push_back({CollectiveStep{resolver.ranks, bound}});
  return {};
}

Expected<void> CudaProgram::add(const fb::Send &send, const CudaResolver &resolver) {
  NcclMessage message = resolver.ranks->bindMessage(
      send.channel(), resolver.address(*send.source()), send.source()->bytes());
  SINTER_TRY(CudaEvent sent, CudaEvent::create(*context, /*timed=*/false));
  steps.push_back({SendStep{resolver.ranks, message, std::move(sent)}});
  return {};
}

Expected<void> CudaProgram::add(const fb::Receive &receive, const CudaResolver &resolver) {
  NcclMessage message = resolver.ranks->bindMessage(
      receive.channel(), resolver.address(*receive.out()), receive.out()->bytes());
  steps.push_back({ReceiveStep{resolver.ranks, message}});
  return {};
}

Expected<void> CudaProgram::add(const fb::Pack &, const CudaResolver &) {
  assert(false && "packing is for processors, which the verifier knows");
  return {};
}

CudaProgram::Branches CudaProgram::branches(size_t begin, size_t end) const {
  std::vector<std::optional<size_t>> first(getStreams()), final(getStreams());
  for (size_t i = begin; i < end; ++i) {
    uint32_t stream = steps[i].stream;
    if (!first[stream])
      first[stream] = i;
    final[stream] = i;
  }
  auto isOfWalk = [&](uint32_t other) { return other >= begin; };
  auto isJoined = [&](size_t command) {
    return std::any_of(steps.begin() + command, steps.begin() + end, [&](const Step &step) {
      return step.stream == 0 && std::ranges::find(step.waits, command) != step.waits.end();
    });
  };
  Branches result;
  for (uint32_t stream = 1; stream < getStreams(); ++stream) {
    if (!first[stream])
      continue;
    if (std::ranges::none_of(steps[*first[stream]].waits, isOfWalk))
      result.forked.push_back(stream);
    if (!isJoined(*final[stream]))
      result.joined.push_back(stream);
  }
  return result;
}

CUresult CudaProgram::launch(const LaunchStep &step, CUstream stream, bool overlaps) const {
  if (step.grid == 0)
    return CUDA_SUCCESS;
  // The driver reads the pointers and what they point to, and changes neither.
  void **own = const_cast<void **>(parameters.data()) + step.firstArgument;
  auto function = reinterpret_cast<CUfunction>(step.kernel.handle);
  if (!overlaps)
    return context->getApi().cuLaunchKernel(function, step.grid, 1, 1, step.kernel.block, 1, 1,
                                            step.kernel.sharedBytes, stream, own, nullptr);
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = step.grid;
  config.blockDimX = step.kernel.block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = step.kernel.sharedBytes;
  config.hStream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return context->getApi().cuLaunchKernelEx(&config, function, own, nullptr);
}

Expected<void> CudaProgram::enqueue(size_t command, size_t begin,
                                    const CudaStreams &streams) const {
  const Step &step = steps[command];
  CUstream stream = streams[step.stream];
  for (uint32_t other : step.waits)
    if (other >= begin) // what is of an earlier part is done
      SINTER_CHECK(steps[other].done->holdUp(stream));
  SINTER_CHECK(enqueue(step, stream, /*overlaps=*/step.before && *step.before >= begin));
  return step.done ? step.done->record(stream) : Expected<void>();
}

bool CudaProgram::mayCapture(size_t command) const {
  const auto *receive = std::get_if<ReceiveStep>(&steps[command].action);
  return !std::holds_alternative<SendStep>(steps[command].action) &&
         (!receive || receive->message.link->communicator);
}

Expected<void> CudaProgram::awaitSends(CUstream stream) const {
  for (const Step &step : steps)
    if (const auto *send = std::get_if<SendStep>(&step.action))
      SINTER_CHECK(send->sent.holdUp(stream));
  return {};
}

Expected<void> CudaProgram::rehearse(const fb::Program &program,
                                     const CudaResolver &resolver) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto &action = steps[i].action;
    if (std::holds_alternative<CollectiveStep>(action) ||
        std::holds_alternative<SendStep>(action) || std::holds_alternative<ReceiveStep>(action))
      continue;
    SINTER_CHECK(clearOperands(
        *context, *program.commands()->Get(static_cast<flatbuffers::uoffset_t>(i)), resolver));
    SINTER_CHECK(enqueueAlone(i));
  }
  return {};
}

Expected<void> CudaProgram::enqueueAlone(size_t command) const {
  return enqueue(steps[command], context->getStream(), /*overlaps=*/false);
}

Expected<void> CudaProgram::enqueue(const Step &step, CUstream stream, bool overlaps) const {
  const CudaApi &api = context->getApi();
  if (const auto *gemm = std::get_if<LtGemm>(&step.action))
    return gemm->enqueue(stream);
  if (const auto *attention = std::get_if<CudnnAttention>(&step.action))
    return attention->enqueue(stream);
  if (const auto *moved = std::get_if<CollectiveStep>(&step.action))
    return moved->ranks->enqueue(moved->collective, stream);
  if (const auto *send = std::get_if<SendStep>(&step.action))
    return send->ranks->send(send->message, stream, send->sent);
  if (const auto *receive = std::get_if<ReceiveStep>(&step.action))
    return receive->ranks->receive(receive->message, stream);
  CUresult result = CUDA_SUCCESS;
  if (const auto *kernel = std::get_if<LaunchStep>(&step.action))
    result = launch(*kernel, stream, overlaps && kernel->overlaps);
  else if (const auto *copy = std::get_if<CopyStep>(&step.action); copy && copy->bytes != 0)
    result = api.cuMemcpyDtoDAsync(copy->out, copy->source, copy->bytes, stream);
  else if (const auto *fill = std::get_if<FillStep>(&step.action); fill && fill->bytes != 0)
    result = api.cuMemsetD8Async(fill->out, fill->value, fill->bytes, stream);
  return context->check(result, "");
}

std::string nameOfCommand(const Executable &executable, const fb::Program &program, size_t command,
                          size_t alternative) {
  const fb::Command &named = *program.commands()->Get(static_cast<flatbuffers::uoffset_t>(command));
  std::string text = executable.getName() + ": program '" + program.name()->str() + "', command " +
                     std::to_string(command);
  std::string label = named.label() ? named.label()->str() : "";
  if (named.layer() && named.layer()->size() != 0)
    label += (label.empty() ? "" : ", ") + named.layer()->str();
  if (!label.empty())
    text += " (" + label + ")";
  visitAlternative(named, alternative, [&]<typename Action>(const Action &action) {
    if constexpr (std::is_same_v<Action, fb::Launch>)
      text += ", " + nameOf(executable.getRoot(), action);
  });
  return text;
}

} // namespace sinter::runtime::cuda
