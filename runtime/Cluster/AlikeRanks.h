//===- AlikeRanks.h - Ranks that do the same at the same times --*- C++ -*-===//
//
// Most ranks of a grid do what others do, at the same times: they run the same lists, meet ranks
// that are alike, and as much goes over their links. Of them one plays for all in a simulation. Who
// is alike is found by refinement: at first all that run the same lists are, then those part that
// differ in which kinds of ranks they meet or in what goes over their links, until none part. As
// everything goes by when the last of a group comes and by the fullest link of a transfer, those
// left together do not differ in anything.
//
//   islands of two     (0 1) (2 3) (4 5)
//   groups of three    {0 1 2} {3 4 5}
//   alike              0, 1, 4, 5, which have a neighbour in their island; 2, 3, which have none
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Cluster/Simulation.h"

namespace sinter::runtime {

/// By rank, the first one that is like it.
std::vector<size_t> findAlikeRanks(const Cluster &cluster, std::span<const SimulatedRank> ranks);

} // namespace sinter::runtime
