#include "tools/cli/StartRanks.h"
#include "runtime/Base/ReadFile.h"
#include "sinter/Ranks.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

namespace {
constexpr int kRankFailed = 3;
// Set in the environment of ranks whose starter is at a terminal.
constexpr char kAtTerminal[] = "SINTER_RANKS_AT_TERMINAL";

std::atomic<pid_t> mpiexec = 0;
std::atomic<RankControl> control = RankControl::None;

void passOn(int signal) {
  RankControl before = RankControl::StopsSoftly;
  if (control.compare_exchange_strong(before, RankControl::None)) {
    static constexpr std::string_view kText =
        "\nsinter: stopping after the next step; a second signal stops at once\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    ::kill(mpiexec, SIGUSR1);
    return;
  }
  ::kill(mpiexec, before == RankControl::Converses && signal == SIGINT ? SIGUSR1 : SIGTERM);
}

/// Hands on what comes from standard input, which mpiexec itself may not read: it is not in the
/// terminal's foreground.
void relayInput(int out) {
  char bytes[4096];
  while (true) {
    ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
      continue;
    ssize_t written = 0;
    for (ssize_t done = 0; done < count && written >= 0; done += written)
      written = ::write(out, bytes + done, static_cast<size_t>(count - done));
    if (count <= 0 || written < 0)
      break;
  }
  ::close(out);
}

std::atomic<bool> outputClosed = false;

/// Ends the ranks once nobody reads standard output: what they print is mpiexec's to write, which
/// throws away what nobody reads.
void watchOutput() {
  pollfd output = {STDOUT_FILENO, 0, 0};
  while (::poll(&output, 1, -1) < 0 && errno == EINTR) {
  }
  if (output.revents & POLLERR) {
    outputClosed = true;
    passOn(SIGPIPE);
  }
}

/// Whether processes may read each other's memory, which containers may forbid.
bool mayReadMemory() {
  char from = 1, to = 0;
  iovec local = {&to, 1}, remote = {&from, 1};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1;
}

/// What Open MPI is to do on one machine; other MPIs do not know these. What is set stays.
void setEnvironment() {
  auto set = [](const char *name, const char *value) { ::setenv(name, value, /*overwrite=*/0); };
  set("OMPI_ALLOW_RUN_AS_ROOT", "1");
  set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  set("OMPI_MCA_rmaps_base_oversubscribe", "1");
  set("OMPI_MCA_hwloc_base_binding_policy", "none");
  set("OMPI_MCA_mpi_yield_when_idle", "1");
  set("OMPI_MCA_pml", "ob1");
  set("OMPI_MCA_btl", "self,vader");
  if (!mayReadMemory())
    set("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  // Ranks say themselves what went wrong.
  set("OMPI_MCA_orte_execute_quiet", "1");
  set(kSharesProcessors, "1");
}

[[noreturn]] void become(std::vector<std::string> words, pid_t parent, int input) {
  // A signal of the terminal's is for the parent, which passes it on.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1);
  ::dup2(input, STDIN_FILENO);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setEnvironment();
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}
} // namespace

/// The words of this command, with the program by its path.
static Expected<std::vector<std::string>> readCommand() {
  SINTER_TRY(std::string text, readFile("/proc/self/cmdline", 1 << 22));
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size(); begin += words.back().size() + 1)
    words.push_back(text.substr(begin, text.find('\0', begin) - begin));
  std::error_code failed;
  fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed || words.empty())
    return fail("/proc/self/exe", "cannot be read", "mount /proc");
  words.front() = program.string();
  return words;
}

bool sinter::cli::isAtTerminal() {
  return std::getenv(kAtTerminal) || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
}

Expected<int> sinter::cli::startRanks(int64_t ranks, const std::vector<std::string> &words,
                                      RankControl wanted) {
  SINTER_TRY(std::vector<std::string> command, readCommand());
  std::vector<std::string> all = {"mpiexec", "-n", std::to_string(ranks)};
  all.insert(all.end(), command.begin(), command.end());
  all.insert(all.end(), words.begin(), words.end());
  control = wanted;
  int input[2] = {::open("/dev/null", O_RDONLY | O_CLOEXEC), -1};
  if (wanted == RankControl::Converses) {
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
      ::setenv(kAtTerminal, "1", /*overwrite=*/1);
    if (::pipe2(input, O_CLOEXEC) != 0)
      return fail("standard input", std::string("cannot be handed on: ") + std::strerror(errno),
                  "see whether the system has files left to open");
  }
  pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    return fail("mpiexec", std::string("cannot be started: ") + std::strerror(errno),
                "see whether the system has memory and processes left");
  if (child == 0)
    become(std::move(all), parent, input[0]);
  mpiexec = child;
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, passOn);
  std::thread(watchOutput).detach();
  if (wanted == RankControl::Converses) {
    ::close(input[0]);
    std::thread([out = input[1]] {
      sigset_t broken; // what is written to ranks that have ended fails
      sigemptyset(&broken);
      sigaddset(&broken, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
      relayInput(out);
    }).detach();
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fail("mpiexec", std::string("is lost: ") + std::strerror(errno), "try again");
  if (outputClosed) {
    std::raise(SIGPIPE);
    return fail("standard output", "cannot be written", "make room for it");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return fail("`ranks` " + std::to_string(ranks), "there is no mpiexec to start them",
                "install openmpi-bin");
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return code >= 128 ? kRankFailed : code;
}
