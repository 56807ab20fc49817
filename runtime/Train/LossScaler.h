//===- LossScaler.h - Gradients that f16 can hold ---------------*- C++ -*-===//
//
// In f16 small gradients vanish, so the loss is multiplied by a scale before the backward pass and
// the gradients divided by it after. Where one overflows, the step is skipped and the scale halved;
// after enough steps without, it is doubled. The rules are those of PyTorch's GradScaler:
//
//   a step that is not finite   scale *= backoff; count = 0
//   any other                   count += 1; at `interval`: scale *= growth (if that is finite),
//                               count = 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace sinter::runtime {

struct LossScalerOptions {
  float initial = 65536;
  float growth = 2;
  float backoff = 0.5;
  uint64_t interval = 2000; ///< steps
};

/// What a checkpoint keeps of a scaler.
struct LossScalerState {
  float scale = 1;
  uint64_t count = 0; ///< steps since the last change
  bool operator==(const LossScalerState &) const = default;
};

class LossScaler {
public:
  explicit LossScaler(const LossScalerOptions &options = {})
      : options(options), current{options.initial, 0} {}

  float getScale() const { return current.scale; }

  /// Tells whether the gradients of a step that used scale() were finite.
  void update(bool finite);

  /// No gradient survives a scale this small: the numbers that overflow are not the scale's fault.
  bool isExhausted() const { return current.scale < 0x1p-24f; }

  const LossScalerState &getState() const { return current; }
  void restore(const LossScalerState &state) { current = state; }

private:
  LossScalerOptions options;
  LossScalerState current;
};

} // namespace sinter::runtime
