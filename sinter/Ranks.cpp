#include "sinter/Ranks.h"
#include "runtime/Collective/Grid.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;

static std::string countOf(size_t ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

/// Fails where a grid is not one of `present` ranks.
static Expected<void> checkGrid(const std::string &grid, size_t present) {
  SINTER_TRY(size_t product, countRanks(grid));
  if (product == present)
    return {};
  std::string there = present == 1 ? "there is one" : "there are " + std::to_string(present);
  if (grid.empty())
    return fail("`grid`", "nothing says what ranks are for, and " + there,
                "give `grid` data=" + std::to_string(present) + ", for example");
  std::string needed = std::to_string(product);
  return fail("`grid` " + grid, "needs " + countOf(product) + ", and " + there,
              "give `ranks` " + needed + ", or start it by mpirun -n " + needed);
}

Expected<void> Ranks::check(const RankOptions &options) {
  SINTER_CHECK(checkOptions(options));
  std::optional<LaunchedRank> launched = findLaunchedRank();
  size_t asked = std::max<size_t>(1, static_cast<size_t>(options.ranks));
  size_t present = launched ? launched->size : asked;
  if (options.ranks != 0 && asked != present)
    return fail("`ranks` " + std::to_string(asked), countOf(present) + " were started",
                "leave the option out under mpirun and srun");
  return options.grid ? checkGrid(*options.grid, present) : Expected<void>();
}

/// Package and core that a processor is of.
static std::pair<int, int> getCore(int processor) {
  auto read = [&](const char *name) {
    int number = 0;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" +
                  name) >>
        number;
    return number;
  };
  return {read("physical_package_id"), read("core_id")};
}

/// The processors that this process may use, those of a core and of a package side by side.
static std::vector<int> listProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        processors.push_back(i);
  std::ranges::stable_sort(processors, {}, getCore);
  return processors;
}

/// The threads of each rank on this machine, which from here on have processors of their own where
/// there are enough and nobody else has seen to it.
static int64_t shareProcessors(const LaunchedRank &launched) {
  std::vector<int> processors = listProcessors();
  auto most = static_cast<int64_t>(processors.size()),
       local = static_cast<int64_t>(launched.localSize);
  if (local == 0)
    return std::max<int64_t>(1, most);
  // A launcher may let several ranks run on the same processors.
  if (!std::getenv(kSharesProcessors))
    return std::max<int64_t>(1, std::min(most, ::sysconf(_SC_NPROCESSORS_ONLN) / local));
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

bool sinter::shareClock() {
  std::optional<LaunchedRank> launched = findLaunchedRank();
  return !launched || launched->localSize == launched->size;
}

Expected<Ranks> Ranks::open(const RankOptions &options) {
  SINTER_CHECK(check(options));
  std::optional<LaunchedRank> launched = findLaunchedRank();
  Ranks ranks;
  if (!launched || launched->size == 1)
    return ranks;
  ranks.share = shareProcessors(*launched);
  SINTER_TRY(ranks.opened, openMpi());
  WatchOptions watching;
  watching.timeout = std::chrono::duration<double>(options.rankTimeout);
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
