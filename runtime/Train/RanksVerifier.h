//===- RanksVerifier.h - Do the ranks' programs fit each other --*- C++ -*-===//
//
// Ranks at different places of a pipeline run different programs, which wait for each other. Before
// any of them runs, they are run against each other here, without their data: two steps of each
// rank's plan, and an evaluation. Found is
//
//   what is received and never sent, or sent and never received
//   what is received in another size than it was sent
//   ranks of a group that run other collectives, or of other sizes
//   ranks that wait for each other in a circle, with the command of each
//
// Ranks at one place run the same programs. What is between them alone fits, and is not looked at.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable.h"

namespace sinter::runtime {

/// Fails where the programs of an executable's ranks do not fit each other in a run of `accumulate`
/// microbatches a step, with the first thing that is found.
Expected<void> verifyRanks(const Executable &executable, uint64_t accumulate, bool validation);

} // namespace sinter::runtime
