//===- Machine.h - What the compiler assumes of a machine -------*- C++ -*-===//
//
// For those who ask nothing else of the compiler: without MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Trace/Limits.h"
#include <string>
#include <string_view>

namespace sinter {

/// A machine as the cost model reckons with it.
struct Machine {
  std::string chip; ///< "znver3", "sm_90"
  int64_t cores = 0, vectorBits = 0;
  runtime::Limits rates;    ///< in a second
  double launchSeconds = 0; ///< that starting a kernel takes
};

/// A machine by name, as parseTarget() has it; its errors, too.
Expected<Machine> describeMachine(std::string_view target, int64_t cores);

} // namespace sinter
