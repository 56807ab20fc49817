//===- ExecutableVerifier.h - Belief in an executable -----------*- C++ -*-===//
//
// Every number in an executable is checked once, at load, and none afterwards: indices against
// their tables, slices against their spaces and these against what their slices use, bindings
// against their shapes (VerifierScope.h), products, packs and attention against their slices, and
// launches against what the machine code says that it was made for (ActionVerifier.h,
// KernelMarks.h), with every sum and product guarded against overflow. What is accepted stays
// within its memory and ends, whatever constants, weights and inputs hold.
//
// Machine code itself cannot be checked: an executable is as trusted as a program. Run only those
// that you would run as programs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Format/Executable_generated.h"
#include <span>
#include <string_view>

namespace sinter::runtime {

/// Streams that a program may have.
constexpr uint32_t kMostStreams = 8;

/// Checks that `flatbuffer` (64-byte aligned) is an executable of this version whose numbers all
/// agree, and returns its root. Errors name the program, the command and the number at fault.
Expected<const fb::Executable *> verifyExecutable(std::span<const std::byte> flatbuffer,
                                                  std::string_view source);

/// Checks that this processor has every feature that the executable's code needs.
Expected<void> checkCpuFeatures(const fb::Executable &executable, std::string_view source);

} // namespace sinter::runtime
