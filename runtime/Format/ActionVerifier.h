//===- ActionVerifier.h - Belief in what commands do ------------*- C++ -*-===//
//
// Launches, products, attention, packs, copies and fills: extents against slices, types against
// what the device's library takes, and a launch against its kernel's fingerprint.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/VerifierScope.h"

namespace sinter::runtime {

/// Verifies every way in which the command at `scope` can be done. @pre its kernels are verified
Expected<void> verifyActions(VerifierScope &scope);

} // namespace sinter::runtime
