//===- Outcome.h - What a comparison came to --------------------*- C++ -*-===//
#pragma once

namespace sinter {

/// How what stands after one pass, or after many, fares beside what stood before.
enum class Outcome {
  Holds,
  Unchanged, ///< the pass left the module as it was: no evidence
  Differs,   ///< what stands after it computes something else
  Failed,    ///< the pass gave an error, what it left is no valid module, or it could not be run
};

/// "holds", "changed nothing", "FAILS", "failed".
inline const char *stringifyOutcome(Outcome outcome) {
  constexpr const char *kNames[] = {"holds", "changed nothing", "FAILS", "failed"};
  return kNames[static_cast<int>(outcome)];
}

} // namespace sinter
