#include "tools/cli/RunOnRanks.h"
#include "tools/cli/OneLine.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;

static std::string &prefix() {
  static std::string text;
  return text;
}

const std::string &sinter::cli::rankPrefix() { return prefix(); }

/// Ends the process because another rank has failed, from whatever thread.
[[noreturn]] static void endWithOthers(const Error &error) {
  std::string line = prefix() + program_invocation_short_name + ": " + describeError(error) + "\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  // What MPI has to say of a rank that is gone explains nothing.
  if (int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
    ::dup2(nowhere, STDERR_FILENO);
  // mpirun ends all ranks when one has ended; until then they say the same.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::_Exit(3);
}

/// mpirun sends SIGTERM to all ranks when one was killed; why is said before that ends this one.
static void delayTermination() {
  std::signal(SIGTERM, [](int) { ::alarm(1); });
}

/// Fails where all ranks do; one of them is enough to say it.
static Expected<void> checkOnAll(const RankOptions &options,
                                 const std::optional<runtime::LaunchedRank> &launched) {
  Expected<void> checked = Ranks::check(options);
  if (!checked && launched && launched->rank != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::_Exit(1);
  }
  return checked;
}

static void beSilent(Observer &observer) {
  observer.onProgress = nullptr;
  observer.onNote = nullptr;
  if (!std::freopen("/dev/null", "w", stdout))
    std::fclose(stdout);
}

Expected<void> sinter::cli::runOnRanks(RankedCommand command,
                                       const std::function<Expected<void>()> &work) {
  RankOptions &options = command.options;
  std::optional<runtime::LaunchedRank> launched = runtime::findLaunchedRank();
  if (launched && launched->rank != 0)
    prefix() = "rank " + std::to_string(launched->rank) + ": ";
  SINTER_CHECK(checkOnAll(options, launched));
  if (options.ranks > 1 && !launched) {
    SINTER_TRY(int status, startRanks(options.ranks, command.words, command.control));
    std::exit(status);
  }
  options.onFailure = endWithOthers;
  SINTER_TRY(Ranks ranks, Ranks::open(options));
  if (!ranks.getCommunicator())
    return work();
  delayTermination();
  *command.communicator = ranks.getCommunicator();
  if (*command.threads == 0)
    *command.threads = ranks.getThreads();
  if (!ranks.isFirst())
    beSilent(*command.observer);
  Expected<void> result = work();
  if (!ranks.finish(result))
    std::_Exit(1);
  return result;
}
