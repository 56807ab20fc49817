// RUN: sinter-opt %s --sinter-plan-threads --verify-diagnostics

module {
module @kernels attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {
// expected-error @+1 {{expected a kernel on tensors of this name that says its work items (sinter.grid)}}
func.func @orphan(%x: memref<4xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}
}
}
