// RUN: not sinter-opt %s --sinter-apply-optimizer="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not sinter-opt %s --sinter-apply-optimizer="beta2=1" 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not sinter-opt %s --sinter-apply-optimizer="grad-clip=-1" 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not sinter-opt %s --sinter-apply-optimizer="accumulate=0" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not sinter-opt %s --sinter-apply-optimizer="state-dtype=f16" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not sinter-opt %s --sinter-apply-optimizer="beta1=much" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16 optimizer=adafactor" 2>&1 | FileCheck %s --check-prefix=FACTORS

// NAME: error: `optimizer` lion: there is no such choice; give one of adamw, sgd, adafactor, muon
// RATE: error: `beta2` 1: is not a number from 0 to below 1; give 0.95, for example
// CLIP: error: `grad_clip` -1: is not a number from 0 up; give 1, for example
// COUNT: error: `accumulate` 0: is not a whole number from 1 to 1048576; give one of those
// STATE: error: `state_dtype` f16: there is no such choice; give one of f32, bf16
// TEXT: error: expected another value of beta1, got 'much'
// FACTORS: error: `state_dtype` bf16: is not of adafactor, which keeps little, in f32
func.func @train_step(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xf32>
}
