//===- Agreement.h - Ranks do the same ---------------------------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Format/Executable.h"

namespace sinter::runtime {

/// Fails on all ranks where one runs another executable than rank 0: by the hash of its bytes,
/// which name the weight files, too. A collective.
Expected<void> checkSameExecutable(Communicator &communicator, const Executable &executable);

/// What rank 0 has becomes what all ranks have; without a communicator it stays. A collective.
Expected<void> broadcast(Communicator *communicator, bool &value);
Expected<void> broadcast(Communicator *communicator, std::string &text);

} // namespace sinter::runtime
