// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings=zero=1 | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings | FileCheck %s --check-prefix=ZERO0
// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings=zero=2 | FileCheck %s --check-prefix=ZERO2
// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings=zero=3 | FileCheck %s --check-prefix=ZERO3

// A step on microbatches of its own: what it adds up is a term of the sum over ranks.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %arg1: tensor<8x4xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}} unreduced ["data"]>, sinter.state = "gradient.w"}
// CHECK-SAME: -> (tensor<8x4xf32> {sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}} unreduced ["data"]>, sinter.state = "gradient.w"})
// CHECK-SAME: sinter.manual = ["data"]
// What an optimizer keeps is split by rows, if each rank has one.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %arg0: tensor<8x4xf32> {sinter.role = #sinter.role<optimizer>, sinter.sharding = #sinter.sharding<{{\[\["data"\], \[\]\]}}>
// CHECK-SAME: %arg1: tensor<1x4xf32> {sinter.role = #sinter.role<optimizer>, sinter.state = "m.few"}
// CHECK-SAME: %arg2: tensor<8x4xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"}
// CHECK-NOT: sinter.manual
// ZERO0-LABEL: func.func @update(
// ZERO0-NOT: sinter.sharding
// ZERO0-LABEL: func.func @decode(
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @accumulate(%t: tensor<1x4xi32> {sinter.input = "tokens"},
                        %g: tensor<8x4xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
      -> (tensor<8x4xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    return %g : tensor<8x4xf32>
  }
  func.func @update(%m: tensor<8x4xf32> {sinter.state = "m.w", sinter.role = #sinter.role<optimizer>},
                    %few: tensor<1x4xf32> {sinter.state = "m.few", sinter.role = #sinter.role<optimizer>},
                    %w: tensor<8x4xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>})
      -> (tensor<8x4xf32> {sinter.state = "m.w"}) attributes {sinter.entry} {
    return %m : tensor<8x4xf32>
  }
}

// -----

// A rank has its rows of a matrix' parameters; vectors are whole, and what an optimizer keeps of them is split.
// ZERO3-LABEL: func.func @update_all(
// ZERO3-SAME: %arg0: tensor<8x4xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\["data"\], \[\]\]}}>, sinter.state = "w"}
// ZERO3-SAME: %arg1: tensor<8xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "norm"}
// ZERO3-SAME: %arg2: tensor<8xf32> {sinter.role = #sinter.role<optimizer>, sinter.sharding = #sinter.sharding<{{\[\["data"\]\]}}>, sinter.state = "m.norm"}
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @update_all(%w: tensor<8x4xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                    %n: tensor<8xf32> {sinter.state = "norm", sinter.role = #sinter.role<parameter>},
                    %m: tensor<8xf32> {sinter.state = "m.norm", sinter.role = #sinter.role<optimizer>})
      -> (tensor<8xf32> {sinter.state = "m.norm"}) attributes {sinter.entry} {
    return %m : tensor<8xf32>
  }
}

// -----

// Matrices that products read are split by columns, through casts and transposes; a table that is looked
// up in, too, by the rows that are these, unless nothing multiplies by it. Caches are split by heads.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %arg1: tensor<6x4xf32> {sinter.parameter = "wt", sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>}
// CHECK-SAME: %arg2: tensor<4x6xbf16> {sinter.parameter = "w", sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\]\]}}>}
// CHECK-SAME: %arg3: tensor<6x4xf32> {sinter.parameter = "tied", sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>}
// CHECK-SAME: %arg4: tensor<1x8x4x2xf32> {sinter.role = #sinter.role<kv_cache>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\], \["tensor"\], \[\]\]}}>, sinter.state = "k"}
// CHECK-SAME: %arg5: tensor<1x8x1x2xf32> {sinter.role = #sinter.role<kv_cache>, sinter.state = "one"}
// CHECK-SAME: %arg7: tensor<6x4xf32> {sinter.parameter = "table"}
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @decode(%x: tensor<1x4xf32> {sinter.input = "x"}, %wt: tensor<6x4xf32> {sinter.parameter = "wt"},
                    %w: tensor<4x6xbf16> {sinter.parameter = "w"}, %table: tensor<6x4xf32> {sinter.parameter = "tied"},
                    %k: tensor<1x8x4x2xf32> {sinter.state = "k", sinter.role = #sinter.role<kv_cache>},
                    %one: tensor<1x8x1x2xf32> {sinter.state = "one", sinter.role = #sinter.role<kv_cache>},
                    %ids: tensor<1xi32> {sinter.input = "ids"}, %untied: tensor<6x4xf32> {sinter.parameter = "table"})
      -> (tensor<1x6xf32> {sinter.output = "a"}, tensor<1x6xf32> {sinter.output = "b"}, tensor<1x6xf32> {sinter.output = "c"},
          tensor<1x4xf32> {sinter.output = "d"})
      attributes {sinter.entry} {
    %0 = sinter.matmul %x, %wt {transpose_rhs} : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    %1 = sinter.cast %w : (tensor<4x6xbf16>) -> tensor<4x6xf32>
    %2 = sinter.matmul %x, %1 : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
    %3 = sinter.embedding %table, %ids : (tensor<6x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    %4 = sinter.matmul %3, %table {transpose_rhs} : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    %5 = sinter.embedding %untied, %ids : (tensor<6x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    return %0, %2, %4, %5 : tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x4xf32>
  }
}

// -----

// What only adds gradients to each other adds the rank's own, but for those that are sums already.
// CHECK-LABEL: func.func @carry.1(
// CHECK-SAME: sinter.manual = ["data"]
// ZERO2-LABEL: func.func @carry.1(
// ZERO2-SAME: %arg0: tensor<8x4xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\["data"\], \[\]\]}}>
// ZERO2-NOT: sinter.manual
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @carry.1(%from: tensor<8x4xf32> {sinter.state = "gradient0.w", sinter.role = #sinter.role<gradient>},
                     %to: tensor<8x4xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
      -> (tensor<8x4xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    %0 = sinter.add %to, %from : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// The tokens of a sequence are split along context. A matrix is whole, its gradient and what an
// optimizer keeps of it are split by the dimension that the gradient is made in parts of: columns of
// a product, rows of what is put together from columns.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %arg0: tensor<1x8xi32> {sinter.input = "tokens"}
// CHECK-SAME: %arg1: tensor<4x6xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"}
// CHECK-SAME: %arg2: tensor<4x6xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\[\], \["context"\]\]}}>, sinter.state = "gradient.w"}
// CHECK-SAME: %arg3: tensor<4x6xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\["context"\], \[\]\]}}>, sinter.state = "gradient.qkv"}
// CHECK: sinter.shard %arg0 {sharding = #sinter.sharding<{{\[\[\], \["context"\]\]}}>}
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %arg0: tensor<4x6xf32> {sinter.role = #sinter.role<optimizer>, sinter.sharding = #sinter.sharding<{{\[\["context"\], \[\]\]}}>, sinter.state = "adamw.m.qkv"}
module attributes {sinter.grid = #sinter.grid<context = 2>} {
  func.func @step(%t: tensor<1x8xi32> {sinter.input = "tokens"}, %w: tensor<4x6xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                  %g: tensor<4x6xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>},
                  %h: tensor<4x6xf32> {sinter.state = "gradient.qkv", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x6xf32> {sinter.state = "gradient.w"}, tensor<4x6xf32> {sinter.state = "gradient.qkv"}) attributes {sinter.entry} {
    %0 = sinter.embedding %w, %t : (tensor<4x6xf32>, tensor<1x8xi32>) -> tensor<1x8x6xf32>
    %1 = sinter.reshape %0 : (tensor<1x8x6xf32>) -> tensor<8x6xf32>
    %2 = sinter.slice %1 {offsets = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
    %3 = sinter.matmul %2, %1 {transpose_lhs} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %4 = sinter.add %g, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = sinter.slice %1 {offsets = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<8x3xf32>
    %6 = sinter.matmul %2, %5 {transpose_lhs} : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %7 = sinter.concat %6, %6 {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
    %8 = sinter.add %h, %7 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %4, %8 : tensor<4x6xf32>, tensor<4x6xf32>
  }
  func.func @update(%m: tensor<4x6xf32> {sinter.state = "adamw.m.qkv", sinter.role = #sinter.role<optimizer>})
      -> (tensor<4x6xf32> {sinter.state = "adamw.m.qkv"}) attributes {sinter.entry} {
    return %m : tensor<4x6xf32>
  }
}

// -----

// On a grid of rows and columns whole sequences are split, or the tokens of one, and matrices along
// both where they divide.
// CHECK-LABEL: func.func @batch(
// CHECK-SAME: %arg1: tensor<4x8xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor.columns", "tensor.rows"\]\]}}>, sinter.state = "w"}
// CHECK-SAME: %arg2: tensor<4x6xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor.columns"\]\]}}>, sinter.state = "odd"}
// CHECK: sinter.shard %arg0 {sharding = #sinter.sharding<{{\[\["tensor.rows"\], \[\]\]}}>}
// CHECK-LABEL: func.func @one(
// CHECK: sinter.shard %arg0 {sharding = #sinter.sharding<{{\[\[\], \["tensor.rows"\]\]}}>}
module attributes {sinter.grid = #sinter.grid<tensor.rows = 2, tensor.columns = 2>} {
  func.func @batch(%t: tensor<2x8xi32> {sinter.input = "tokens"}, %w: tensor<4x8xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                   %odd: tensor<4x6xf32> {sinter.state = "odd", sinter.role = #sinter.role<parameter>}, %table: tensor<4x4xf32> {sinter.state = "table", sinter.role = #sinter.role<parameter>})
      -> (tensor<2x8x8xf32> {sinter.output = "a"}, tensor<2x8x6xf32> {sinter.output = "b"}) attributes {sinter.entry} {
    %0 = sinter.embedding %table, %t : (tensor<4x4xf32>, tensor<2x8xi32>) -> tensor<2x8x4xf32>
    %1 = sinter.matmul %0, %w : (tensor<2x8x4xf32>, tensor<4x8xf32>) -> tensor<2x8x8xf32>
    %2 = sinter.matmul %0, %odd : (tensor<2x8x4xf32>, tensor<4x6xf32>) -> tensor<2x8x6xf32>
    return %1, %2 : tensor<2x8x8xf32>, tensor<2x8x6xf32>
  }
  func.func @one(%t: tensor<1x8xi32> {sinter.input = "tokens"}, %table: tensor<4x4xf32> {sinter.state = "table", sinter.role = #sinter.role<parameter>})
      -> (tensor<1x8x4xf32> {sinter.output = "a"}) attributes {sinter.entry} {
    %0 = sinter.embedding %table, %t : (tensor<4x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
    return %0 : tensor<1x8x4xf32>
  }
}

// -----

// In depth tokens are split, too, and matrices whole: their gradients are split along it.
// CHECK-LABEL: func.func @deep(
// CHECK-SAME: %arg1: tensor<4x8xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor.columns", "tensor.rows"\]\]}}>, sinter.state = "w"}
// CHECK-SAME: %arg3: tensor<4x8xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\["tensor.depth"\], \["tensor.columns", "tensor.rows"\]\]}}>, sinter.state = "gradient.w"}
// CHECK: sinter.shard %arg0 {sharding = #sinter.sharding<{{\[\["tensor.depth", "tensor.rows"\], \[\]\]}}>}
module attributes {sinter.grid = #sinter.grid<tensor.depth = 2, tensor.rows = 2, tensor.columns = 2>} {
  func.func @deep(%t: tensor<4x8xi32> {sinter.input = "tokens"}, %w: tensor<4x8xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                  %table: tensor<4x4xf32> {sinter.state = "table", sinter.role = #sinter.role<parameter>},
                  %g: tensor<4x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x8x8xf32> {sinter.output = "a"}, tensor<4x8xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    %0 = sinter.embedding %table, %t : (tensor<4x4xf32>, tensor<4x8xi32>) -> tensor<4x8x4xf32>
    %1 = sinter.matmul %0, %w : (tensor<4x8x4xf32>, tensor<4x8xf32>) -> tensor<4x8x8xf32>
    %x = sinter.slice %0 {offsets = array<i64: 0, 0, 0>} : (tensor<4x8x4xf32>) -> tensor<1x8x4xf32>
    %y = sinter.reshape %x : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
    %2 = sinter.matmul %y, %y {transpose_lhs} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = sinter.concat %2, %2 {dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    %4 = sinter.add %g, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1, %4 : tensor<4x8x8xf32>, tensor<4x8xf32>
  }
}

// -----

// Of a fused matrix its parts are split, of integers scales with their columns; a formula of weights
// alone changes nothing. What another value is added to is whole.
// CHECK-LABEL: func.func @weights(
// CHECK-SAME: %arg1: tensor<8x4xi8> {sinter.parameter = "fused"}
// CHECK-SAME: %arg2: tensor<8x2xf32> {sinter.parameter = "scales"}
// CHECK-SAME: %arg3: tensor<6x4xf32> {sinter.parameter = "w", sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>}
// CHECK-SAME: %arg4: tensor<6x4xf32> {sinter.parameter = "mixed"}
// CHECK: %[[Q:.*]] = sinter.slice %arg1
// CHECK: sinter.shard %[[Q]] {sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>} : (tensor<6x4xi8>)
// CHECK: %[[S:.*]] = sinter.slice %arg2
// CHECK: sinter.shard %[[S]] {sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>} : (tensor<6x2xf32>)
// CHECK-NOT: sinter.shard
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @weights(%x: tensor<6x4xf32> {sinter.input = "x"}, %fused: tensor<8x4xi8> {sinter.parameter = "fused"},
                     %scales: tensor<8x2xf32> {sinter.parameter = "scales"}, %w: tensor<6x4xf32> {sinter.parameter = "w"},
                     %mixed: tensor<6x4xf32> {sinter.parameter = "mixed"})
      -> (tensor<6x6xf32> {sinter.output = "a"}, tensor<6x6xf32> {sinter.output = "b"}, tensor<6x6xf32> {sinter.output = "c"})
      attributes {sinter.entry} {
    %0 = sinter.slice %fused {offsets = array<i64: 2, 0>} : (tensor<8x4xi8>) -> tensor<6x4xi8>
    %1 = sinter.slice %scales {offsets = array<i64: 2, 0>} : (tensor<8x2xf32>) -> tensor<6x2xf32>
    %2 = sinter.matmul %x, %0, %1 {transpose_rhs} : (tensor<6x4xf32>, tensor<6x4xi8>, tensor<6x2xf32>) -> tensor<6x6xf32>
    %3 = sinter.neg %w : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %4 = sinter.maximum %w, %3 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    %5 = sinter.matmul %x, %4 {transpose_rhs} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %6 = sinter.add %mixed, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    %7 = sinter.matmul %x, %6 {transpose_rhs} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    return %2, %5, %7 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
  }
}

// -----

// Experts' matrices are split by the columns of their products, in tensors of their own and in one, and
// so is what an optimizer keeps of them where a step is one entry. The router, of fewer columns than
// ranks, is whole.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %arg2: tensor<6x8xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>, sinter.state = "a.0"}
// CHECK-SAME: %arg3: tensor<6x8xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>, sinter.state = "a.1"}
// CHECK-SAME: %arg4: tensor<2x8x6xf32> {sinter.role = #sinter.role<parameter>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\], \[\]\]}}>, sinter.state = "b"}
// CHECK-SAME: %arg5: tensor<6x8xf32> {sinter.role = #sinter.role<optimizer>, sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>, sinter.state = "adamw.m.a.0"}
// CHECK-SAME: %arg6: tensor<2x8x6xf32> {sinter.role = #sinter.role<optimizer>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\], \[\]\]}}>, sinter.state = "adamw.m.b"}
// CHECK-SAME: %arg7: tensor<2x8xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "router"}
// CHECK-SAME: -> (
// CHECK-SAME: tensor<6x8xf32> {sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>, sinter.state = "adamw.m.a.0"}
// CHECK-SAME: tensor<2x8x6xf32> {sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\], \[\]\]}}>, sinter.state = "adamw.m.b"}
module attributes {sinter.grid = #sinter.grid<tensor = 3>} {
  func.func @train_step(%x: tensor<4x8xi32> {sinter.input = "tokens"}, %o: tensor<3xi32> {sinter.input = "o"},
                        %a: tensor<6x8xf32> {sinter.state = "a.0", sinter.role = #sinter.role<parameter>},
                        %c: tensor<6x8xf32> {sinter.state = "a.1", sinter.role = #sinter.role<parameter>},
                        %b: tensor<2x8x6xf32> {sinter.state = "b", sinter.role = #sinter.role<parameter>},
                        %m: tensor<6x8xf32> {sinter.state = "adamw.m.a.0", sinter.role = #sinter.role<optimizer>},
                        %n: tensor<2x8x6xf32> {sinter.state = "adamw.m.b", sinter.role = #sinter.role<optimizer>},
                        %r: tensor<2x8xf32> {sinter.state = "router", sinter.role = #sinter.role<parameter>})
      -> (tensor<4x8xf32> {sinter.output = "y"}, tensor<4x2xf32> {sinter.output = "scores"},
          tensor<6x8xf32> {sinter.state = "adamw.m.a.0"}, tensor<2x8x6xf32> {sinter.state = "adamw.m.b"}) attributes {sinter.entry} {
    %0 = sinter.cast %x : (tensor<4x8xi32>) -> tensor<4x8xf32>
    %1 = sinter.reshape %a : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
    %2 = sinter.reshape %c : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
    %3 = sinter.concat %1, %2 {dim = 0 : i64} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<2x6x8xf32>
    %4 = sinter.grouped_matmul %0, %3, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x6x8xf32>, tensor<3xi32>) -> tensor<4x6xf32>
    %5 = sinter.grouped_matmul %4, %b, %o {transpose_rhs} : (tensor<4x6xf32>, tensor<2x8x6xf32>, tensor<3xi32>) -> tensor<4x8xf32>
    %6 = sinter.matmul %0, %r {transpose_rhs} : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
    %7 = sinter.add %m, %m : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %8 = sinter.add %n, %n : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
    return %5, %6, %7, %8 : tensor<4x8xf32>, tensor<4x2xf32>, tensor<6x8xf32>, tensor<2x8x6xf32>
  }
}

// -----

// What a layer keeps in place of a cache: a matrix a head by heads, tokens by channels.
// CHECK-LABEL: func.func @recur(
// CHECK-SAME: %arg0: tensor<1x4x6x5xf32> {sinter.role = #sinter.role<recurrent>, sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\], \[\], \[\]\]}}>, sinter.state = "heads"}
// CHECK-SAME: %arg1: tensor<1x3x8xf32> {sinter.role = #sinter.role<recurrent>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\], \["tensor"\]\]}}>, sinter.state = "tokens"}
// CHECK-SAME: %arg2: tensor<1x3x7xf32> {sinter.role = #sinter.role<recurrent>, sinter.state = "odd"}
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @recur(%heads: tensor<1x4x6x5xf32> {sinter.state = "heads", sinter.role = #sinter.role<recurrent>},
                   %tokens: tensor<1x3x8xf32> {sinter.state = "tokens", sinter.role = #sinter.role<recurrent>},
                   %odd: tensor<1x3x7xf32> {sinter.state = "odd", sinter.role = #sinter.role<recurrent>})
      -> (tensor<1x4x6x5xf32> {sinter.state = "heads"}, tensor<1x3x8xf32> {sinter.state = "tokens"},
          tensor<1x3x7xf32> {sinter.state = "odd"})
      attributes {sinter.entry} {
    return %heads, %tokens, %odd : tensor<1x4x6x5xf32>, tensor<1x3x8xf32>, tensor<1x3x7xf32>
  }
}
