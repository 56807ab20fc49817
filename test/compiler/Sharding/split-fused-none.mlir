// RUN: sinter-opt %s --split-input-file --sinter-split-fused -o %t.mlir
// RUN: sinter-opt %s --split-input-file | diff - %t.mlir

// Along `data` matrices are whole, and what is not trained stays one tensor of the checkpoint.
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "tokens"},
                      %w: tensor<8x6xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"})
      -> (tensor<4x2xf32> {sinter.output = "q"}, tensor<4x4xf32> {sinter.output = "k"})
      attributes {sinter.entry} {
    %0 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
    %1 = sinter.slice %w {offsets = array<i64: 0, 2>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
    %2 = sinter.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %3 = sinter.matmul %x, %1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %2, %3 : tensor<4x2xf32>, tensor<4x4xf32>
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @decode(%x: tensor<4x8xf32> {sinter.input = "tokens"}, %w: tensor<8x6xf32> {sinter.parameter = "w"})
      -> (tensor<4x2xf32> {sinter.output = "q"}, tensor<4x4xf32> {sinter.output = "k"})
      attributes {sinter.entry} {
    %0 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
    %1 = sinter.slice %w {offsets = array<i64: 0, 2>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
    %2 = sinter.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %3 = sinter.matmul %x, %1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %2, %3 : tensor<4x2xf32>, tensor<4x4xf32>
  }
}

// -----

module {
  func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "tokens"},
                      %w: tensor<8x6xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"})
      -> (tensor<4x6xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
