// RUN: sinter-opt %s --sinter-map-loops-to-threads --split-input-file --verify-diagnostics

module {
module @kernels {
// expected-error @+1 {{expected a kernel whose threads are planned (sinter.items, sinter.threads and a launch)}}
func.func @orphan(%x: memref<4xf32>, %begin: index, %end: index) attributes {sinter.items = 1 : i64, sinter.threads = 1 : i64} {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}
}
}

// -----

module {
func.func private @unplanned(%x: tensor<4xf32>) attributes {sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.shared = 0 : i64}
module @kernels {
// expected-error @+1 {{expected a kernel whose threads are planned}}
func.func @unplanned(%x: memref<4xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}
}
}
