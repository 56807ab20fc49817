// RUN: sinter-opt %s --split-input-file --sinter-split-experts -o %t.mlir
// RUN: sinter-opt %s --split-input-file | diff - %t.mlir

// Along `data` experts are whole.
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                      %a: tensor<4x8xf32> {sinter.parameter = "a"}, %b: tensor<4x8xf32> {sinter.parameter = "b"})
      -> (tensor<4x2xf32> {sinter.output = "g"}, tensor<4x2xf32> {sinter.output = "u"}) attributes {sinter.entry} {
    %0 = sinter.concat %a, %b {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = sinter.reshape %0 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %2 = sinter.grouped_matmul %x, %1, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<3xi32>) -> tensor<4x4xf32>
    %3 = sinter.slice %2 {offsets = array<i64: 0, 0>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %4 = sinter.slice %2 {offsets = array<i64: 0, 2>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
    return %3, %4 : tensor<4x2xf32>, tensor<4x2xf32>
  }
}

// -----

// Parts of one tensor that do not divide, parts that are not all of it, columns that are read otherwise,
// too, and the gradient of one tensor: what these are of is split as the one that it is.
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                      %w: tensor<2x6x8xf32> {sinter.parameter = "w"}, %v: tensor<2x8x8xf32> {sinter.parameter = "v"},
                      %d: tensor<4x3xf32> {sinter.input = "d"}, %g: tensor<2x6x8xf32> {sinter.state = "gradient.w"})
      -> (tensor<4x3xf32> {sinter.output = "a"}, tensor<4x3xf32> {sinter.output = "b"}, tensor<4x4xf32> {sinter.output = "c"},
          tensor<4x4xf32> {sinter.output = "d"}, tensor<4x4xf32> {sinter.output = "e"}, tensor<4x8xf32> {sinter.output = "f"},
          tensor<2x6x8xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    %0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x6x8xf32>, tensor<3xi32>) -> tensor<4x6xf32>
    %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %2 = sinter.slice %0 {offsets = array<i64: 0, 3>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %3 = sinter.grouped_matmul %x, %v, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x8x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
    %4 = sinter.slice %3 {offsets = array<i64: 0, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %5 = sinter.grouped_matmul %x, %v, %o : (tensor<4x8xf32>, tensor<2x8x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
    %6 = sinter.slice %5 {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %7 = sinter.slice %5 {offsets = array<i64: 0, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %8 = sinter.concat %d, %d {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
    %9 = sinter.grouped_outer %8, %x, %o : (tensor<4x6xf32>, tensor<4x8xf32>, tensor<3xi32>) -> tensor<2x6x8xf32>
    %10 = sinter.add %g, %9 : (tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
    return %1, %2, %4, %6, %7, %5, %10 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>,
        tensor<4x8xf32>, tensor<2x6x8xf32>
  }
}

// -----

// Matrices of unlike rows, several experts' in one tensor, and a stack that no product of groups reads.
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @stacks(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                    %a: tensor<2x8xf32> {sinter.parameter = "a"}, %b: tensor<6x8xf32> {sinter.parameter = "b"},
                    %c: tensor<4x8xf32> {sinter.parameter = "c"})
      -> (tensor<4x4xf32> {sinter.output = "a"}, tensor<4x2xf32> {sinter.output = "b"}, tensor<2x4x8xf32> {sinter.output = "c"})
      attributes {sinter.entry} {
    %0 = sinter.concat %a, %b {dim = 0 : i64} : (tensor<2x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %1 = sinter.reshape %0 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %2 = sinter.grouped_matmul %x, %1, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<3xi32>) -> tensor<4x4xf32>
    %3 = sinter.reshape %c : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
    %4 = sinter.grouped_matmul %x, %3, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x2x8xf32>, tensor<3xi32>) -> tensor<4x2xf32>
    %5 = sinter.concat %c, %c {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %6 = sinter.reshape %5 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    return %2, %4, %6 : tensor<4x4xf32>, tensor<4x2xf32>, tensor<2x4x8xf32>
  }
}
