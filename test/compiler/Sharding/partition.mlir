// RUN: sinter-opt %s --split-input-file --sinter-partition --cse | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-partition=library=true --cse | FileCheck %s --check-prefix=LIBRARY
// RUN: sinter-opt %s --split-input-file %remarks --sinter-partition -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The sum over ranks of a gradient is split as what it is used with; a parameter that all ranks have
// is sliced before the update and gathered behind it.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[M:arg0]]: tensor<4x8xf32> {sinter.sharding = {{[^}]*}}, sinter.whole = tensor<7x8xf32>}
// CHECK-SAME: %[[G:arg1]]: tensor<7x8xf32> {sinter.sharding{{.*}}}, %[[W:arg2]]: tensor<7x8xf32> {sinter.state = "w"}
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<1x8xf32>
// CHECK: %[[PAD:.*]] = sinter.concat %[[G]], %[[ZERO]]
// CHECK: %[[PARTS:.*]] = sinter.reshape %[[PAD]] : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
// CHECK: %[[MINE:.*]] = sinter.all_to_all ["data"] %[[PARTS]]
// CHECK: %[[SUM:.*]] = sinter.sum_parts %[[MINE]] : (tensor<2x4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[NEXT:.*]] = sinter.add %[[M]], %[[SUM]] : (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: %[[OWN:.*]] = sinter.all_slice ["data"]
// CHECK: %[[NEW:.*]] = sinter.add %[[OWN]], %[[NEXT]]
// CHECK: %[[ALL:.*]] = sinter.all_gather ["data"] %[[NEW]] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
// CHECK: %[[WHOLE:.*]] = sinter.reshape %[[ALL]] : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[TRIMMED:.*]] = sinter.slice %[[WHOLE]] {offsets = array<i64: 0, 0>} : (tensor<8x8xf32>) -> tensor<7x8xf32>
// CHECK: return %[[NEXT]], %[[TRIMMED]]
// LIBRARY-LABEL: func.func @update(
// LIBRARY: sinter.all_reduce ["data"] %{{.*}} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
// LIBRARY-NOT: sinter.all_to_all
// LIBRARY-LABEL: func.func @mlp(
// REMARK: all_to_all along data: a rank sends 128 bytes
// REMARK: all_gather along data: a rank sends 128 bytes
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @update(%m: tensor<7x8xf32> {sinter.state = "m", sinter.sharding = #sinter.sharding<[["data"], []]>},
                    %g: tensor<7x8xf32> {sinter.state = "g", sinter.sharding = #sinter.sharding<[[], []] unreduced ["data"]>},
                    %w: tensor<7x8xf32> {sinter.state = "w"})
      -> (tensor<7x8xf32> {sinter.state = "m", sinter.sharding = #sinter.sharding<[["data"], []]>},
          tensor<7x8xf32> {sinter.state = "w"}) attributes {sinter.entry} {
    %0 = sinter.add %m, %g : (tensor<7x8xf32>, tensor<7x8xf32>) -> tensor<7x8xf32>
    %1 = sinter.add %w, %0 : (tensor<7x8xf32>, tensor<7x8xf32>) -> tensor<7x8xf32>
    return %0, %1 : tensor<7x8xf32>, tensor<7x8xf32>
  }
}

// -----

// Columns of a product are split, the rows that the next one reads are gathered: nothing is added
// across ranks. What is the same everywhere is made in the size of a part. A tensor of the checkpoint
// is whole, and the rank takes its part.
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: %[[W:arg1]]: tensor<4x6xf32> {sinter.parameter = "w"}
// CHECK: %[[OWN:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x4x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[HIDDEN:.*]] = sinter.matmul %arg0, %[[OWN]] : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: %[[TWO:.*]] = sinter.constant dense<2.000000e+00> : tensor<5x3xf32>
// CHECK: %[[TWICE:.*]] = sinter.mul %[[HIDDEN]], %[[TWO]]
// CHECK: %[[ALL:.*]] = sinter.all_gather ["tensor"] %[[TWICE]] : (tensor<5x3xf32>) -> tensor<2x5x3xf32>
// CHECK: %[[ROWS:.*]] = sinter.transpose %[[ALL]] {permutation = array<i64: 1, 0, 2>}
// CHECK: %[[WHOLE:.*]] = sinter.reshape %[[ROWS]] : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
// What nobody asked to split is split by the result's columns.
// CHECK: %[[DOWN:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x6x2xf32>) -> tensor<6x2xf32>
// CHECK: %[[PART:.*]] = sinter.matmul %[[WHOLE]], %[[DOWN]] : (tensor<5x6xf32>, tensor<6x2xf32>) -> tensor<5x2xf32>
// CHECK: sinter.all_gather ["tensor"] %[[PART]]
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @mlp(%x: tensor<5x4xf32> {sinter.input = "x"},
                 %w: tensor<4x6xf32> {sinter.parameter = "w", sinter.sharding = #sinter.sharding<[[], ["tensor"]]>},
                 %down: tensor<6x4xf32> {sinter.parameter = "down"})
      -> (tensor<5x4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %w : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    %1 = sinter.constant dense<2.0> : tensor<5x6xf32>
    %2 = sinter.mul %0, %1 : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = sinter.matmul %2, %down : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
    return %3 : tensor<5x4xf32>
  }
}

// -----

// Rows stay with the ranks that have them; what is computed by where an element stands is told.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[FIRST:.*]] = sinter.constant dense<{{\[\[0, 0\], \[4, 4\]\]}}> : tensor<2x2xi32>
// CHECK: %[[START:.*]] = sinter.all_slice ["context"] %[[FIRST]] : (tensor<2x2xi32>) -> tensor<2xi32>
// CHECK: %[[TURNED:.*]] = sinter.rotary %{{.*}}, %arg1, %arg1, %[[START]] : (tensor<2x4x2x4xf32>
// CHECK: %[[NUMBERS:.*]] = sinter.constant dense<{{\[\[0\], \[32\]\]}}> : tensor<2x1xi32>
// CHECK: %[[NUMBER:.*]] = sinter.all_slice ["context"] %[[NUMBERS]] : (tensor<2x1xi32>) -> tensor<1xi32>
// CHECK: %[[SEED:.*]] = sinter.concat %arg2, %[[NUMBER]] {dim = 0 : i64} : (tensor<2xi32>, tensor<1xi32>) -> tensor<3xi32>
// CHECK: sinter.dropout %[[TURNED]], %[[SEED]] {probability = 5.000000e-01 : f64, stream = 1 : i64, whole = array<i64: 2, 8, 2, 4>} : (tensor<2x4x2x4xf32>
// CHECK: sinter.all_gather
module attributes {sinter.grid = #sinter.grid<context = 2>} {
  func.func @rows(%x: tensor<2x8x2x4xf32> {sinter.input = "x"}, %cos: tensor<8x2xf32> {sinter.input = "cos"},
                  %seed: tensor<2xi32> {sinter.input = "seed"}) -> (tensor<2x8x2x4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.shard %x {sharding = #sinter.sharding<[[], ["context"], [], []]>} : (tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
    %1 = sinter.rotary %0, %cos, %cos : (tensor<2x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x8x2x4xf32>
    %2 = sinter.dropout %1, %seed {probability = 0.5, stream = 1 : i64} : (tensor<2x8x2x4xf32>, tensor<2xi32>) -> tensor<2x8x2x4xf32>
    return %2 : tensor<2x8x2x4xf32>
  }
}

// -----

// Queries are split, keys and values are gathered; after what the cache holds, positions count from there.
// CHECK-LABEL: func.func @queries(
// CHECK: %[[POSITIONS:.*]] = sinter.positions %arg2 : (tensor<1xi32>) -> tensor<1x8xi32>
// CHECK: %[[OWN:.*]] = sinter.all_slice ["context"] %{{.*}} : (tensor<2x1xi32>) -> tensor<1xi32>
// CHECK: sinter.attention %{{.*}}, %arg1, %arg1, %[[OWN]] {causal{{.*}} : (tensor<1x4x3x4xf32>, tensor<1x16x3x4xf32>, tensor<1x16x3x4xf32>, tensor<1xi32>) -> tensor<1x4x3x4xf32>
module attributes {sinter.grid = #sinter.grid<context = 2>} {
  func.func @queries(%q: tensor<1x8x3x4xf32> {sinter.input = "q"}, %k: tensor<1x16x3x4xf32> {sinter.input = "k"},
                     %start: tensor<1xi32> {sinter.input = "start"}) -> (tensor<1x8x3x4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.shard %q {sharding = #sinter.sharding<[[], ["context"], [], []]>} : (tensor<1x8x3x4xf32>) -> tensor<1x8x3x4xf32>
    %1 = sinter.attention %0, %k, %k, %start {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<1x8x3x4xf32>, tensor<1x16x3x4xf32>, tensor<1x16x3x4xf32>, tensor<1xi32>) -> tensor<1x8x3x4xf32>
    return %1 : tensor<1x8x3x4xf32>
  }
}

// -----

// Along two axes: the rows of one, the columns of the other; what is left of a matrix along the rows
// is gathered, its columns are not.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %arg1: tensor<64x4xf32>
// CHECK: sinter.all_gather ["tensor.rows"] %arg1 : (tensor<64x4xf32>) -> tensor<2x64x4xf32>
// CHECK: sinter.matmul %{{.*}} : (tensor<512x64xf32>, tensor<64x8xf32>) -> tensor<512x8xf32>
module attributes {sinter.grid = #sinter.grid<tensor.rows = 2, tensor.columns = 2>} {
  func.func @both(%x: tensor<1024x64xf32> {sinter.input = "x"},
                  %w: tensor<64x16xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[[], ["tensor.columns", "tensor.rows"]]>})
      -> (tensor<1024x16xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.shard %x {sharding = #sinter.sharding<[["tensor.rows"], []]>} : (tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %1 = sinter.matmul %0, %w : (tensor<1024x64xf32>, tensor<64x16xf32>) -> tensor<1024x16xf32>
    return %1 : tensor<1024x16xf32>
  }
}

// -----

// Axes change places by three exchanges of parts: nothing is gathered.
// CHECK-LABEL: func.func @turn(
// CHECK-NOT: sinter.all_gather
// CHECK: sinter.all_to_all ["a"] %{{.*}} : (tensor<2x4x2xf32>)
// CHECK: sinter.all_to_all ["b", "a"] %{{.*}} : (tensor<4x2x2xf32>)
// CHECK: sinter.all_to_all ["a"] %{{.*}} : (tensor<2x2x4xf32>)
// CHECK-NOT: sinter.all_gather
module attributes {sinter.grid = #sinter.grid<a = 2, b = 2>} {
  func.func @turn(%x: tensor<8x8xf32> {sinter.state = "x", sinter.sharding = #sinter.sharding<[["a"], ["b"]]>})
      -> (tensor<8x8xf32> {sinter.state = "x", sinter.sharding = #sinter.sharding<[["b"], ["a"]]>}) attributes {sinter.entry} {
    return %x : tensor<8x8xf32>
  }
}

// -----

// Of a table of which ranks have rows each, a rank looks up those that it has, and -0.0 for others; what all
// have found is added, which is exact. To the gradient of its rows a rank adds what the tokens of these read.
// CHECK-LABEL: func.func @tied(
// CHECK-SAME: %[[TABLE:arg0]]: tensor<16x4xf32> {{{.*}}sinter.whole = tensor<31x4xf32>}, %[[G:arg1]]: tensor<16x4xf32>
// CHECK-DAG: %[[STARTS:.*]] = sinter.constant dense<{{\[\[0\], \[16\]\]}}> : tensor<2x1xi32>
// CHECK-DAG: %[[START:.*]] = sinter.all_slice ["tensor"] %[[STARTS]] : (tensor<2x1xi32>) -> tensor<1xi32>
// CHECK: %[[FOUND:.*]] = sinter.embedding %[[TABLE]], %arg2, %[[START]] : (tensor<16x4xf32>, tensor<3xi32>, tensor<1xi32>) -> tensor<3x4xf32>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["tensor"] %[[FOUND]] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[ROWS:.*]] = sinter.sum_parts %[[ALL]] : (tensor<2x3x4xf32>) -> tensor<3x4xf32>
// CHECK: sinter.matmul %[[ROWS]], %[[TABLE]] {transpose_rhs} : (tensor<3x4xf32>, tensor<16x4xf32>) -> tensor<3x16xf32>
// CHECK: %[[NEXT:.*]] = sinter.embedding_grad %arg2, %[[ROWS]], %[[G]] from %[[START]] {padding = 2 : i64, rows = 16 : i64}
// CHECK: return %{{.*}}, %[[NEXT]]
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @tied(%w: tensor<31x4xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["tensor"], []]>},
                  %g: tensor<31x4xf32> {sinter.state = "g", sinter.sharding = #sinter.sharding<[["tensor"], []]>},
                  %ids: tensor<3xi32> {sinter.input = "ids"})
      -> (tensor<3x31xf32> {sinter.output = "y"}, tensor<31x4xf32> {sinter.state = "g", sinter.sharding = #sinter.sharding<[["tensor"], []]>})
      attributes {sinter.entry} {
    %0 = sinter.embedding %w, %ids : (tensor<31x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
    %1 = sinter.matmul %0, %w {transpose_rhs} : (tensor<3x4xf32>, tensor<31x4xf32>) -> tensor<3x31xf32>
    %2 = sinter.embedding_grad %ids, %0, %g {padding = 2 : i64, rows = 31 : i64} : (tensor<3xi32>, tensor<3x4xf32>, tensor<31x4xf32>) -> tensor<31x4xf32>
    return %1, %2 : tensor<3x31xf32>, tensor<31x4xf32>
  }
}

// -----

// Parts of a tensor that has one batch lie as they are to be: nothing is transposed.
// CHECK-LABEL: func.func @one_batch(
// CHECK-SAME: %[[X:arg0]]: tensor<1x4x6xf32>
// CHECK-NOT: sinter.transpose
// CHECK: %[[PART:.*]] = sinter.add %[[X]], %[[X]] : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["tensor"] %[[PART]] : (tensor<1x4x6xf32>) -> tensor<2x1x4x6xf32>
// CHECK: %[[WHOLE:.*]] = sinter.reshape %[[ALL]] : (tensor<2x1x4x6xf32>) -> tensor<1x8x6xf32>
// CHECK: return %[[WHOLE]]
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @one_batch(%x: tensor<1x8x6xf32> {sinter.state = "x", sinter.sharding = #sinter.sharding<[[], ["tensor"], []]>})
      -> (tensor<1x8x6xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.add %x, %x : (tensor<1x8x6xf32>, tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
    return %0 : tensor<1x8x6xf32>
  }
}
