// RUN: not sinter-opt %s --sinter-apply-optimizer="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not sinter-opt %s --sinter-apply-optimizer="beta2=1" 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not sinter-opt %s --sinter-apply-optimizer="grad-clip=-1" 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not sinter-opt %s --sinter-apply-optimizer="accumulate=0" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not sinter-opt %s --sinter-apply-optimizer="state-dtype=f16" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16 optimizer=adafactor" 2>&1 | FileCheck %s --check-prefix=FACTORS

// NAME: error: expected an optimizer adamw, sgd, adafactor or muon, got lion
// RATE: error: expected betas and momentum in [0, 1), got 1.0
// CLIP: error: expected no negative eps, weight decay or clipping, got -1.0
// COUNT: error: expected to accumulate 1 step at least, got 0
// STATE: error: expected states of f32 or bf16, got f16
// FACTORS: error: expected states of f32 with adafactor, got bf16
func.func @train_step(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xf32>
}
