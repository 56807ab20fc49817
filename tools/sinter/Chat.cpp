//===- Chat.cpp - `sinter chat`: a conversation at the terminal -------------===//

#include "sinter/Chat.h"
#include "sinter/Compile.h"
#include "tools/cli/OneLine.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <iterator>
#include <memory>
#include <poll.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
using runtime::StopReason;

namespace {
struct Options : CommandOptions<RunOptions> {
  ChatOptions chat;
};

/// Ctrl-C: ends an answer, or where none is being given, the conversation. The handler also writes
/// into a pipe, which whoever waits for a line looks at, too: a signal may come right before it
/// waits, and to any thread.
class Interrupt {
public:
  Interrupt() {
    if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
      pipe[0] = pipe[1] = -1;
    struct sigaction action = {};
    action.sa_flags = SA_RESTART; // a slow terminal's output goes on
    action.sa_handler = [](int) {
      // First the pipe: who has seen the flag forgets both.
      [[maybe_unused]] ssize_t written = ::write(pipe[1], "", 1);
      flag = true;
    };
    sigaction(SIGINT, &action, &before);
  }
  ~Interrupt() {
    sigaction(SIGINT, &before, nullptr);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }

  static void forget() {
    char byte;
    while (::read(pipe[0], &byte, 1) > 0) {
    }
    flag = false;
  }

  /// Waits for a line of a terminal; false where Ctrl-C comes before it.
  static bool waitForLine() {
    pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {pipe[0], POLLIN, 0}};
    while (::poll(waited, std::size(waited), -1) < 0 && errno == EINTR) {
    }
    return (waited[1].revents & POLLIN) == 0;
  }

  static inline std::atomic<bool> flag = false;

private:
  static inline int pipe[2] = {-1, -1};
  struct sigaction before = {};
};
} // namespace

static bool printNow(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput().has_value();
}

/// The next line; false where there are no more.
static bool readMessage(bool isTerminal, std::string &message) {
  if (isTerminal) {
    printNow("> ");
    if (!Interrupt::waitForLine())
      return false;
  }
  return static_cast<bool>(std::getline(std::cin, message));
}

static void printEnd(const Generated &answer) {
  if (answer.reason == StopReason::MaxSequence)
    std::fprintf(stderr,
                 "stopped early: all %lld positions of the cache are taken (--max-seq); /clear "
                 "begins a new conversation\n",
                 static_cast<long long>(answer.maxSequence));
  else if (answer.reason == StopReason::MaxNewTokens)
    std::fprintf(stderr, "stopped after %zu tokens (--max-new-tokens)\n", answer.ids.size());
}

static Expected<void> converse(Chat &chat) {
  bool isTerminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  std::string message;
  while (readMessage(isTerminal, message)) {
    if (message == "/exit")
      return {};
    if (message == "/clear")
      chat.clear();
    if (message.empty() || message == "/clear")
      continue;
    auto answer =
        chat.answer(message, [](int32_t, const std::string &text) { return printNow(text); });
    Interrupt::forget();
    if (!answer && !isTerminal)
      return tl::unexpected(answer.error());
    if (answer)
      printNow("\n");
    SINTER_CHECK(flushOutput());
    if (answer)
      printEnd(*answer);
    else
      std::fprintf(stderr, "sinter: error: %s\n",
                   onOneLine(showFlags(answer.error().message())).c_str());
  }
  if (isTerminal)
    printNow("\n");
  return flushOutput();
}

static Expected<void> run(Options &options) {
  constexpr int64_t kPositions = 4096, kChunk = 128;
  ChatOptions &chat = options.chat;
  chat.observer = options.observer;
  chat.seed = options.seed;
  chat.threads = static_cast<unsigned>(getThreads(options));
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(ChatTemplate chatTemplate, chat.chatTemplate.empty()
                                            ? readChatTemplate(options.model)
                                            : findChatTemplate(chat.chatTemplate));
  if (options.maxSequence == 0 && !model.isExecutable() && !model.text)
    options.maxSequence = std::min(kPositions, model.spec.maxPositions);
  SINTER_TRY(LoadedModel loaded, loadForGeneration(model, options, kChunk, options.maxSequence));
  chat.observer.stop = &Interrupt::flag;
  SINTER_TRY(std::unique_ptr<Chat> opened, Chat::open(loaded, chatTemplate, chat));
  Interrupt interrupt;
  return converse(*opened);
}

static constexpr char kFooter[] = R"(
Every line is a message. /clear begins a new conversation, /exit or the end of the input ends it;
Ctrl-C ends an answer. The KV cache holds the whole conversation: 4096 positions, or as many as the
model has, unless --max-seq says otherwise.)";

void sinter::cli::addChat(CLI::App &program) {
  CLI::App *command = addCommand(program, "chat", "Holds a conversation");
  auto options = std::make_shared<Options>();
  addModel(*command, options->model);
  addRunFlags(*command, *options, options->json);
  command->remove_option(command->get_option("--json"));
  addOptions<RunOptions>(*command, *options, {"cache_dtype", "seed", "max_seq"});
  addOptions(*command, options->chat);
  command->footer(kFooter);
  command->callback([options] { finish(run(*options)); });
}
