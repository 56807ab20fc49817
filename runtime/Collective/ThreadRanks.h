//===- ThreadRanks.h - Ranks that are threads of one process ----*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include <functional>

namespace sinter::runtime {

/// Runs `run` in `ranks` threads at once, each with a communicator of its own, and waits for all.
/// Fails with the first error that a rank returned; the collectives of all others then fail, too.
Expected<void> runThreadRanks(size_t ranks,
                              const std::function<Expected<void>(Communicator &)> &run);

} // namespace sinter::runtime
