//===- Serialize.h - From a plan to an executable ---------------*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "compiler/Executable/Contents.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include <cstddef>
#include <map>
#include <variant>
#include <vector>

namespace sinter {

/// The element type of a tensor as the executable names it.
/// @pre the type is one of the graph's: f32, bf16, f16, f64, i32.
DType toDType(mlir::Type elementType);

/// CUDA kernels, and what NVRTC made of their programs: for each of them by architecture, or
/// nothing where the machine that runs them is to compile them.
struct CudaCode {
  std::string target; ///< "cuda:sm_90"
  std::vector<CudaProgram> programs;
  std::vector<std::map<std::string, std::vector<std::byte>>> cubins;
  bool tune = false; ///< whether the device times what can be done in several ways
};

/// What a target's code generator made of the kernels.
using KernelCode = std::variant<MachineCode, CudaCode>;

/// Serializes a module after the Memory phase, one to one, into the flatbuffer of
/// runtime/Format/Executable.fbs (without the file's envelope, see
/// runtime/Format/ExecutableFile.h). The executable's metadata are the module's (`sinter.metadata`)
/// and those of `contents`, which win. Equal input gives equal bytes. Fails where a launch names a
/// kernel that `code` lacks or a slice a tensor of the checkpoint that no plan.parameter declares
/// (defects), and where the result would pass the format's 2 GiB.
Expected<std::vector<std::byte>> serialize(mlir::ModuleOp plan, const KernelCode &code,
                                           const ExecutableContents &contents);

} // namespace sinter
