//===- Chat.cpp - `sinter chat`: a conversation at the terminal -------------===//

#include "sinter/Chat.h"
#include "runtime/Collective/Agreement.h"
#include "sinter/Compile.h"
#include "tools/cli/OneLine.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <poll.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
using runtime::StopReason;

namespace {
struct ChatCommandOptions : CommandOptions<RunOptions> {
  ChatOptions chat;
};

/// Ctrl-C, which ranks get as SIGUSR1: ends an answer, or where none is being given, the
/// conversation. The handler also writes into a pipe, which whoever waits for a line looks at, too:
/// a signal may come right before it waits, and to any thread.
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
    for (size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &action, &before[i]);
  }
  ~Interrupt() {
    for (size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &before[i], nullptr);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }

  static void forget() {
    char byte;
    while (::read(pipe[0], &byte, 1) > 0) {
    }
    flag = false;
  }

  /// Waits for input; false where Ctrl-C comes before it.
  static bool waitForInput() {
    pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {pipe[0], POLLIN, 0}};
    while (::poll(waited, std::size(waited), -1) < 0 && errno == EINTR) {
    }
    return (waited[1].revents & POLLIN) == 0;
  }

  static inline std::atomic<bool> flag = false;

private:
  static constexpr int kSignals[] = {SIGINT, SIGUSR1};
  static inline int pipe[2] = {-1, -1};
  struct sigaction before[std::size(kSignals)] = {};
};

/// Standard input, line by line.
class Lines {
public:
  /// The next line; false where there are no more, or at a terminal where Ctrl-C comes before it.
  bool read(bool isTerminal, std::string &line) {
    size_t end;
    while ((end = waiting.find('\n')) == std::string::npos) {
      if (isTerminal && !Interrupt::waitForInput())
        return false;
      char bytes[4096];
      ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (count > 0) {
        waiting.append(bytes, static_cast<size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        line = std::exchange(waiting, "");
        return !line.empty();
      }
    }
    line = waiting.substr(0, end);
    waiting.erase(0, end + 1);
    return true;
  }

private:
  std::string waiting;
};

/// A conversation, of several ranks rank 0's: the others are told its messages.
class Conversation {
public:
  Conversation(Chat &chat, runtime::Communicator *communicator)
      : chat(chat), communicator(communicator) {}

  Expected<void> hold();

private:
  Expected<bool> readMessage(std::string &message);
  Expected<void> answer(const std::string &message);

  Chat &chat;
  runtime::Communicator *communicator; ///< or null
  bool isTerminal = false;
  Lines lines;
};
} // namespace

static bool printNow(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput().has_value();
}

/// The next message; false where there are no more.
Expected<bool> Conversation::readMessage(std::string &message) {
  bool isThere = true;
  if (isFirstRank()) {
    if (isTerminal)
      printNow("> ");
    isThere = lines.read(isTerminal, message);
  }
  SINTER_CHECK(broadcast(communicator, isThere));
  SINTER_CHECK(broadcast(communicator, message));
  return isThere;
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

Expected<void> Conversation::answer(const std::string &message) {
  auto answer =
      chat.answer(message, [](int32_t, const std::string &text) { return printNow(text); });
  Interrupt::forget();
  if (!answer && !isTerminal)
    return tl::unexpected(answer.error());
  if (answer)
    printNow("\n");
  SINTER_CHECK(flushOutput());
  if (!isFirstRank())
    return {};
  if (answer)
    printEnd(*answer);
  else
    std::fprintf(stderr, "sinter: error: %s\n",
                 onOneLine(showFlags(answer.error().message())).c_str());
  return {};
}

Expected<void> Conversation::hold() {
  isTerminal = isAtTerminal();
  SINTER_CHECK(broadcast(communicator, isTerminal));
  std::string message;
  while (true) {
    SINTER_TRY(bool isThere, readMessage(message));
    if (!isThere)
      break;
    if (message == "/exit")
      return {};
    if (message == "/clear") {
      chat.clear();
    } else if (!message.empty()) {
      SINTER_CHECK(answer(message));
    }
  }
  if (isTerminal)
    printNow("\n");
  return flushOutput();
}

static Expected<void> runChat(ChatCommandOptions &options) {
  constexpr int64_t kPositions = 4096, kChunk = 128;
  ChatOptions &chat = options.chat;
  chat.observer = options.observer;
  chat.communicator = options.communicator;
  chat.seed = options.seed;
  options.penalties |= chat.getSampling().penalties != runtime::Penalties();
  chat.threads = static_cast<unsigned>(getThreads(options));
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(ChatTemplate chatTemplate, chat.chatTemplate.empty()
                                            ? ChatTemplate::read(options.model)
                                            : ChatTemplate::find(chat.chatTemplate, options.model));
  if (options.maxSequence == 0 && !model.isExecutable() && !model.text)
    options.maxSequence = std::min(kPositions, model.spec.maxPositions);
  SINTER_TRY(LoadedModel loaded, loadForGeneration(model, options, kChunk, options.maxSequence));
  chat.observer.stop = &Interrupt::flag;
  SINTER_TRY(std::unique_ptr<Chat> opened, Chat::open(loaded, std::move(chatTemplate), chat));
  Interrupt interrupt;
  return Conversation(*opened, options.communicator).hold();
}

static constexpr char kChatFooter[] = R"(
Every line is a message. /clear begins a new conversation, /exit or the end of the input ends it;
Ctrl-C ends an answer. The KV cache holds the whole conversation: 4096 positions, or as many as the
model has, unless --max-seq says otherwise.)";

void sinter::cli::addChat(CLI::App &program) {
  CLI::App *command = addCommand(program, "chat", "Holds a conversation");
  auto options = std::make_shared<ChatCommandOptions>();
  addModel(*command, options->model);
  addRunFlags(*command, *options, options->json);
  command->remove_option(command->get_option("--json"));
  addRankFlags(*command, *options);
  addOptions<RunOptions>(*command, *options, {"cache_dtype", "seed", "max_seq"});
  addOptions(*command, options->chat);
  command->footer(kChatFooter);
  command->callback([options] {
    finish(runOnRanks(*options, [&] { return runChat(*options); }, RankControl::Converses));
  });
}
