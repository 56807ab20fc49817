// RUN: sinter-opt %s --sinter-verify-codegen --split-input-file --verify-diagnostics

// expected-error @below {{expected a kernel to say how many work items it has (sinter.grid)}}
func.func private @no_grid(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {sinter.kernel = "rows"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected @kernels to hold the kernel as}}
func.func private @no_code(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 4 : i64} {
  return %x : tensor<4xf32>
}

// -----

module @kernels {
  llvm.func @other_convention(%slices: !llvm.ptr) {
    llvm.return
  }
}
// expected-error @below {{expected @kernels to hold the kernel as}}
func.func private @other_convention(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 4 : i64} {
  return %x : tensor<4xf32>
}

// -----

module {
  module @kernels {
    // expected-error @below {{expected only ops of the LLVM dialect in kernels after Codegen}}
    func.func @loops() {
      return
    }
  }
}

// -----

module {
  module @kernels {
    // expected-error @below {{expected kernels to call nothing outside of them after Codegen}}
    llvm.func @expf(f32) -> f32
  }
}
