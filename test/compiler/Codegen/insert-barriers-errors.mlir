// RUN: sinter-opt %s --sinter-insert-barriers --verify-diagnostics

module {
module @kernels {
// expected-error @+1 {{expected a kernel that says how many threads an item has (sinter.threads)}}
func.func @unplanned(%x: memref<4xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}
}
}
