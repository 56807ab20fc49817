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
#include <string>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace sinter;
namespace fs = std::filesystem;

namespace {
constexpr int kRankFailed = 3;

std::atomic<pid_t> mpiexec = 0;
std::atomic<bool> asksFirst = false;

void passOn(int) {
  if (asksFirst.exchange(false)) {
    static constexpr std::string_view kText =
        "\nsinter: stopping after the next step; a second signal stops at once\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    ::kill(mpiexec, SIGUSR1);
    return;
  }
  ::kill(mpiexec, SIGTERM);
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

[[noreturn]] void become(std::vector<std::string> words, pid_t parent) {
  // A signal of the terminal's is for the parent, which passes it on.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1);
  if (int nothing = ::open("/dev/null", O_RDONLY); nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
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

Expected<int> sinter::cli::startRanks(int64_t ranks, const std::vector<std::string> &words,
                                      bool stopsSoftly) {
  SINTER_TRY(std::vector<std::string> command, readCommand());
  std::vector<std::string> all = {"mpiexec", "-n", std::to_string(ranks)};
  all.insert(all.end(), command.begin(), command.end());
  all.insert(all.end(), words.begin(), words.end());
  asksFirst = stopsSoftly;
  pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    return fail("mpiexec", std::string("cannot be started: ") + std::strerror(errno),
                "see whether the system has memory and processes left");
  if (child == 0)
    become(std::move(all), parent);
  mpiexec = child;
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, passOn);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fail("mpiexec", std::string("is lost: ") + std::strerror(errno), "try again");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return fail("`ranks` " + std::to_string(ranks), "there is no mpiexec to start them",
                "install openmpi-bin");
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return code >= 128 ? kRankFailed : code;
}
