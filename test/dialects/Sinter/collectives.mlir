// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// CHECK: sinter.grid = #sinter.grid<data = 2, tensor = 3>
module attributes {sinter.grid = #sinter.grid<data = 2, tensor = 3>} {
  // CHECK: %arg0: tensor<4x8xf32> {sinter.input = "x", sinter.sharding = #sinter.sharding<{{\[\["data"\], \["tensor"\]\]}}>
  // CHECK-SAME: %arg1: tensor<4x8xf32> {sinter.sharding = #sinter.sharding<{{\[\[\], \[\]\]}} unreduced ["data", "tensor"]>
  func.func @moves(%x: tensor<4x8xf32> {sinter.input = "x", sinter.sharding = #sinter.sharding<[["data"], ["tensor"]]>, sinter.whole = tensor<8x24xf32>},
                   %g: tensor<4x8xf32> {sinter.state = "g", sinter.sharding = #sinter.sharding<[[], []] unreduced ["data", "tensor"]>},
                   %p: tensor<3x4xf32> {sinter.input = "p"}) -> (tensor<2x4x8xf32> {sinter.output = "a"}) attributes {sinter.entry} {
    // CHECK: sinter.all_gather ["data"] %arg0 : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    %0 = sinter.all_gather ["data"] %x : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    // CHECK: sinter.all_gather ["data", "tensor"] %arg0 : (tensor<4x8xf32>) -> tensor<6x4x8xf32>
    %1 = sinter.all_gather ["data", "tensor"] %x : (tensor<4x8xf32>) -> tensor<6x4x8xf32>
    // CHECK: sinter.all_to_all ["tensor"] %arg2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = sinter.all_to_all ["tensor"] %p : (tensor<3x4xf32>) -> tensor<3x4xf32>
    // CHECK: sinter.all_slice ["tensor"] %arg2 : (tensor<3x4xf32>) -> tensor<4xf32>
    %3 = sinter.all_slice ["tensor"] %p : (tensor<3x4xf32>) -> tensor<4xf32>
    // CHECK: sinter.all_reduce ["data"] %arg2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %4 = sinter.all_reduce ["data"] %p : (tensor<3x4xf32>) -> tensor<3x4xf32>
    // CHECK: sinter.shard %arg2 {sharding = #sinter.sharding<{{\[\["data"\], \[\]\]}}>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %5 = sinter.shard %p {sharding = #sinter.sharding<[["data"], []]>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %0 : tensor<2x4x8xf32>
  }
}
