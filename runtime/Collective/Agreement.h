//===- Agreement.h - Ranks run the same program -----------------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Format/Executable.h"

namespace sinter::runtime {

/// Fails on all ranks where one runs another executable than rank 0: by the hash of its bytes,
/// which name the weight files, too. A collective.
Expected<void> checkSameExecutable(Communicator &communicator, const Executable &executable);

} // namespace sinter::runtime
