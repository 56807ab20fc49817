//===- RunOnRanks.h - A command as one of several ranks ---------*- C++ -*-===//
#pragma once

#include "sinter/Observer.h"
#include "sinter/Ranks.h"
#include "tools/cli/StartRanks.h"

namespace sinter::cli {

/// What of a command's options its ranks depend on.
struct RankedCommand {
  RankOptions options;
  Observer *observer = nullptr;                   ///< on other ranks than 0 it hears warnings alone
  runtime::Communicator **communicator = nullptr; ///< is set for the work
  int64_t *threads = nullptr;                     ///< where 0, becomes a rank's share
  std::vector<std::string> words;                 ///< that ranks are given beside this command's
  RankControl control = RankControl::None;        ///< what SIGUSR1 is to the work
};

/// Does `work` on all ranks: starts them where `ranks` asks for several and this process is none of
/// them, in which case it does not return; else joins them. Rank 0 prints to standard output. The
/// process ends with status 3 where another rank fails.
Expected<void> runOnRanks(RankedCommand command, const std::function<Expected<void>()> &work);

/// Begins every line of a rank other than 0 on standard error: "rank 2: ", else "".
const std::string &rankPrefix();

/// Whether this process is the one of its ranks that speaks for all.
inline bool isFirstRank() { return rankPrefix().empty(); }

} // namespace sinter::cli
