//===- StartRanks.h - This command again, as several ranks ------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::cli {

/// What ranks have to do with who started them, beside that SIGINT and SIGTERM end all.
enum class RankControl {
  None,
  StopsSoftly, ///< the first of these signals asks the ranks to stop, by SIGUSR1
  Converses,   ///< each SIGINT becomes a SIGUSR1, and rank 0 reads this process' standard input
};

/// Starts this command, with `words` behind it, `ranks` times on this machine, by mpiexec, waits,
/// and returns the status to exit with: that of the first rank that failed, 3 where one was killed.
/// Where nobody reads standard output any more, ends as a process that writes there does, and the
/// ranks before it. Fails where there is no mpiexec.
Expected<int> startRanks(int64_t ranks, const std::vector<std::string> &words, RankControl control);

/// Whether this command, or the one that started it as a rank, reads lines from a terminal and
/// answers there.
bool isAtTerminal();

} // namespace sinter::cli
