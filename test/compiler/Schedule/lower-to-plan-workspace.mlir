// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-to-plan | FileCheck %s

// A GPU's product has room for the partial sums of its splits: whole tiles, as many as there are
// depths of 64, and not more than 32 MiB.
// CHECK-LABEL: plan.program @decode
// CHECK: %[[ONE:.*]] = plan.alloc 65536
// CHECK: plan.gemm({{.*}}) workspace(%[[ONE]])
// CHECK: %[[THREE:.*]] = plan.alloc 393216
// CHECK: plan.gemm({{.*}}) workspace(%[[THREE]])
// CHECK: %[[MOST:.*]] = plan.alloc 33554432
// CHECK: plan.gemm({{.*}}) workspace(%[[MOST]])
func.func @decode(%x: tensor<100x64xbf16> {sinter.input = "x"}, %v: tensor<64x120xbf16> {sinter.preprocessed = "v"},
                  %y: tensor<100x130xbf16> {sinter.input = "y"}, %w: tensor<130x200xbf16> {sinter.preprocessed = "w"},
                  %z: tensor<100x65536xbf16> {sinter.input = "z"}, %u: tensor<65536x120xbf16> {sinter.preprocessed = "u"})
    -> (tensor<100x120xf32> {sinter.output = "a"}, tensor<100x200xf32> {sinter.output = "b"},
        tensor<100x120xf32> {sinter.output = "c"}) attributes {sinter.entry} {
  %0 = sinter.fusion library_gemm(%x, %v : tensor<100x64xbf16>, tensor<64x120xbf16>) -> (tensor<100x120xf32>) {
  ^bb0(%a: tensor<100x64xbf16>, %b: tensor<64x120xbf16>):
    %3 = sinter.matmul %a, %b : (tensor<100x64xbf16>, tensor<64x120xbf16>) -> tensor<100x120xf32>
    sinter.yield %3 : tensor<100x120xf32>
  }
  %1 = sinter.fusion library_gemm(%y, %w : tensor<100x130xbf16>, tensor<130x200xbf16>) -> (tensor<100x200xf32>) {
  ^bb0(%a: tensor<100x130xbf16>, %b: tensor<130x200xbf16>):
    %3 = sinter.matmul %a, %b : (tensor<100x130xbf16>, tensor<130x200xbf16>) -> tensor<100x200xf32>
    sinter.yield %3 : tensor<100x200xf32>
  }
  %2 = sinter.fusion library_gemm(%z, %u : tensor<100x65536xbf16>, tensor<65536x120xbf16>) -> (tensor<100x120xf32>) {
  ^bb0(%a: tensor<100x65536xbf16>, %b: tensor<65536x120xbf16>):
    %3 = sinter.matmul %a, %b : (tensor<100x65536xbf16>, tensor<65536x120xbf16>) -> tensor<100x120xf32>
    sinter.yield %3 : tensor<100x120xf32>
  }
  return %0, %1, %2 : tensor<100x120xf32>, tensor<100x200xf32>, tensor<100x120xf32>
}

// Scales of rows of fp8 go with them.
// CHECK-LABEL: plan.program @fp8
// CHECK: plan.gemm(%{{.*}}, %{{.*}}) scales(%[[ROWS:.*]], %[[COLUMNS:.*]]) workspace(%{{.*}}) -> (%{{.*}}) {{.*}}dtype = f8E4M3FN
func.func @fp8(%x: tensor<100x64xf8E4M3FN> {sinter.input = "x8"}, %r: tensor<100x1xf32> {sinter.input = "r8"},
               %w: tensor<128x64xf8E4M3FN> {sinter.preprocessed = "w8"}, %s: tensor<128x1xf32> {sinter.preprocessed = "s8"})
    -> (tensor<100x128xf32> {sinter.output = "d"}) attributes {sinter.entry} {
  %0 = sinter.fusion library_gemm(%x, %r, %w, %s : tensor<100x64xf8E4M3FN>, tensor<100x1xf32>, tensor<128x64xf8E4M3FN>,
      tensor<128x1xf32>) -> (tensor<100x128xf32>) {
  ^bb0(%a: tensor<100x64xf8E4M3FN>, %b: tensor<100x1xf32>, %c: tensor<128x64xf8E4M3FN>, %d: tensor<128x1xf32>):
    %3 = sinter.matmul %a, %c, %d rows %b {transpose_rhs} : (tensor<100x64xf8E4M3FN>, tensor<128x64xf8E4M3FN>,
      tensor<128x1xf32>, tensor<100x1xf32>) -> tensor<100x128xf32>
    sinter.yield %3 : tensor<100x128xf32>
  }
  return %0 : tensor<100x128xf32>
}
