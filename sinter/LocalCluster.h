//===- LocalCluster.h - This machine as a cluster ---------------*- C++ -*-===//
#pragma once

#include "runtime/Cluster/Cluster.h"
#include "runtime/Collective/Communicator.h"
#include "sinter/RunOptions.h"

namespace sinter {

/// What steps are predicted on: the cluster of this name or file; without one, the devices of
/// `target` that this machine is taken for.
/// - A processor: `ranks` ranks that share it. Of what measureCluster() has found and kept all is
///   measured; before, the rates alone are, and links and efficiency are guesses that say so.
/// - A GPU: one by its data sheet. Fails for several, since nothing says how they are linked.
Expected<runtime::Cluster> findCluster(const std::string &nameOrFile, const std::string &target,
                                       size_t ranks);

/// Measures the ranks of `communicator` and the links between them, all at the same time: rates of
/// products and of reading memory, what a training step reaches of its prediction, and what a
/// gather of few and of many bytes takes, among the `localRanks` of each machine and between
/// machines. All ranks call it and get the same. What one machine has is kept in the cache folder.
Expected<runtime::Cluster> measureCluster(runtime::Communicator &communicator, size_t localRanks,
                                          const RunOptions &options);

} // namespace sinter
