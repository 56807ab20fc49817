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
// CHECK: sinter.slice %[[MINE]] {offsets = array<i64: 0, 0, 0>}
// CHECK: sinter.slice %[[MINE]] {offsets = array<i64: 1, 0, 0>}
// CHECK: %[[SUM:.*]] = sinter.add
// CHECK: %[[NEXT:.*]] = sinter.add %[[M]], %[[SUM]] : (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: %[[OWN:.*]] = sinter.all_slice ["data"]
// CHECK: %[[NEW:.*]] = sinter.add %[[OWN]], %[[NEXT]]
// CHECK: %[[ALL:.*]] = sinter.all_gather ["data"] %[[NEW]] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
// CHECK: %[[WHOLE:.*]] = sinter.reshape %[[ALL]] : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[TRIMMED:.*]] = sinter.slice %[[WHOLE]] {offsets = array<i64: 0, 0>} : (tensor<8x8xf32>) -> tensor<7x8xf32>
// CHECK: return %[[NEXT]], %[[TRIMMED]]
// LIBRARY-LABEL: func.func @update(
// LIBRARY: sinter.all_reduce ["data"] %{{.*}} : (tensor<7x8xf32>) -> tensor<7x8xf32>
// LIBRARY-NOT: sinter.all_to_all
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
