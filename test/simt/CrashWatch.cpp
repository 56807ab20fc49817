//===- CrashWatch.cpp - Says which kernel ended the process ---------------===//
#include "test/simt/CrashWatch.h"

#include "test/simt/Machine.h"

#include <cstdio>
#include <unistd.h>

using namespace sinter::simt;

namespace {

/// The handler has a stack of its own: the thread's may be what ran out.
constexpr size_t stackBytes = 64 << 10;
char handlerStack[stackBytes];

void tell(int signal, siginfo_t *info, void *) {
  char line[512];
  int length = Machine::instance().describeCrash(line, sizeof(line), info->si_addr);
  if (length > 0)
    (void)!write(STDERR_FILENO, line, size_t(length));
  // The access is tried again, and ends the process.
  std::signal(signal, SIG_DFL);
}

} // namespace

CrashWatch::CrashWatch() {
  stack_t stack{};
  stack.ss_sp = handlerStack;
  stack.ss_size = stackBytes;
  sigaltstack(&stack, &stackBefore);
  struct sigaction action{};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

CrashWatch::~CrashWatch() {
  sigaction(SIGSEGV, &before, nullptr);
  sigaltstack(&stackBefore, nullptr);
}
