// RUN: sinter-opt %s --split-input-file --sinter-split-fused --cse | FileCheck %s

// Two parts that products multiply by, of rows as torch has them: each is a state, the gradients go
// to them as they are made, and the whole is put together for what needs its rows. A step's clip is of
// the very matrix of one device. What has another shape stays.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[T:arg0]]: tensor<4x8xf32> {sinter.input = "tokens"}
// CHECK-SAME: %[[GATE:arg1]]: tensor<6x8xf32> {sinter.box = #sinter.box<"w", tensor<10x8xf32>, [0, 0]>, sinter.role = #sinter.role<parameter>, sinter.state = "w[0:6, 0:8]"}
// CHECK-SAME: %[[UP:arg2]]: tensor<4x8xf32> {sinter.box = #sinter.box<"w", tensor<10x8xf32>, [6, 0]>, sinter.role = #sinter.role<parameter>, sinter.state = "w[6:10, 0:8]"}
// CHECK-SAME: %[[G0:arg3]]: tensor<6x8xf32> {sinter.box = #sinter.box<"gradient.w", tensor<10x8xf32>, [0, 0]>, sinter.donated = 2 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w[0:6, 0:8]"}
// CHECK-SAME: %[[G1:arg4]]: tensor<4x8xf32> {sinter.box = #sinter.box<"gradient.w", tensor<10x8xf32>, [6, 0]>, sinter.donated = 3 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w[6:10, 0:8]"}
// CHECK-SAME: tensor<6x8xf32> {sinter.box = #sinter.box<"gradient.w", tensor<10x8xf32>, [0, 0]>, sinter.state = "gradient.w[0:6, 0:8]"}
// CHECK-DAG: %[[Y0:.*]] = sinter.matmul %[[T]], %[[GATE]] {transpose_rhs}
// CHECK-DAG: %[[Y1:.*]] = sinter.matmul %[[T]], %[[UP]] {transpose_rhs}
// CHECK-DAG: %[[D0:.*]] = sinter.matmul %[[Y0]], %[[T]] {transpose_lhs}
// CHECK-DAG: %[[D1:.*]] = sinter.matmul %[[Y1]], %[[T]] {transpose_lhs}
// CHECK-DAG: %[[S0:.*]] = sinter.add %[[G0]], %[[D0]] : (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK-DAG: %[[S1:.*]] = sinter.add %[[G1]], %[[D1]] : (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NOT: sinter.concat
// CHECK: return %[[Y0]], %[[Y1]], %[[S0]], %[[S1]]
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %arg4: tensor<10xf32> {sinter.role = #sinter.role<optimizer>, sinter.state = "adafactor.row.w"}
// CHECK-DAG: %[[WHOLE:.*]] = sinter.concat %[[U0:arg2]], %[[U1:arg3]] {dim = 0 : i64}
// CHECK-DAG: %[[SQUARES:.*]] = sinter.square_sum %[[WHOLE]] : (tensor<10x8xf32>) -> tensor<10xf32>
// CHECK-DAG: sinter.broadcast %{{.*}} {dims = array<i64>} : (tensor<f32>) -> tensor<6x8xf32>
// CHECK-DAG: %[[STEP0:.*]] = sinter.mul %[[U0]], %{{.*}} : (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK-DAG: %[[NEXT0:.*]] = sinter.sub %arg0, %[[STEP0]]
// CHECK-DAG: %[[ZERO0:.*]] = sinter.constant dense<0.000000e+00> : tensor<6x8xf32>
// CHECK: return %[[NEXT0]], %{{.*}}, %[[SQUARES]], %[[ZERO0]], %{{.*}} : tensor<6x8xf32>, tensor<4x8xf32>, tensor<10xf32>, tensor<6x8xf32>, tensor<4x8xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @accumulate(%t: tensor<4x8xf32> {sinter.input = "tokens"},
                        %w: tensor<10x8xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                        %g: tensor<10x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>, sinter.donated = 2 : i64})
      -> (tensor<4x6xf32> {sinter.output = "gate"}, tensor<4x4xf32> {sinter.output = "up"},
          tensor<10x8xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    %0 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<10x8xf32>) -> tensor<6x8xf32>
    %1 = sinter.slice %w {offsets = array<i64: 6, 0>} : (tensor<10x8xf32>) -> tensor<4x8xf32>
    %2 = sinter.matmul %t, %0 {transpose_rhs} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    %3 = sinter.matmul %t, %1 {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %4 = sinter.matmul %2, %t {transpose_lhs} : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    %5 = sinter.matmul %3, %t {transpose_lhs} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = sinter.concat %4, %5 {dim = 0 : i64} : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<10x8xf32>
    %7 = sinter.add %g, %6 : (tensor<10x8xf32>, tensor<10x8xf32>) -> tensor<10x8xf32>
    return %2, %3, %7 : tensor<4x6xf32>, tensor<4x4xf32>, tensor<10x8xf32>
  }
  func.func @update(%w: tensor<10x8xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                    %g: tensor<10x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>},
                    %rows: tensor<10xf32> {sinter.state = "adafactor.row.w", sinter.role = #sinter.role<optimizer>},
                    %rate: tensor<f32> {sinter.input = "learning_rate"})
      -> (tensor<10x8xf32> {sinter.state = "w"}, tensor<10xf32> {sinter.state = "adafactor.row.w"},
          tensor<10x8xf32> {sinter.state = "gradient.w"}) attributes {sinter.entry} {
    %0 = sinter.square_sum %g : (tensor<10x8xf32>) -> tensor<10xf32>
    %1 = sinter.broadcast %rate {dims = array<i64>} : (tensor<f32>) -> tensor<10x8xf32>
    %2 = sinter.mul %g, %1 : (tensor<10x8xf32>, tensor<10x8xf32>) -> tensor<10x8xf32>
    %3 = sinter.sub %w, %2 : (tensor<10x8xf32>, tensor<10x8xf32>) -> tensor<10x8xf32>
    %4 = sinter.constant dense<0.0> : tensor<10x8xf32>
    return %3, %0, %4 : tensor<10x8xf32>, tensor<10xf32>, tensor<10x8xf32>
  }
}

// -----

// Not of one that is read otherwise, too, of which not all is read, or of which a part does not divide
// over the ranks; an entry that reads it whole keeps it whole in all.
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: sinter.state = "looked.up"{{.*}}sinter.state = "half"{{.*}}sinter.state = "odd"{{.*}}sinter.state = "other"
// CHECK-NOT: sinter.box
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @evaluate(%t: tensor<4x8xf32> {sinter.input = "tokens"}, %ids: tensor<2xi32> {sinter.input = "ids"},
                      %a: tensor<8x8xf32> {sinter.state = "looked.up", sinter.role = #sinter.role<parameter>},
                      %b: tensor<8x8xf32> {sinter.state = "half", sinter.role = #sinter.role<parameter>},
                      %c: tensor<8x8xf32> {sinter.state = "odd", sinter.role = #sinter.role<parameter>},
                      %d: tensor<8x8xf32> {sinter.state = "other", sinter.role = #sinter.role<parameter>})
      -> (tensor<4x4xf32> {sinter.output = "a"}, tensor<4x4xf32> {sinter.output = "b"}, tensor<2x8xf32> {sinter.output = "c"},
          tensor<4x4xf32> {sinter.output = "d"}, tensor<4x3xf32> {sinter.output = "e"}, tensor<4x5xf32> {sinter.output = "f"},
          tensor<4x4xf32> {sinter.output = "g"}, tensor<4x4xf32> {sinter.output = "h"}) attributes {sinter.entry} {
    %0 = sinter.slice %a {offsets = array<i64: 0, 0>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %1 = sinter.slice %a {offsets = array<i64: 0, 4>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %2 = sinter.matmul %t, %0 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = sinter.matmul %t, %1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = sinter.embedding %a, %ids : (tensor<8x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
    %5 = sinter.slice %b {offsets = array<i64: 0, 4>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %6 = sinter.matmul %t, %5 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %7 = sinter.slice %c {offsets = array<i64: 0, 0>} : (tensor<8x8xf32>) -> tensor<8x3xf32>
    %8 = sinter.slice %c {offsets = array<i64: 0, 3>} : (tensor<8x8xf32>) -> tensor<8x5xf32>
    %9 = sinter.matmul %t, %7 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %10 = sinter.matmul %t, %8 : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    %11 = sinter.slice %d {offsets = array<i64: 0, 0>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %12 = sinter.slice %d {offsets = array<i64: 0, 4>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %13 = sinter.matmul %t, %11 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %14 = sinter.matmul %t, %12 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %2, %3, %4, %6, %9, %10, %13, %14 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>,
        tensor<4x3xf32>, tensor<4x5xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @logits(%t: tensor<4x8xf32> {sinter.input = "tokens"},
                    %d: tensor<8x8xf32> {sinter.state = "other", sinter.role = #sinter.role<parameter>})
      -> (tensor<4x8xf32> {sinter.output = "a"}) attributes {sinter.entry} {
    %0 = sinter.matmul %t, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
