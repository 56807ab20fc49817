//===- ExecutableVerifier.h - Belief in an executable -----------*- C++ -*-===//
//
// An executable may come from anywhere, so every number in it is checked once, at load, and none
// afterwards: indices against their tables, slices against their spaces, products and packs
// against their slices, bindings against their shapes, with every sum and product guarded against
// overflow. Machine code cannot be checked; run only executables that you would run as programs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Exec/Executable_generated.h"
#include <span>
#include <string_view>

namespace sinter::runtime {

/// Checks that `flatbuffer` (64-byte aligned) is an executable of this version whose numbers all
/// agree, and returns its root. Errors name the program, the command and the number at fault.
Expected<const fb::Executable *> verifyExecutable(std::span<const std::byte> flatbuffer,
                                                  std::string_view source);

/// Checks that this processor has every feature that the executable's code needs.
Expected<void> checkCpuFeatures(const fb::Executable &executable, std::string_view source);

} // namespace sinter::runtime
