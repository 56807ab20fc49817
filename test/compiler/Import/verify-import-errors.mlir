// RUN: sinter-opt %s --sinter-verify-import --split-input-file --verify-diagnostics

// expected-error @below {{expected an entry function}}
module {
  func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32>
}

// -----

func.func @foreign_op(%x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  // expected-error @below {{expected only graph ops in an entry after Import}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{expected argument 0 to be bound by one of sinter.parameter, sinter.state, sinter.input}}
func.func @unbound_argument(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected result 0 to be bound by one of sinter.output, sinter.state}}
func.func @unbound_result(%x: tensor<4xf32> {sinter.input = "x"}) -> tensor<4xf32>
    attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected each argument to have a name of its own, got x twice}}
func.func @same_name(%x: tensor<4xf32> {sinter.input = "x"}, %y: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected state s to be donated to a result}}
func.func @undonated_state(%s: tensor<4xf32> {sinter.state = "s"})
    -> (tensor<4xf32> {sinter.state = "s"}) attributes {sinter.entry} {
  return %s : tensor<4xf32>
}

// -----

// expected-error @below {{expected state s to be donated to a result}}
func.func @donated_to_nothing(%s: tensor<4xf32> {sinter.state = "s", sinter.donated = 1 : i64})
    -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  return %s : tensor<4xf32>
}

// -----

// expected-error @below {{expected state s to be donated to a result of its name and type}}
func.func @other_state(%s: tensor<4xf32> {sinter.state = "s", sinter.donated = 0 : i64})
    -> (tensor<4xf32> {sinter.state = "t"}) attributes {sinter.entry} {
  return %s : tensor<4xf32>
}
