// RUN: sinter-opt %s --split-input-file --sinter-coalesce-collectives | FileCheck %s
// RUN: sinter-opt %s --split-input-file %remarks --sinter-coalesce-collectives -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 2000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// What ranks have of gradients of any shapes leaves together; what is added comes back behind it.
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[A:arg0]]: tensor<6xf32> {{.*}}, %[[B:arg1]]: tensor<2x4xf32> {{.*}}, %[[C:arg2]]: tensor<f32>
// CHECK: %[[FLAT:.*]] = sinter.reshape %[[B]] : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK: %[[ONE:.*]] = sinter.reshape %[[C]] : (tensor<f32>) -> tensor<1xf32>
// CHECK: %[[BUCKET:.*]] = sinter.concat %[[A]], %[[FLAT]], %[[ONE]] {dim = 0 : i64} : (tensor<6xf32>, tensor<8xf32>, tensor<1xf32>) -> tensor<15xf32>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["data"] %[[BUCKET]] : (tensor<15xf32>) -> tensor<2x15xf32>
// CHECK-NOT: sinter.all_gather
// CHECK-DAG: %[[A_ALL:.*]] = sinter.slice %[[ALL]] {offsets = array<i64: 0, 0>} : (tensor<2x15xf32>) -> tensor<2x6xf32>
// CHECK-DAG: %[[B_FLAT:.*]] = sinter.slice %[[ALL]] {offsets = array<i64: 0, 6>} : (tensor<2x15xf32>) -> tensor<2x8xf32>
// CHECK-DAG: %[[B_ALL:.*]] = sinter.reshape %[[B_FLAT]] : (tensor<2x8xf32>) -> tensor<2x2x4xf32>
// CHECK-DAG: %[[C_FLAT:.*]] = sinter.slice %[[ALL]] {offsets = array<i64: 0, 14>} : (tensor<2x15xf32>) -> tensor<2x1xf32>
// CHECK-DAG: %[[C_ALL:.*]] = sinter.reshape %[[C_FLAT]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-DAG: %[[A_SUM:.*]] = sinter.sum_parts %[[A_ALL]]
// CHECK-DAG: %[[B_SUM:.*]] = sinter.sum_parts %[[B_ALL]]
// CHECK-DAG: %[[C_SUM:.*]] = sinter.sum_parts %[[C_ALL]]
// CHECK: return %[[A_SUM]], %[[B_SUM]], %[[C_SUM]]
// REMARK: [Passed] Coalesced | {{.*}}Function=gradients | Remark="3 all_gather along data, of which a rank sends 60 bytes: {{[0-9.]+ us}} to fill and empty a bucket, 40.00 us to start the others"
module attributes {sinter.grid = #sinter.grid<data = 2>, sinter.target = #target} {
  func.func @gradients(%a: tensor<6xf32> {sinter.input = "a"}, %b: tensor<2x4xf32> {sinter.input = "b"}, %c: tensor<f32> {sinter.input = "c"})
      -> (tensor<6xf32> {sinter.output = "a"}, tensor<2x4xf32> {sinter.output = "b"}, tensor<f32> {sinter.output = "c"}) attributes {sinter.entry} {
    %0 = sinter.all_gather ["data"] %a : (tensor<6xf32>) -> tensor<2x6xf32>
    %1 = sinter.sum_parts %0 : (tensor<2x6xf32>) -> tensor<6xf32>
    %2 = sinter.all_gather ["data"] %b : (tensor<2x4xf32>) -> tensor<2x2x4xf32>
    %3 = sinter.sum_parts %2 : (tensor<2x2x4xf32>) -> tensor<2x4xf32>
    %4 = sinter.all_gather ["data"] %c : (tensor<f32>) -> tensor<2xf32>
    %5 = sinter.sum_parts %4 : (tensor<2xf32>) -> tensor<f32>
    return %1, %3, %5 : tensor<6xf32>, tensor<2x4xf32>, tensor<f32>
  }
}

// -----

#target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 2000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// Parts for each rank stay side by side; what is done again in the backward pass says so.
// CHECK-LABEL: func.func @exchange(
// CHECK-SAME: %[[A:arg0]]: tensor<2x3xf32> {{.*}}, %[[B:arg1]]: tensor<2x2x2xf32>
// CHECK: %[[FLAT:.*]] = sinter.reshape %[[B]] {sinter.recompute} : (tensor<2x2x2xf32>) -> tensor<2x4xf32>
// CHECK: %[[BUCKET:.*]] = sinter.concat %[[A]], %[[FLAT]] {dim = 1 : i64, sinter.recompute} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
// CHECK: %[[ALL:.*]] = sinter.all_to_all ["data"] %[[BUCKET]] {sinter.recompute} : (tensor<2x7xf32>) -> tensor<2x7xf32>
// CHECK: sinter.slice %[[ALL]] {offsets = array<i64: 0, 0>, sinter.recompute} : (tensor<2x7xf32>) -> tensor<2x3xf32>
// CHECK: sinter.slice %[[ALL]] {offsets = array<i64: 0, 3>, sinter.recompute} : (tensor<2x7xf32>) -> tensor<2x4xf32>
module attributes {sinter.grid = #sinter.grid<data = 2>, sinter.target = #target} {
  func.func @exchange(%a: tensor<2x3xf32> {sinter.input = "a"}, %b: tensor<2x2x2xf32> {sinter.input = "b"})
      -> (tensor<2x3xf32> {sinter.output = "a"}, tensor<2x2x2xf32> {sinter.output = "b"}) attributes {sinter.entry} {
    %0 = sinter.all_to_all ["data"] %a {sinter.recompute} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = sinter.all_to_all ["data"] %b {sinter.recompute} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<2x2x2xf32>
  }
}

// -----

#target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 2000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// A message takes 20 us to start: six gathers of 3.3 us are a bucket, the next one begins another.
// CHECK-LABEL: func.func @limit(
// CHECK: sinter.all_gather ["data"] %{{.*}} : (tensor<390xf32>) -> tensor<64x390xf32>
// CHECK: sinter.all_gather ["data"] %{{.*}} : (tensor<130xf32>) -> tensor<64x130xf32>
// CHECK-NOT: sinter.all_gather
module attributes {sinter.grid = #sinter.grid<data = 64>, sinter.target = #target} {
  func.func @limit(%a: tensor<65xf32> {sinter.input = "a"}, %b: tensor<65xf32> {sinter.input = "b"}, %c: tensor<65xf32> {sinter.input = "c"}, %d: tensor<65xf32> {sinter.input = "d"},
                   %e: tensor<65xf32> {sinter.input = "e"}, %f: tensor<65xf32> {sinter.input = "f"}, %g: tensor<65xf32> {sinter.input = "g"}, %h: tensor<65xf32> {sinter.input = "h"})
      -> (tensor<64x65xf32> {sinter.output = "0"}, tensor<64x65xf32> {sinter.output = "1"}, tensor<64x65xf32> {sinter.output = "2"},
          tensor<64x65xf32> {sinter.output = "3"}, tensor<64x65xf32> {sinter.output = "4"}, tensor<64x65xf32> {sinter.output = "5"},
          tensor<64x65xf32> {sinter.output = "6"}, tensor<64x65xf32> {sinter.output = "7"}) attributes {sinter.entry} {
    %0 = sinter.all_gather ["data"] %a : (tensor<65xf32>) -> tensor<64x65xf32>
    %1 = sinter.all_gather ["data"] %b : (tensor<65xf32>) -> tensor<64x65xf32>
    %2 = sinter.all_gather ["data"] %c : (tensor<65xf32>) -> tensor<64x65xf32>
    %3 = sinter.all_gather ["data"] %d : (tensor<65xf32>) -> tensor<64x65xf32>
    %4 = sinter.all_gather ["data"] %e : (tensor<65xf32>) -> tensor<64x65xf32>
    %5 = sinter.all_gather ["data"] %f : (tensor<65xf32>) -> tensor<64x65xf32>
    %6 = sinter.all_gather ["data"] %g : (tensor<65xf32>) -> tensor<64x65xf32>
    %7 = sinter.all_gather ["data"] %h : (tensor<65xf32>) -> tensor<64x65xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>, tensor<64x65xf32>
  }
}

// -----

#target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 2000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// The same elements under other shapes are moved once, however many they are; in each stage.
// CHECK-LABEL: func.func @shapes(
// CHECK-SAME: %[[A:arg0]]: tensor<1x64x64xf32>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["data"] %[[A]] : (tensor<1x64x64xf32>) -> tensor<2x1x64x64xf32>
// CHECK: %[[ROWS:.*]] = sinter.reshape %[[A]] : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
// CHECK: %[[FLAT:.*]] = sinter.reshape %[[ALL]] : (tensor<2x1x64x64xf32>) -> tensor<2x64x64xf32>
// CHECK: %[[LATER:.*]] = sinter.all_gather ["data"] %[[ROWS]] : (tensor<64x64xf32>) -> tensor<2x64x64xf32>
// CHECK-NOT: sinter.all_gather
// CHECK: return %[[ALL]], %[[FLAT]], %[[LATER]]
module attributes {sinter.grid = #sinter.grid<data = 2>, sinter.target = #target} {
  func.func @shapes(%a: tensor<1x64x64xf32> {sinter.input = "a"})
      -> (tensor<2x1x64x64xf32> {sinter.output = "0"}, tensor<2x64x64xf32> {sinter.output = "1"}, tensor<2x64x64xf32> {sinter.output = "2"}) attributes {sinter.entry} {
    %0 = sinter.all_gather ["data"] %a : (tensor<1x64x64xf32>) -> tensor<2x1x64x64xf32>
    %1 = sinter.reshape %a : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %2 = sinter.all_gather ["data"] %1 : (tensor<64x64xf32>) -> tensor<2x64x64xf32>
    %3 = sinter.all_gather ["data"] %1 : (tensor<64x64xf32>) -> tensor<2x64x64xf32> loc(fused<"backward">["layer.0"])
    return %0, %2, %3 : tensor<2x1x64x64xf32>, tensor<2x64x64xf32>, tensor<2x64x64xf32>
  }
}
