//===- CudaProgram.h - Kernels in the units that NVRTC compiles -*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A kernel of a program, and how it is launched besides its number of blocks.
struct CudaKernel {
  std::string name;
  int64_t block = 0, sharedBytes = 0;
  bool waits = false; ///< may be launched before the one before it is done (kWaitsAttribute)
};

/// One unit of compilation: the source needs nothing but cuda_bf16.h and cuda_fp16.h.
struct CudaProgram {
  std::string source;
  /// Of NVRTC, beside those for the architecture.
  std::vector<std::string> options;
  std::vector<CudaKernel> kernels;
};

/// Writes all kernels of a module after the Codegen phase for CUDA as programs, which compile side
/// by side: first each instance of a template alone, since one takes as long as ten generated
/// kernels, and some as sixteen, then the others in as few programs as there would be of
/// `kernelsPerProgram`, of about the same length, so that none is waited for when all others have
/// ended. More programs would read CUDA's headers more often, which takes as long as two kernels.
mlir::FailureOr<std::vector<CudaProgram>> emitCudaPrograms(mlir::ModuleOp module,
                                                           size_t kernelsPerProgram = 16);

/// The text of a file of kernels_templates/cuda by its name ("device.cuh", "Templates.json"), as
/// built into the compiler; empty where there is none.
std::string_view getDeviceHeader(std::string_view name);

} // namespace sinter
