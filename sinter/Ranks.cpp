#include "sinter/Ranks.h"
#include "runtime/Collective/Grid.h"
#include <algorithm>
#include <cstdlib>
#include <sched.h>

using namespace sinter;
using namespace sinter::runtime;

static std::string countOf(size_t ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

/// Fails where `present` processes are not what the options ask for.
static Expected<void> checkCount(const RankOptions &options, bool isLaunched, size_t present) {
  SINTER_TRY(std::vector<GridAxis> axes, parseGrid(options.grid));
  size_t product = 1;
  for (const GridAxis &axis : axes)
    product *= axis.size;
  auto asked = static_cast<size_t>(options.ranks);
  if (isLaunched && asked != 0 && asked != present)
    return fail("`ranks` " + std::to_string(asked), countOf(present) + " were started",
                "leave the option out under mpirun and srun");
  if (options.grid.empty() || product == present)
    return {};
  std::string what = "`grid` " + options.grid;
  if (!isLaunched)
    return fail(what, "needs " + countOf(product) + ", and this is one process",
                "give `ranks` " + std::to_string(product) + ", or start it by mpirun");
  return fail(what, "needs " + countOf(product) + ", and " + std::to_string(present) + " run",
              "give `ranks` " + std::to_string(product) + " or a grid of " +
                  std::to_string(present));
}

/// The processors that this process may use.
static std::vector<int> listProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        processors.push_back(i);
  return processors;
}

/// The threads of each rank on this machine, which from here on have processors of their own where
/// there are enough and nobody else has seen to it.
static int64_t shareProcessors(const LaunchedRank &launched) {
  std::vector<int> processors = listProcessors();
  if (!std::getenv(kSharesProcessors) || launched.localSize == 0)
    return std::max<int64_t>(1, static_cast<int64_t>(processors.size()));
  size_t each = processors.size() / launched.localSize;
  if (each == 0)
    return 1;
  cpu_set_t own;
  CPU_ZERO(&own);
  for (size_t i = 0; i < each; ++i)
    CPU_SET(processors[launched.localRank * each + i], &own);
  ::sched_setaffinity(0, sizeof own, &own);
  return static_cast<int64_t>(each);
}

Expected<Ranks> Ranks::open(const RankOptions &options) {
  std::optional<LaunchedRank> launched = findLaunchedRank();
  size_t present = launched ? launched->size : 1;
  SINTER_CHECK(checkCount(options, launched.has_value(), present));
  Ranks ranks;
  if (present == 1)
    return ranks;
  ranks.share = shareProcessors(*launched);
  SINTER_TRY(ranks.opened, openMpi());
  WatchOptions watching;
  watching.timeout = std::chrono::duration<double>(options.timeout);
  watching.onFailure = options.onFailure;
  SINTER_TRY(ranks.watch, Watch::start(*ranks.opened, std::move(watching)));
  return ranks;
}

bool Ranks::finish(const Expected<void> &result) {
  if (!opened)
    return true;
  if (!result) {
    bool isSaid = watch->end(result.error());
    opened->abandon(result.error());
    return !isSaid;
  }
  // Who is done must not be missed by those who are not.
  (void)opened->barrier();
  watch.reset();
  return true;
}
