//===- Runner.h - A model that is ready to run ------------------*- C++ -*-===//
#pragma once

#include "runtime/Session/Session.h"
#include "sinter/Compile.h"
#include <span>

namespace sinter {

/// A compiled model bound to memory.
class Runner {
public:
  /// Compiles a model for the given entries and sizes (or takes it from the cache, or an executable
  /// as it is) and binds it. Fails, before anything runs, where memory does not suffice.
  static Expected<Runner> open(const Model &model, const RunOptions &options,
                               std::vector<std::string> entries, int64_t chunk,
                               int64_t maxSequence);

  runtime::Session &getSession() { return *bound; }
  const runtime::Executable &getExecutable() const { return *loaded.executable; }
  /// Milliseconds from the model's description to its executable.
  double getCompileMs() const { return loaded.compileMs; }
  /// The most that was held while weights were preprocessed, or is held now, as the system counts
  /// it (measureHeld); and what was planned, with the process.
  uint64_t getPeakBytes() const;
  uint64_t getPlannedBytes() const;
  /// Tokens that a step of this entry takes of each slot.
  Expected<int64_t> getChunk(const std::string &entry) const;

  /// Runs one step of an entry: `count[b]` tokens of slot b, placed after its first `start[b]`.
  /// `tokens` holds chunk tokens a slot.
  Expected<void> step(const std::string &entry, std::span<const int32_t> tokens,
                      std::span<const int32_t> start, std::span<const int32_t> count);

  /// The logits of the entry's last step.
  Expected<std::span<const float>> getLogits(const std::string &entry) const;

private:
  LoadedModel loaded;
  std::unique_ptr<WeightFilesSource> source;
  std::unique_ptr<runtime::Session> bound;
  uint64_t held = 0; ///< the most that was measured
};

} // namespace sinter
