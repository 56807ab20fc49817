//===- StartRanks.h - This command again, as several ranks ------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::cli {

/// Starts this command, with `words` behind it, `ranks` times on this machine, by mpiexec, waits,
/// and returns the status to exit with: that of the first rank that failed, 3 where one was killed.
/// SIGINT and SIGTERM end all; where `stopsSoftly`, the first one only asks the ranks to stop, by
/// SIGUSR1. Fails where there is no mpiexec.
Expected<int> startRanks(int64_t ranks, const std::vector<std::string> &words, bool stopsSoftly);

} // namespace sinter::cli
