// RUN: sinter-opt %s --sinter-print-cuda --split-input-file --verify-diagnostics -o /dev/null

module {
module @kernels {
// expected-error @+1 {{expected a kernel on tensors of this name that says its launch (sinter.grid, sinter.block, sinter.shared)}}
func.func @orphan(%x: memref<4xf32>) {
  return
}
}
}

// -----

module {
module @kernels {
func.func @foreign(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xf32>
  // expected-error @+1 {{expected an operation that can be written as CUDA C++, got math.atan}}
  %1 = math.atan %0 : f32
  memref.store %1, %y[%c0] : memref<4xf32>
  return
}
}
func.func private @foreign(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}

// -----

module {
module @kernels {
// expected-error @+1 {{expected elements of a type that CUDA C++ has, got 'f8E3M4'}}
func.func @tiny(%x: memref<4xf8E3M4>, %y: memref<4xf8E3M4>) {
  return
}
}
func.func private @tiny(%x: tensor<4xf8E3M4>) -> tensor<4xf8E3M4> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf8E3M4>
}
}

// -----

module {
module @kernels {
// expected-error @+1 {{expected a kernel's name to be one in C++, too, got "a.b"}}
func.func @a.b(%x: memref<4xf32>, %y: memref<4xf32>) {
  return
}
}
func.func private @a.b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}

// -----

module {
module @kernels {
// expected-error @+1 {{expected sinter.template to have a header, a function and parameters}}
func.func private @nameless(memref<4xf32>, memref<4xf32>) attributes {sinter.template = {header = "gemv.cuh"}}
}
func.func private @nameless(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}

// -----

module {
module @kernels {
// expected-error @+1 {{expected a type, a bool, an integer, a float or a type's name as a template's parameter "list", got []}}
func.func private @listed(memref<4xf32>, memref<4xf32>) attributes {sinter.template = {header = "gemv.cuh", function = "gemv", parameters = {list = []}}}
}
func.func private @listed(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}
