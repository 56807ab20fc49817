// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-seed-shardings | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-seed-shardings=zero=1 | FileCheck %s --check-prefix=PARTS
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-seed-shardings --sinter-partition | FileCheck %s --check-prefix=SUM
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 %remarks --sinter-seed-shardings -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The last microbatch's entry finds a rank's own gradient, and leaves the sum, which the update finds.
// CHECK-LABEL: func.func @accumulate_last(
// CHECK-SAME: %arg1: tensor<8x4xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}} unreduced ["data"]>, sinter.state = "gradient.w"}
// CHECK-SAME: -> (tensor<8x4xf32> {sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}}>, sinter.state = "gradient.w"}
// CHECK-SAME: sinter.manual = ["data"]
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %arg0: tensor<8x4xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}}>, sinter.state = "gradient.w"}

// With parts it leaves those of the sum in a state of their own.
// PARTS-LABEL: func.func @accumulate_last(
// PARTS-SAME: sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}} unreduced ["data"]>, sinter.state = "gradient.w"}
// PARTS-SAME: %arg2: tensor<8x4xf32> {sinter.role = #sinter.role<gradient>, sinter.sharding = #sinter.sharding<{{\[\["data"\], \[\]\]}}>, sinter.state = "gradient_sum.w"}

// What each rank has is exchanged as soon as it is there, not behind what comes later.
// SUM-LABEL: func.func @accumulate_last(
// SUM: %[[TERM:.*]] = sinter.add
// SUM: sinter.all_gather ["data"] %[[TERM]]
// SUM: sinter.exp
// SUM-NOT: sinter.all_gather
// SUM: return

// REMARK: gradients are summed over the ranks of the axis data, {{.*}}, beside the backward pass of the last microbatch, {{.*}}
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @accumulate_last(%t: tensor<1x4xi32> {sinter.input = "tokens"},
                             %g: tensor<8x4xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>},
                             %s: tensor<8x4xf32> {sinter.state = "gradient_sum.w", sinter.role = #sinter.role<gradient>},
                             %x: tensor<8x4xf32> {sinter.input = "x"})
      -> (tensor<8x4xf32> {sinter.state = "gradient.w"}, tensor<8x4xf32> {sinter.state = "gradient_sum.w"},
          tensor<8x4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.add %g, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sinter.exp %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0, %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  func.func @update(%g: tensor<8x4xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
      -> (tensor<8x4xf32> {sinter.output = "g"}) attributes {sinter.entry} {
    return %g : tensor<8x4xf32>
  }
}
