// RUN: sinter-opt %s --sinter-lower-to-plan --split-input-file --verify-diagnostics

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// Only dense tensors have the same bytes under another shape.
func.func @reshape(%x: tensor<8x64xf32, #panels> {sinter.input = "x"}) -> (tensor<512xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  // expected-error @below {{expected a kernel call, a collective, a fusion that is a command, a reshape of dense tensors or a constant}}
  %0 = sinter.reshape %x : (tensor<8x64xf32, #panels>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// -----

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
func.func @constant(%x: tensor<8xf32> {sinter.input = "x"})
    -> (tensor<8x64xf32, #panels> {sinter.output = "y"}) attributes {sinter.entry} {
  // expected-error @below {{expected a constant between kernels to be dense}}
  %0 = sinter.constant dense<1.0> : tensor<8x64xf32, #panels>
  return %0 : tensor<8x64xf32, #panels>
}
