// A graph of one entry is profiled as a model is, on inputs that are made up.
// RUN: sinter profile %s --target cpu --iters 2 | FileCheck %s
// RUN: sinter profile %s --target cpu --dtype bf16 --iters 2 --json | FileCheck %s --check-prefix=JSON
// RUN: sed 's/@work/@other/' %s > %t.mlir && cat %s >> %t.mlir && not sinter profile %t.mlir --target cpu 2>&1 | FileCheck %s --check-prefix=SEVERAL

// CHECK: add+layer_norm
// CHECK: total
// JSON: "op":"add+layer_norm"
// SEVERAL: .mlir: it has several entries; give a graph of one entry
func.func @work(%x: tensor<64x96xf32> {sinter.input = "x"}, %w: tensor<96xf32> {sinter.input = "w"}, %i: tensor<4xi32> {sinter.input = "i"})
    -> (tensor<64x96xf32> {sinter.output = "y"}, tensor<4xi32> {sinter.output = "j"}) attributes {sinter.entry} {
  %0 = sinter.add %x, %x : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = sinter.layer_norm %0, %w, %w {eps = 1.0e-5} : (tensor<64x96xf32>, tensor<96xf32>, tensor<96xf32>) -> tensor<64x96xf32>
  return %1, %i : tensor<64x96xf32>, tensor<4xi32>
}
