//===- OptimizerOptions.h - How parameters are updated ----------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"

namespace sinter {

/// The options of an optimizer, of the pass sinter-apply-optimizer.
struct OptimizerOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "compiler/Autodiff/OptimizerOptions.def"

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "compiler/Autodiff/OptimizerOptions.def"
  }

  /// Of adafactor with `relative_step`.
  static constexpr double largestRelativeStep = 1e-2;

  /// The momentum, where it is not given that of the optimizer.
  double getMomentum() const { return momentum.value_or(optimizer == "muon" ? 0.95 : 0.9); }

  /// Checks each option, and that they go together.
  Expected<void> check() const {
    SINTER_CHECK(checkOptions(*this));
    if (stateType != "f32" && optimizer == "adafactor")
      return fail("`state_dtype` " + stateType, "is not of adafactor, which keeps little, in f32",
                  "leave it out, or choose another optimizer");
    return {};
  }
};

} // namespace sinter
