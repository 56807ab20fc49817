// RUN: sinter-opt %s --split-input-file --sinter-partition=forbid-gather=true --verify-diagnostics
// RUN: sinter-opt %s --split-input-file --sinter-partition 2>&1 | FileCheck %s

// Keys of three heads do not divide over five ranks; gradients of keys are sums over all queries.
// CHECK: warning: sinter.attention_grad of the program cannot be split along tensor: every rank gathers q of tensor<1x512x3x64xf32>, 393216 bytes; so it is 3 more times
module attributes {sinter.grid = #sinter.grid<tensor = 5>} {
  // expected-error @below {{sinter.attention_grad of the program cannot be split along tensor: every rank gathers q of tensor<1x512x3x64xf32>, 393216 bytes; so it is 3 more times}}
  func.func @heads(%q: tensor<1x512x3x64xf32> {sinter.state = "q", sinter.sharding = #sinter.sharding<[[], ["tensor"], [], []]>},
                   %l: tensor<1x512x3xf32> {sinter.input = "l"}) -> (tensor<1x512x3x64xf32> {sinter.output = "dq"}) attributes {sinter.entry} {
    %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>, tensor<1x512x3xf32>, tensor<1x512x3xf32>) -> (tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>)
    return %0#0 : tensor<1x512x3x64xf32>
  }
}

// -----

// What a recipe asks for is nothing to tell: a result is wanted whole, a token is drawn from all
// logits.
// CHECK-NOT: warning
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @draw(%l: tensor<1x50000xf32> {sinter.state = "l", sinter.sharding = #sinter.sharding<[[], ["tensor"]]>},
                  %f: tensor<1xf32> {sinter.input = "f"}, %i: tensor<1xi32> {sinter.input = "i"}, %s: tensor<1x2xi32> {sinter.input = "s"})
      -> (tensor<1xi32> {sinter.output = "token"}, tensor<1x50000xf32> {sinter.output = "logits"}) attributes {sinter.entry} {
    %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<1x50000xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    return %0, %l : tensor<1xi32>, tensor<1x50000xf32>
  }
}
