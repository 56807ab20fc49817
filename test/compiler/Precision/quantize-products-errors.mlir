// RUN: not sinter-opt %s --sinter-quantize-products=scales=delayed 2>&1 | FileCheck %s
// RUN: not sinter-opt %s --sinter-quantize-products="scales=history history=0" 2>&1 | FileCheck %s --check-prefix=LENGTH
// RUN: not sinter-opt %s --sinter-quantize-products="scales=history margin=-1" 2>&1 | FileCheck %s --check-prefix=MARGIN
// RUN: not sinter-opt %s --sinter-quantize-products=scales=history 2>&1 | FileCheck %s --check-prefix=UPDATE

// CHECK: error: expected scales that are current or of a history, got delayed
// LENGTH: error: expected a history of 1 step at least and a margin of 0 at least, got 0 and 0
// MARGIN: error: expected a history of 1 step at least and a margin of 0 at least, got 16 and -1

// A history is kept where parameters are updated.
// UPDATE: error: expected one entry that updates parameters, and histories with them, got 0
func.func @train(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  %0 = sinter.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused<"backward">["layer"])
  return %0 : tensor<4xf32>
}
