//===- RankProgress.h - Where a rank is in its programs ---------*- C++ -*-===//
#pragma once

#include "runtime/Format/Executable.h"
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace sinter::runtime {

/// Told by who runs a rank's commands, read by who watches the rank, in another thread. Telling is
/// two relaxed stores a command.
class RankProgress {
public:
  /// What runs from now on. Programs are numbered as in the executable.
  void setExecutable(std::shared_ptr<const Executable> executable);

  /// A step of training, or whatever the work counts.
  void beginStep(uint64_t number) { step.store(number, std::memory_order_relaxed); }

  void beginCommand(uint32_t program, uint32_t command) {
    where.store(uint64_t(program) << 32 | command, std::memory_order_relaxed);
    ++commands;
    begun.store(commands, std::memory_order_relaxed);
  }
  void endProgram() { where.store(nowhere, std::memory_order_relaxed); }

  /// What is known of a rank at one moment.
  struct Place {
    uint64_t begun = 0; ///< commands so far
    /// How long the command would take by its prediction, if it is one that waits for no other
    /// rank; nothing where none runs or it waits.
    std::optional<std::chrono::nanoseconds> busy;
    /// "at step 12, command 34 of train_step (matmul, model.layers.3)"
    std::string text;
  };
  Place read() const;

private:
  static constexpr uint64_t nowhere = ~uint64_t(0);

  mutable std::mutex mutex; // of the executable
  std::shared_ptr<const Executable> executable;
  uint64_t commands = 0; // of the thread that runs them
  std::atomic<uint64_t> step = nowhere, where = nowhere, begun = 0;
};

} // namespace sinter::runtime
