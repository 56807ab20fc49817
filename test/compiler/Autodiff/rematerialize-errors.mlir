// RUN: sinter-opt %s --sinter-rematerialize="release=1" --split-input-file --verify-diagnostics
// RUN: not sinter-opt %s --sinter-rematerialize="release=1 granularity=head" --split-input-file 2>&1 | FileCheck %s

// CHECK: expected a granularity op, block or layer, got head
// expected-error @below {{expected the module to have a target (sinter.target)}}
module {
  func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"})
      attributes {sinter.entry} {
    return %x : tensor<4xf32>
  }
}
