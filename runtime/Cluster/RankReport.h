//===- RankReport.h - What each rank was at, from traces --------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Trace/ChromeTrace.h"

namespace sinter::runtime {

/// Where a rank's time went.
struct RankShare {
  int64_t computeNs = 0;
  int64_t waitNs = 0;              ///< in collectives, for the last rank to come
  std::vector<int64_t> transferNs; ///< moving bytes, by group
  std::vector<uint64_t> sentBytes; ///< by group
};

/// What all ranks were at, and who moved bytes to whom.
struct RankReport {
  std::vector<std::string>
      groups; ///< axes that ranks have collectives along: "data", "data,tensor"
  std::vector<RankShare> ranks;
  std::vector<TraceArrow> arrows; ///< from the last rank that came to a collective to the others
  size_t slowest = 0;             ///< the rank that computed the longest
};

/// Reads it off the traces of all ranks of an executable, which hold the same runs.
RankReport reportRanks(std::span<const Trace> ranks, const Executable &executable);

/// The traces of all ranks, on each of them. On several machines their clocks are taken to agree at
/// the end of a barrier.
/// @param oneClock all ranks are on one machine
Expected<std::vector<Trace>> gatherTraces(Communicator &communicator, const Trace &own,
                                          bool oneClock);

} // namespace sinter::runtime
