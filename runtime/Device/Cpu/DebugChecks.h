//===- DebugChecks.h - Who writes where he must not -------------*- C++ -*-===//
//
// In debug mode every byte that a command has no slice of is hashed before and after it. A kernel
// that strays is caught at the command that strays, whatever it hit: another live value, a state,
// a preprocessed weight, or (through the regions' guards) memory of nobody. The arena starts each
// run full of NaNs, so what is read before it is written shows in the results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable_generated.h"
#include "runtime/Memory/Region.h"
#include <cstdint>
#include <functional>
#include <map>

namespace sinter::runtime {

class DebugChecks {
public:
  /// Watches a region as the memory of `space`.
  void watch(fb::Space space, const Region &region) { regions[space] = &region; }

  /// Fills the arena with NaNs.
  void poison();

  /// Hashes all watched bytes that `command` has no slice of. `inSlot` says where one of State is
  /// that begins at an offset.
  uint64_t hashOutside(const fb::Command &command,
                       const std::function<uint64_t(uint64_t)> &inSlot) const;

  /// False if a guard of a watched region was written to.
  bool guardsIntact() const;

private:
  std::map<fb::Space, const Region *> regions;
};

} // namespace sinter::runtime
