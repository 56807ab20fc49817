// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// What arguments say of themselves, and what callers have to know of the module.
// CHECK: module attributes {sinter.metadata = {eos_token_ids = "2", vocab_size = "16"}}
module attributes {sinter.metadata = {vocab_size = "16", eos_token_ids = "2"}} {
  // CHECK-LABEL: func.func @decode
  // CHECK-SAME: sinter.initializer = #sinter.normal<mean = 0.000000e+00, deviation = 2.000000e-02>, sinter.parameter = "w"
  // CHECK-SAME: sinter.role = #sinter.role<kv_cache>, sinter.state = "k_cache.0"
  func.func @decode(
      %w: tensor<16x8xf32> {sinter.parameter = "w",
                            sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.02>},
      %k: tensor<1x4x2x4xf32> {sinter.state = "k_cache.0", sinter.role = #sinter.role<kv_cache>,
                               sinter.donated = 1 : i64})
      -> (tensor<16x8xf32> {sinter.output = "y"}, tensor<1x4x2x4xf32> {sinter.state = "k_cache.0"})
      attributes {sinter.entry} {
    return %w, %k : tensor<16x8xf32>, tensor<1x4x2x4xf32>
  }

  // A state that is trained begins as the checkpoint's tensor of its name; every number is kept.
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: sinter.initializer = #sinter.normal<mean = 1.000000e+00, deviation = 0.0{{[0-9]+}}>, sinter.role = #sinter.role<parameter>
  // CHECK-SAME: sinter.role = #sinter.role<optimizer>
  // CHECK-SAME: sinter.role = #sinter.role<gradient>
  func.func @train_step(
      %w: tensor<8xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>,
                         sinter.initializer = #sinter.normal<mean = 1.0, deviation = 0.014142135623730951>},
      %m: tensor<8xf32> {sinter.state = "m.w", sinter.role = #sinter.role<optimizer>},
      %g: tensor<8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
      -> (tensor<8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    return %w : tensor<8xf32>
  }
}
