//===- RankReport.h - What each rank was at, from traces --------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Trace/ChromeTrace.h"

namespace sinter::runtime {

/// Where a rank's time went.
struct RankShare {
  int64_t computeNs = 0;
  int64_t waitNs = 0;              ///< for the last rank to come to a collective, or to send
  std::vector<int64_t> transferNs; ///< moving bytes, by group
  std::vector<uint64_t> sentBytes; ///< by group
};

/// What all ranks were at, and who moved bytes to whom.
struct RankReport {
  std::vector<std::string>
      groups; ///< axes that ranks move bytes along: "data", "data,tensor", "pipeline"
  std::vector<RankShare> ranks;
  /// From the last rank that came to a collective to the others, and from who sent to who waited.
  std::vector<TraceArrow> arrows;
  size_t slowest = 0; ///< the rank that computed the longest
};

/// Reads it off the traces of all ranks of an executable, which hold the same runs.
RankReport reportRanks(std::span<const Trace> ranks, const Executable &executable);

/// The traces of all ranks, on each of them. On several machines their clocks are taken to agree at
/// the end of a barrier.
/// @param oneClock all ranks are on one machine
Expected<std::vector<Trace>> gatherTraces(Communicator &communicator, const Trace &own,
                                          bool oneClock);

} // namespace sinter::runtime
