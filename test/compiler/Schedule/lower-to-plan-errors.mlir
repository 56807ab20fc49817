// RUN: sinter-opt %s --sinter-lower-to-plan --split-input-file --verify-diagnostics

// expected-error @below {{expected a lowered kernel (with sinter.grid)}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @no_grid(%x: tensor<8xf32> {sinter.input = "x"}) -> (tensor<8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  %0 = sinter.call_kernel @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @unfused(%x: tensor<8xf32> {sinter.input = "x"}) -> (tensor<8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  // expected-error @below {{expected a kernel call, a collective, a fusion that is a command, a reshape of dense tensors or a constant}}
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{expected an entry's argument to be bound by an attribute}}
func.func @unbound(%x: tensor<8xf32>) -> (tensor<8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  return %x : tensor<8xf32>
}

// -----

func.func @first(%x: tensor<8xf32> {sinter.state = "s", sinter.donated = 0 : i64})
    -> (tensor<8xf32> {sinter.state = "s"}) attributes {sinter.entry} {
  return %x : tensor<8xf32>
}
// expected-error @below {{expected "s" to have one type in all entries, got 'tensor<4xf32>'}}
func.func @second(%x: tensor<4xf32> {sinter.state = "s", sinter.donated = 0 : i64})
    -> (tensor<4xf32> {sinter.state = "s"}) attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

func.func @epilogue(%x: tensor<2x8xf32> {sinter.input = "x"}, %p: tensor<8x8xf32> {sinter.preprocessed = "p"})
    -> (tensor<2x8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  // expected-error @below {{expected one product and an epilogue of the library's post-ops}}
  %y = sinter.fusion library_gemm(%x, %p : tensor<2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>) {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %0 = sinter.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %1 = sinter.tanh %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    sinter.yield %1 : tensor<2x8xf32>
  }
  return %y : tensor<2x8xf32>
}

// -----

func.func @scaled_columns(%x: tensor<2x8xf32> {sinter.input = "x"}, %p: tensor<8x8xf32> {sinter.preprocessed = "p"},
    %v: tensor<8xf32> {sinter.preprocessed = "v"})
    -> (tensor<2x8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  // expected-error @below {{expected one product and an epilogue of the library's post-ops}}
  %y = sinter.fusion library_gemm(%x, %p, %v : tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>) {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8xf32>):
    %0 = sinter.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %1 = sinter.broadcast %c {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
    %2 = sinter.mul %0, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    sinter.yield %2 : tensor<2x8xf32>
  }
  return %y : tensor<2x8xf32>
}

// -----

!panels = tensor<8x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>

func.func @pack_arithmetic(%w: tensor<8x8xf32> {sinter.parameter = "w"})
    -> (!panels {sinter.preprocessed = "p"}) attributes {sinter.entry} {
  // expected-error @below {{expected slices, transposes, casts and concatenations before the pack, got sinter.neg}}
  %y = sinter.fusion pack(%w : tensor<8x8xf32>) -> (!panels) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = sinter.neg %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = sinter.pack %0 : (tensor<8x8xf32>) -> !panels
    sinter.yield %1 : !panels
  }
  return %y : !panels
}

// -----

!panels = tensor<8x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>

func.func @pack_rounds(%w: tensor<8x8xf32> {sinter.parameter = "w"})
    -> (!panels {sinter.preprocessed = "p"}) attributes {sinter.entry} {
  // expected-error @below {{expected one cast of a matrix to be packed}}
  %y = sinter.fusion pack(%w : tensor<8x8xf32>) -> (!panels) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = sinter.cast %a : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %1 = sinter.cast %0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
    %2 = sinter.pack %1 : (tensor<8x8xf32>) -> !panels
    sinter.yield %2 : !panels
  }
  return %y : !panels
}

// -----

!panels = tensor<8x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>

func.func @pack_beside(%w: tensor<8x8xf32> {sinter.parameter = "w"})
    -> (!panels {sinter.preprocessed = "p"}, tensor<8x8xf32> {sinter.preprocessed = "t"}) attributes {sinter.entry} {
  // expected-error @below {{expected only what is packed}}
  %y:2 = sinter.fusion pack(%w : tensor<8x8xf32>) -> (!panels, tensor<8x8xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = sinter.pack %0 : (tensor<8x8xf32>) -> !panels
    sinter.yield %1, %0 : !panels, tensor<8x8xf32>
  }
  return %y#0, %y#1 : !panels, tensor<8x8xf32>
}

// -----

!panels = tensor<8x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>

func.func @pack_fp8(%w: tensor<8x8xf8E5M2> {sinter.parameter = "w"})
    -> (!panels {sinter.preprocessed = "p"}) attributes {sinter.entry} {
  // expected-error @below {{expected casts between floating-point types of 16 bits and more}}
  %y = sinter.fusion pack(%w : tensor<8x8xf8E5M2>) -> (!panels) {
  ^bb0(%a: tensor<8x8xf8E5M2>):
    %0 = sinter.cast %a : (tensor<8x8xf8E5M2>) -> tensor<8x8xf32>
    %1 = sinter.pack %0 : (tensor<8x8xf32>) -> !panels
    sinter.yield %1 : !panels
  }
  return %y : !panels
}
