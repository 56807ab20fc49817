// RUN: sinter-opt %s --split-input-file --sinter-coalesce-collectives | FileCheck %s
// RUN: sinter-opt %s --split-input-file %remarks --sinter-coalesce-collectives -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 2000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// Another kind, other axes, another element type, too large, needed before, of another stage, again,
// or nothing to send: each by itself.
// CHECK-LABEL: func.func @unlike(
// CHECK-NOT: sinter.concat
// CHECK: return
module attributes {sinter.grid = #sinter.grid<data = 2, tensor = 2>, sinter.target = #target} {
  func.func @unlike(%a: tensor<2x6xf32> {sinter.input = "a"}, %b: tensor<8xbf16> {sinter.input = "b"}, %c: tensor<4096xf32> {sinter.input = "c"}, %d: tensor<4096xf32> {sinter.input = "d"}, %e: tensor<2x6xf32> {sinter.input = "e"})
      -> (tensor<2x6xf32> {sinter.output = "0"}, tensor<2x2x6xf32> {sinter.output = "1"}, tensor<2x8xbf16> {sinter.output = "2"},
          tensor<2x4096xf32> {sinter.output = "3"}, tensor<2x4096xf32> {sinter.output = "4"}, tensor<2x2x2x6xf32> {sinter.output = "5"},
          tensor<2x2x6xf32> {sinter.output = "6"}, tensor<2x2x6xf32> {sinter.output = "7"}, tensor<6xf32> {sinter.output = "8"},
          tensor<6xf32> {sinter.output = "9"}, tensor<4x2x6xf32> {sinter.output = "10"}) attributes {sinter.entry} {
    %0 = sinter.all_to_all ["data"] %a : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %1 = sinter.all_gather ["tensor"] %a : (tensor<2x6xf32>) -> tensor<2x2x6xf32>
    %2 = sinter.all_gather ["data"] %b : (tensor<8xbf16>) -> tensor<2x8xbf16>
    %3 = sinter.all_gather ["data"] %c : (tensor<4096xf32>) -> tensor<2x4096xf32>
    %4 = sinter.all_gather ["data"] %d : (tensor<4096xf32>) -> tensor<2x4096xf32>
    %5 = sinter.all_gather ["tensor"] %1 : (tensor<2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %6 = sinter.all_gather ["tensor"] %a : (tensor<2x6xf32>) -> tensor<2x2x6xf32> loc(fused<"backward">["layer.0"])
    %7 = sinter.all_gather ["tensor"] %a {sinter.recompute} : (tensor<2x6xf32>) -> tensor<2x2x6xf32>
    %8 = sinter.all_slice ["data"] %a : (tensor<2x6xf32>) -> tensor<6xf32>
    %9 = sinter.all_slice ["data"] %e : (tensor<2x6xf32>) -> tensor<6xf32>
    %10 = sinter.all_gather ["data", "tensor"] %a : (tensor<2x6xf32>) -> tensor<4x2x6xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<2x6xf32>, tensor<2x2x6xf32>, tensor<2x8xbf16>, tensor<2x4096xf32>, tensor<2x4096xf32>, tensor<2x2x2x6xf32>, tensor<2x2x6xf32>, tensor<2x2x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4x2x6xf32>
  }
}

// -----

#slow = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 200, gflops_bf16 = 400, memory_gbs = 20, launch_ns = 15000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 33554432>

// Filling and emptying the bucket takes two kernels.
// CHECK-LABEL: func.func @dear(
// CHECK-NOT: sinter.concat
// CHECK: return
// REMARK: [Missed] NotCoalesced | {{.*}}Function=dear | Remark="2 all_gather along data, of which a rank sends 48 bytes: 30.01 us to fill and empty a bucket, 20.00 us to start the others"
module attributes {sinter.grid = #sinter.grid<data = 2>, sinter.target = #slow} {
  func.func @dear(%a: tensor<6xf32> {sinter.input = "a"}, %b: tensor<6xf32> {sinter.input = "b"})
      -> (tensor<2x6xf32> {sinter.output = "0"}, tensor<2x6xf32> {sinter.output = "1"}) attributes {sinter.entry} {
    %0 = sinter.all_gather ["data"] %a : (tensor<6xf32>) -> tensor<2x6xf32>
    %1 = sinter.all_gather ["data"] %b : (tensor<6xf32>) -> tensor<2x6xf32>
    return %0, %1 : tensor<2x6xf32>, tensor<2x6xf32>
  }
}

// -----

// Without a grid there is nothing to do.
// CHECK-LABEL: func.func @alone(
// CHECK-NEXT: return
func.func @alone(%a: tensor<6xf32> {sinter.input = "a"}) attributes {sinter.entry} {
  return
}
