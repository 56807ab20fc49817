// RUN: sinter-opt %s --split-input-file --sinter-split-stages="microbatches=4" --verify-diagnostics

// expected-error @below {{`grid`: 2 stages of a pipeline are more than the model's 0 layers; give fewer}}
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @evaluate(%x: tensor<4xi32> {sinter.input = "tokens"}) -> (tensor<4xi32> {sinter.output = "y"}) attributes {sinter.entry} {
    return %x : tensor<4xi32>
  }
}

// -----

// expected-error @below {{`accumulate`: 4 microbatches a rank: keep no 8 stages of a pipeline busy; give 8 or more of them}}
module attributes {sinter.grid = #sinter.grid<pipeline = 8>} {
}

// -----

// A state of no parameter is no stage's.
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4xf32> {sinter.input = "tokens"}, %n: tensor<4xf32> {sinter.state = "steps"})
      -> (tensor<4xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.state = "steps"}) attributes {sinter.entry} {
    %a = sinter.gelu %x : (tensor<4xf32>) -> tensor<4xf32> loc("layer.0")
    %b = sinter.gelu %a : (tensor<4xf32>) -> tensor<4xf32> loc("layer.1")
    // expected-error @below {{expected states of one stage of the pipeline, each named by a parameter, got "steps"}}
    %next = sinter.add %n, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b, %next : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// What a forward pass read of a gradient so far would be without microbatches whose backward passes are
// still to come.
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                        %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                        %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                        %g0: tensor<4x4xf32> {sinter.state = "gradient.w.0", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}, tensor<4x4xf32> {sinter.state = "gradient.w.0"})
      attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    // expected-error @unknown {{expected state "gradient.w.0" to be read by the pass that changes it, or a later one}}
    %seen = sinter.add %y, %g0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %seen, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    %dy = sinter.matmul %z, %w1 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %d0 = sinter.matmul %x, %dy {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %sum = sinter.add %g0, %d0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    return %z, %sum : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// What has come back does not go forward again.
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                        %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                        %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                        %g1: tensor<4x4xf32> {sinter.state = "gradient.w.1", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}, tensor<4x4xf32> {sinter.state = "gradient.w.1"})
      attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    %dy = sinter.matmul %z, %w1 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %d0 = sinter.matmul %dy, %w0 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    // expected-error @unknown {{what stage 1 of the pipeline computes here waits for what comes back to stage 0, and a microbatch goes forward and back once}}
    %sum = sinter.add %g1, %d0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.1"])
    return %z, %sum : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
