//===- Ranks.h - This process as one of several that run a model -*- C++ -*-===//
//
//   auto ranks = Ranks::open({.grid = "data=4"});       // in each of 4 processes that mpirun
//   started options.communicator = ranks->communicator();       // RunOptions, GenerateOptions
//   ... work on the model ...
//   ranks->finish(result);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Options.h"
#include "runtime/Collective/Mpi.h"
#include "runtime/Collective/Watch.h"

namespace sinter {

struct RankOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/RankOptions.def"

  /// What the model is compiled for, empty for one rank; nothing where an executable says it.
  std::optional<std::string> grid;
  /// Called by a thread of the library's when another rank has failed, and with it the work of
  /// all; WatchOptions::onFailure.
  std::function<void(const Error &)> onFailure;

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/RankOptions.def"
  }
};

class Ranks {
public:
  /// Fails where the options ask for another number of ranks than the environment says that mpirun,
  /// srun or the like started or, where this process is none of such a job, than they start, or are
  /// out of their ranges.
  static Expected<void> check(const RankOptions &options);

  /// Joins the other processes of the job; nothing is opened where there are none. Errors: those of
  /// check(), no MPI, an MPI of another kind, hosts with different versions or without TCP between
  /// them.
  static Expected<Ranks> open(const RankOptions &options);

  /// The others, or null where there are none.
  runtime::Communicator *getCommunicator() const { return opened.get(); }

  /// Whether this rank is the one that prints.
  bool isFirst() const { return !opened || opened->getRank() == 0; }

  /// Threads for each rank of this machine to have its share of the processors, 1 at the least.
  /// Where `sinter --ranks` started the ranks, they keep to processors of their own.
  int64_t getThreads() const { return share; }

  /// Waits for all ranks where the work was done; where it was not tells the others the error.
  /// False where another rank says the same error, so that it need not be said again.
  bool finish(const Expected<void> &result);

private:
  std::unique_ptr<runtime::Communicator> opened;
  std::unique_ptr<runtime::Watch> watch; // before the communicator ends
  int64_t share = 0;
};

/// Whether all ranks of this job are on one machine, and have one clock.
bool shareClock();

/// Set in the environment of ranks that were started on one machine, without processors of their
/// own.
constexpr char kSharesProcessors[] = "SINTER_RANKS_SHARE_PROCESSORS";

} // namespace sinter
