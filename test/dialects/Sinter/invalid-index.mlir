// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_c1(%x: tensor<8xf32>) {
  // expected-error @below {{expected one increasing result dimension an operand dimension in dims}}
  %0 = sinter.broadcast %x {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<8xf32>) {
  // expected-error @below {{expected result dimension 0 to be 8, got 4}}
  %0 = sinter.broadcast %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<8xf32>) {
  // expected-error @below {{expected operand and result of one element type}}
  %0 = sinter.broadcast %x {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @reshape_c1(%x: tensor<8xf32>) {
  // expected-error @below {{expected as many elements of the same type, got 'tensor<8xf32>' -> 'tensor<3x3xf32>'}}
  %0 = sinter.reshape %x : (tensor<8xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a permutation of the operand's dimensions}}
  %0 = sinter.transpose %x {permutation = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the operand's shape permuted, got 'tensor<4x8xf32>'}}
  %0 = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected one offset a dimension and a result of the operand's rank and element type}}
  %0 = sinter.slice %x {offsets = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the box to lie inside 'tensor<4x8xf32>', got offset 3 and extent 2}}
  %0 = sinter.slice %x {offsets = array<i64: 3, 0>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected an operand at least and dim to be a dimension of it}}
  %0 = sinter.concat %x, %x {dim = 2 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected extents along dim to add up to 9, got 8}}
  %0 = sinter.concat %x, %x {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return
}

// -----

func.func @concat_c2_shapes(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>) {
  // expected-error @below {{expected operands that agree with the result but for dim, got 'tensor<4x6xf32>'}}
  %0 = sinter.concat %x, %y {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x8xf32>
  return
}

// -----

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
func.func @pack_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected operand and result of one shape, or matrices side by side, and of one element type}}
  %0 = sinter.pack %x : (tensor<4x8xf32>) -> tensor<8x4xf32, #panels>
  return
}

// -----

func.func @pack_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a dense operand and a result with a layout}}
  %0 = sinter.pack %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @positions_c1(%s: tensor<2xi32>) {
  // expected-error @below {{expected start [b] and a result [b, t]}}
  %0 = sinter.positions %s : (tensor<2xi32>) -> tensor<3x4xi32>
  return
}

// -----

func.func @embedding_c1(%t: tensor<64x8xf32>, %ids: tensor<2x4xi32>) {
  // expected-error @below {{expected a table [rows, width] and ids' shape with width appended}}
  %0 = sinter.embedding %t, %ids : (tensor<64x8xf32>, tensor<2x4xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @embedding_c2(%t: tensor<64x8xf32>, %ids: tensor<2x4xi32>, %start: tensor<2xi32>) {
  // expected-error @below {{expected a start [1], got 'tensor<2xi32>'}}
  %0 = sinter.embedding %t, %ids, %start : (tensor<64x8xf32>, tensor<2x4xi32>, tensor<2xi32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @embedding_c1_transposed(%t: tensor<64x8xf32>, %ids: tensor<2x4xi32>) {
  // expected-error @below {{expected a table [width, rows] and ids' shape with width appended}}
  %0 = sinter.embedding %t, %ids {transpose_table} : (tensor<64x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @last_row_c1(%x: tensor<2x4x8xf32>, %count: tensor<3xi32>) {
  // expected-error @below {{expected operand [b, t, d], count [b] and a result [b, d]}}
  %0 = sinter.last_row %x, %count : (tensor<2x4x8xf32>, tensor<3xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @one_hot_c1(%i: tensor<4xi32>) {
  // expected-error @below {{expected a floating-point result of ids' shape with the classes appended}}
  %0 = sinter.one_hot %i : (tensor<4xi32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @one_hot_c1_type(%i: tensor<4xi32>) {
  // expected-error @below {{expected a floating-point result}}
  %0 = sinter.one_hot %i : (tensor<4xi32>) -> tensor<4x8xi32>
  return
}

// -----

func.func @pick_c1(%x: tensor<4x8xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{expected ids and a result of the operand's shape without its last dimension}}
  %0 = sinter.pick %x, %i : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @pick_c1_type(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @below {{expected ids and a result of the operand's shape without its last dimension}}
  %0 = sinter.pick %x, %i : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xbf16>
  return
}
