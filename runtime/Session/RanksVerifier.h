//===- RanksVerifier.h - Do the ranks' programs fit each other --*- C++ -*-===//
//
// Ranks at different places of a pipeline run different programs, which wait for each other. Before
// any of them runs, they are run against each other here, without their data. Found is
//
//   what is received and never sent, or sent and never received
//   what is received in another size than it was sent
//   ranks of a group that run other collectives, or of other sizes
//   ranks that wait for each other in a circle, with the command of each
//   for GPUs, what a rank receives in another order than that of sending
//
// What is sent is never held: it stays in the sender's memory until it is received. The sender goes
// on, up to a program that writes there. On processors every channel has its own queue of messages,
// on GPUs every link (PipelineStages.h), whose messages are received as they were sent or not at
// all. That is all that waits: so if all ends in this order of commands, it does in every one that
// devices may take.
//
// Ranks at one place run the same programs. What is between them alone fits, and is not looked at.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/PipelineStages.h"

namespace sinter::runtime {

/// What the ranks at a place run: behind each part they wait until all that they sent has arrived.
using RankRuns = std::vector<std::vector<PlannedRun>>;

/// Fails where the programs of an executable's ranks do not fit each other, with the first thing
/// that is found.
/// @param runs by place along the pipeline.
Expected<void> verifyRanks(const Executable &executable, const std::vector<RankRuns> &runs);

/// The same of a session's ranks: they preprocess weights and then run entries one after the other,
/// each entry twice.
Expected<void> verifyEntries(const Executable &executable, const std::vector<std::string> &entries);

} // namespace sinter::runtime
