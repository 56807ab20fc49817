#include "runtime/Device/Cpu/Recording.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/Actions.h"
#include <algorithm>
#include <cassert>
#include <cstring>

namespace sinter::runtime {
namespace {

// A launch that is predicted to be shorter than this costs more to share out than to do.
constexpr uint64_t inlineBelowNs = 2000;
// What a thread claims at a time, where that is several items: claims cost some 0.1 us, and whoever
// claims last is waited for.
constexpr uint64_t claimNs = 10'000;
constexpr uint64_t recordedPiece = 256 << 10;

template <typename Fn> void overPieces(ThreadPool &pool, uint64_t bytes, Fn fn) {
  pool.run(bytes, recordedPiece, fn);
}

class Recorder {
public:
  Recorder(const Resolver &resolver, Recording &recording)
      : resolver(resolver), recording(recording) {}

  void add(const fb::Command &command) {
    visitAction(command, [&](const auto &action) { add(action, command); });
  }

private:
  const Resolver &resolver;
  Recording &recording;

  std::byte *address(const fb::Slice *slice) const { return resolver.address(*slice); }
  std::span<std::byte> bytes(const fb::Slice &slice) const {
    return {resolver.address(slice), slice.bytes()};
  }

  void add(const fb::Launch &launch, const fb::Command &command) {
    LaunchStep step;
    step.kernel = resolver.kernels[launch.kernel()];
    step.firstSlice = recording.slices.size();
    step.grid = launch.grid();
    step.chunk = chunkOf(step.grid, command.predicted_ns());
    if (launch.slices())
      for (flatbuffers::uoffset_t i = 0; i < launch.slices()->size(); ++i)
        recording.slices.push_back(address(launch.slices()->Get(i)));
    recording.steps.emplace_back(step);
  }

  /// Items that a thread claims at a time of a launch that is predicted to take so long, if known.
  uint64_t chunkOf(uint64_t grid, uint64_t predictedNs) const {
    uint64_t balanced = resolver.pool.balancedChunk(grid);
    if (predictedNs == 0)
      return balanced;
    if (predictedNs < inlineBelowNs)
      return std::max<uint64_t>(grid, 1);
    uint64_t itemsOfClaim = claimNs * grid / (predictedNs * resolver.pool.size());
    return std::clamp<uint64_t>(itemsOfClaim, 1, balanced);
  }

  void add(const fb::Pack &pack, const fb::Command &) {
    PackStep step;
    step.layout = panelsOf(pack);
    step.out = address(pack.out());
    for (const fb::PackSource *source : *pack.sources())
      step.sources.push_back({address(source->slice()), static_cast<DType>(source->dtype()),
                              source->n(), source->stride(), source->transposed()});
    recording.steps.emplace_back(std::move(step));
  }

  void add(const fb::Copy &copy, const fb::Command &) {
    recording.steps.emplace_back(CopyStep{address(copy.source()), bytes(*copy.out())});
  }

  void add(const fb::Fill &fill, const fb::Command &) {
    recording.steps.emplace_back(FillStep{bytes(*fill.out()), fill.value()});
  }

  void add(const fb::Collective &collective, const fb::Command &) {
    CollectiveStep step;
    step.kind = collective.kind();
    step.dtype = static_cast<DType>(collective.dtype());
    step.communicator = resolver.communicator;
    std::span<const uint32_t> axes(collective.axes()->data(), collective.axes()->size());
    step.group =
        findGroup(resolver.executable, axes, step.communicator ? step.communicator->getRank() : 0);
    step.source = bytes(*collective.source());
    step.out = bytes(*collective.out());
    recording.steps.emplace_back(std::move(step));
  }

  void add(const fb::Send &send, const fb::Command &) {
    Communicator *communicator = resolver.communicator;
    recording.steps.emplace_back(SendStep{
        communicator, findRankOfStage(resolver.executable, send.stage(), communicator->getRank()),
        send.channel(), bytes(*send.source())});
  }

  void add(const fb::Receive &receive, const fb::Command &) {
    Communicator *communicator = resolver.communicator;
    recording.steps.emplace_back(
        ReceiveStep{communicator,
                    findRankOfStage(resolver.executable, receive.stage(), communicator->getRank()),
                    receive.channel(), bytes(*receive.out())});
  }

  void add(const fb::Gemm &, const fb::Command &) { refuseLibrary(); }
  void add(const fb::Attention &, const fb::Command &) { refuseLibrary(); }
  void refuseLibrary() const {
    assert(false && "a library's command is for GPUs, which the verifier knows");
  }
};

struct Runner {
  const Recording &recording;
  ThreadPool &pool;

  Expected<void> operator()(const LaunchStep &step) const {
    void *const *slices = recording.slices.data() + step.firstSlice;
    pool.run(step.grid, step.chunk, [&](uint64_t begin, uint64_t end) {
      step.kernel(slices, static_cast<int64_t>(begin), static_cast<int64_t>(end));
    });
    return {};
  }
  Expected<void> operator()(const PackStep &step) const {
    pack(pool, step.layout, step.sources, step.out);
    return {};
  }
  Expected<void> operator()(const CopyStep &step) const {
    overPieces(pool, step.out.size(), [&](uint64_t begin, uint64_t end) {
      std::memcpy(step.out.data() + begin, step.source + begin, end - begin);
    });
    return {};
  }
  Expected<void> operator()(const FillStep &step) const {
    overPieces(pool, step.out.size(), [&](uint64_t begin, uint64_t end) {
      std::memset(step.out.data() + begin, step.value, end - begin);
    });
    return {};
  }
  Expected<void> operator()(const CollectiveStep &step) const {
    if (step.kind == fb::CollectiveKind::AllSlice || step.group.size() == 1)
      return (*this)(CopyStep{step.source.data() + step.group.place * step.out.size(), step.out});
    switch (step.kind) {
    case fb::CollectiveKind::AllGather:
      return step.communicator->allGather(step.group, step.source, step.out);
    case fb::CollectiveKind::AllToAll:
      return step.communicator->allToAll(step.group, step.source, step.out);
    case fb::CollectiveKind::AllReduce:
      return step.communicator->allReduce(step.group, step.source, step.out, step.dtype);
    case fb::CollectiveKind::AllSlice:
      break;
    }
    return {};
  }
  Expected<void> operator()(const SendStep &step) const {
    return step.communicator->send(step.rank, step.channel, step.source);
  }
  Expected<void> operator()(const ReceiveStep &step) const {
    return step.communicator->receive(step.rank, step.channel, step.out);
  }
};

} // namespace

Expected<void> Recording::finishSends() const {
  for (const Step &step : steps)
    if (const auto *send = std::get_if<SendStep>(&step))
      SINTER_CHECK(send->communicator->finishSend(send->source));
  return {};
}

Expected<void> Recording::runStep(size_t index, ThreadPool &pool) const {
  return std::visit(Runner{*this, pool}, steps[index]);
}

Recording record(const fb::Program &program, const Resolver &resolver) {
  Recording recording;
  if (!program.commands())
    return recording;
  recording.steps.reserve(program.commands()->size());
  Recorder recorder(resolver, recording);
  for (const fb::Command *command : *program.commands())
    recorder.add(*command);
  if (std::ranges::any_of(*program.commands(),
                          [](const fb::Command *command) { return command->stream() != 0; }))
    for (const fb::Command *command : *program.commands()) {
      if (command->stream() != 0)
        recording.lastCollective = recording.order.size();
      Recording::Order &order = recording.order.emplace_back();
      order.stream = command->stream();
      if (command->waits())
        order.waits.assign(command->waits()->begin(), command->waits()->end());
    }
  return recording;
}

} // namespace sinter::runtime
