// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-split-items --sinter-plan-threads --sinter-insert-barriers --sinter-map-loops-to-threads --sinter-print-cuda -o /dev/null | FileCheck %s --check-prefix=CUDA
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// A program of small kernels: each waits for the one before it, and reads nothing that may be
// constant to the compiler. Weights, here through a reshape, are.
// CHECK: func.func private @product(%arg0: tensor<1x64xf32>, %arg1: tensor<96x64xf32> {sinter.constant}) -> tensor<1x96xf32> attributes {{.*}}sinter.waits
// CHECK: func.func private @sum({{.*}}sinter.waits
// CHECK: func.func private @attend({{.*}}sinter.waits
// CHECK: func.func private @draw({{.*}}sinter.waits
// CHECK: func.func private @trained(%arg0: tensor<1x64xf32>, %arg1: tensor<96x64xf32>)
// CHECK-NOT: sinter.waits
// CHECK: func.func private @large
// CHECK-NOT: sinter.waits
// CHECK: module @kernels
// CHECK: @product({{.*}}rhsIsConstant = true
// CHECK: @trained({{.*}}rhsIsConstant = false

// CUDA: rhsIsConstant = true
// CUDA: product(const float *x0, const float *x1, float *y0)
// CUDA: sum(const float *x0, float *y0) {
// CUDA-NEXT: sinter::pdl_launch_dependents();
// CUDA-NEXT: sinter::pdl_wait();
// CUDA: attend(const __nv_bfloat16 *x0
// CUDA: draw(const float *x0
// CUDA: rhsIsConstant = false
// CUDA: trained(const float *__restrict__ x0
// CUDA: large(
// CUDA-NOT: pdl_wait
func.func @decode(%x: tensor<1x64xf32> {sinter.input = "x"}, %w: tensor<6144xf32> {sinter.preprocessed = "w"},
                  %t: tensor<96x64xf32> {sinter.state = "t"}, %k: tensor<1x512x2x64xbf16> {sinter.state = "k"},
                  %q: tensor<1x1x2x64xbf16> {sinter.input = "q"}, %i: tensor<1xi32> {sinter.input = "i"},
                  %f: tensor<1xf32> {sinter.input = "f"}, %s: tensor<1x2xi32> {sinter.input = "s"})
    -> (tensor<1x96xf32>, tensor<1x96xf32>, tensor<1x1x2x64xf32>, tensor<1xi32>) attributes {sinter.entry} {
  %0 = sinter.reshape %w : (tensor<6144xf32>) -> tensor<96x64xf32>
  %1 = sinter.call_kernel @product(%x, %0) : (tensor<1x64xf32>, tensor<96x64xf32>) -> tensor<1x96xf32>
  %2 = sinter.call_kernel @sum(%1) : (tensor<1x96xf32>) -> tensor<1x96xf32>
  %3 = sinter.call_kernel @trained(%x, %t) : (tensor<1x64xf32>, tensor<96x64xf32>) -> tensor<1x96xf32>
  %4 = sinter.call_kernel @attend(%q, %k, %i) : (tensor<1x1x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1xi32>) -> tensor<1x1x2x64xf32>
  %5 = sinter.call_kernel @draw(%2, %f, %i, %s) : (tensor<1x96xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<1xi32>
  return %2, %3, %4, %5 : tensor<1x96xf32>, tensor<1x96xf32>, tensor<1x1x2x64xf32>, tensor<1xi32>
}

// No product: what is here takes its time.
func.func @others(%x: tensor<4096x64xf32> {sinter.input = "x"}) -> tensor<4096x64xf32> attributes {sinter.entry} {
  %0 = sinter.call_kernel @large(%x) : (tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

func.func private @product(%x: tensor<1x64xf32>, %w: tensor<96x64xf32>) -> tensor<1x96xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x64xf32>, tensor<96x64xf32>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}
func.func private @sum(%x: tensor<1x96xf32>) -> tensor<1x96xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %x : (tensor<1x96xf32>, tensor<1x96xf32>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}
func.func private @attend(%q: tensor<1x1x2x64xbf16>, %k: tensor<1x512x2x64xbf16>, %i: tensor<1xi32>) -> tensor<1x1x2x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %k, %i {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
      : (tensor<1x1x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1xi32>) -> tensor<1x1x2x64xf32>
  return %0 : tensor<1x1x2x64xf32>
}
func.func private @draw(%l: tensor<1x96xf32>, %f: tensor<1xf32>, %i: tensor<1xi32>, %s: tensor<1x2xi32>) -> tensor<1xi32>
    attributes {sinter.kernel = "sampling"} {
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i
      : (tensor<1x96xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
func.func private @trained(%x: tensor<1x64xf32>, %w: tensor<96x64xf32>) -> tensor<1x96xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x64xf32>, tensor<96x64xf32>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}
func.func private @large(%x: tensor<4096x64xf32>) -> tensor<4096x64xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.exp %x : (tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}
