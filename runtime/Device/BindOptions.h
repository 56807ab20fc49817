//===- BindOptions.h - How an executable is bound ---------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Base/ThreadPool.h"
#include "runtime/Collective/Communicator.h"
#include "runtime/Device/KernelFunction.h"
#include "runtime/Weights/WeightSource.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinter::runtime {

/// Kernels by name that are used instead of the executable's machine code: compiled in process, or
/// written by hand. For the CPU only.
using KernelTable = std::map<std::string, KernelFunction, std::less<>>;

struct BindOptions {
  /// The threads to run on; without it the session makes a pool of `threads` (0: all processors).
  ThreadPool *pool = nullptr;
  unsigned threads = 0;

  /// The checkpoint; without it the weights are random, by `seed` or else by the executable's.
  const WeightSource *weights = nullptr;
  std::optional<uint64_t> seed;

  /// The programs to bind, "preprocess" excepted; empty for all. What is not bound takes no memory.
  std::vector<std::string> programs;

  KernelTable kernels;

  /// The ranks that run the executable together, as many as its grid has; it outlives the session.
  /// Null: one.
  Communicator *communicator = nullptr;

  /// The states that Session::beginCopies may copy.
  std::vector<std::string> copiedStates;

  /// On the CPU, checks that no command writes outside of its slices and poisons the arena before
  /// each run; on a GPU, waits after each command. Slow; run() then returns an error that names the
  /// command.
  bool debug = false;

  /// Called with what went wrong but only costs time; without it that goes to the standard error.
  std::function<void(const Error &)> onWarning;

  /// Called as commands of `preprocess` are done, with their number and that of all.
  std::function<void(uint64_t done, uint64_t all)> progress;
};

} // namespace sinter::runtime
