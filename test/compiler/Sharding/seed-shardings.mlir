// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings=zero=1 | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings | FileCheck %s --check-prefix=ZERO0
// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings=zero=2 | FileCheck %s --check-prefix=ZERO2

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

// Matrices that only products read are split by columns, through casts and transposes; a table that is
// looked up in is not. Caches are split by heads.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %arg1: tensor<6x4xf32> {sinter.parameter = "wt", sinter.sharding = #sinter.sharding<{{\[\["tensor"\], \[\]\]}}>}
// CHECK-SAME: %arg2: tensor<4x6xbf16> {sinter.parameter = "w", sinter.sharding = #sinter.sharding<{{\[\[\], \["tensor"\]\]}}>}
// CHECK-SAME: %arg3: tensor<6x4xf32> {sinter.parameter = "table"}
// CHECK-SAME: %arg4: tensor<1x8x4x2xf32> {sinter.role = #sinter.role<kv_cache>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\], \["tensor"\], \[\]\]}}>, sinter.state = "k"}
// CHECK-SAME: %arg5: tensor<1x8x1x2xf32> {sinter.role = #sinter.role<kv_cache>, sinter.state = "one"}
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @decode(%x: tensor<1x4xf32> {sinter.input = "x"}, %wt: tensor<6x4xf32> {sinter.parameter = "wt"},
                    %w: tensor<4x6xbf16> {sinter.parameter = "w"}, %table: tensor<6x4xf32> {sinter.parameter = "table"},
                    %k: tensor<1x8x4x2xf32> {sinter.state = "k", sinter.role = #sinter.role<kv_cache>},
                    %one: tensor<1x8x1x2xf32> {sinter.state = "one", sinter.role = #sinter.role<kv_cache>},
                    %ids: tensor<1xi32> {sinter.input = "ids"})
      -> (tensor<1x6xf32> {sinter.output = "a"}, tensor<1x6xf32> {sinter.output = "b"}, tensor<1x6xf32> {sinter.output = "c"})
      attributes {sinter.entry} {
    %0 = sinter.matmul %x, %wt {transpose_rhs} : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    %1 = sinter.cast %w : (tensor<4x6xbf16>) -> tensor<4x6xf32>
    %2 = sinter.matmul %x, %1 : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
    %3 = sinter.embedding %table, %ids : (tensor<6x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    %4 = sinter.matmul %3, %table {transpose_rhs} : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
    return %0, %2, %4 : tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>
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
