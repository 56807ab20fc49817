//===- Simulation.h - A step of all ranks, as events ------------*- C++ -*-===//
//
// Plays what each rank does, task after task: computing takes a known time; a collective begins
// when the last rank of its group is there and ends for all of them alike. Ranks may have programs
// of their own. Tasks of one stream follow each other, those of others run beside them, as commands
// of an executable do (Command in runtime/Format/Executable.fbs):
//
//   rank 0  | compute |  wait  | gather |  compute  |
//   rank 1  |    compute       | gather |  compute  |
//                              ^ all are there
//
// Transfers of several streams that move bytes over the same links at a time share them: where what
// they need of a link adds up to more than it has, all get as much slower. Over links of their own
// (Cluster.h says which these are) they take as long as alone.
//
// Time that a rank spends on nothing but moving bytes is exposed communication; what is left, the
// time that it waits for others, is the bubble.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Cluster/Cluster.h"
#include <functional>
#include <optional>

namespace sinter::runtime {

/// A collective among the rank's group of index `group`.
struct Transfer {
  fb::CollectiveKind kind = fb::CollectiveKind::AllGather;
  uint32_t group = 0;
  uint64_t bytes = 0; ///< the larger one of source and result
};

/// A message between the stages of a pipeline. Who sends goes on; who receives waits for it, and
/// only then it moves: neither MPI nor NCCL need have room for what nobody receives yet.
struct Message {
  bool receives = false;
  uint32_t stage = 0; ///< of the other rank
  uint32_t channel = 0;
  uint32_t group = 0; ///< that its bytes are counted with
  uint64_t bytes = 0;
};

/// Computing, a collective or a message.
struct Task {
  double seconds = 0; ///< of computing
  std::optional<Transfer> transfer;
  std::optional<Message> message;
  uint32_t name = 0; ///< what it is, for people: an index of the caller's
  uint32_t stream = 0;
  std::vector<uint32_t> waits; ///< indices of earlier tasks of other streams
};

using TaskList = std::vector<Task>;

/// What a rank does, one list after the other, each from when all of the one before is done.
struct SimulatedRank {
  std::vector<const TaskList *> lists;
  std::vector<RankGroup> groups;   ///< as many on all ranks, of the same meaning
  std::vector<size_t> stages = {}; ///< the rank that this one reaches each stage of a pipeline at
  /// Whether its collectives begin in the order of a list, whatever streams they are in, which NCCL
  /// is asked for (NcclRanks.h).
  bool beginsInOrder = false;
};

enum class SpanKind : uint8_t { Compute, Transfer, Wait };

/// What a rank was at for a while, in seconds since the step began.
struct Span {
  double begin = 0, end = 0;
  SpanKind kind = SpanKind::Compute;
  uint32_t name = 0; ///< of its tasks, which follow each other and are alike in it
  uint32_t group = 0;
};

/// A rank's step. The parts add up to `seconds` of the step.
struct RankTime {
  double compute = 0;
  std::vector<double> exposed; ///< by group
  double wait = 0;             ///< for other ranks
  std::vector<uint64_t> sent;  ///< bytes, by group
  std::vector<Span> spans;     ///< in order; empty where they were not asked for
};

struct StepTime {
  double seconds = 0;
  std::vector<RankTime> ranks;
};

/// Chooses ranks by their times.
using ChooseRanks = std::function<std::vector<size_t>(const StepTime &)>;

/// Plays a step. Fails where ranks would wait for each other for ever; the error names two of them.
/// @param recorded ranks that spans are kept of
Expected<StepTime> simulate(const Cluster &cluster, std::span<const SimulatedRank> ranks,
                            const ChooseRanks &recorded = {});

} // namespace sinter::runtime
