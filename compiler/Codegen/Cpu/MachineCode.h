//===- MachineCode.h - From LLVM dialect to bytes that run ------*- C++ -*-===//
//
// Kernels become one flat image: machine code and its constants, position-independent, with every
// relocation resolved, so that the runtime only maps it. There is nothing to link with: a kernel
// that would need a symbol from outside (a libm or libc function) is refused here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/KernelCache.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Error.h"
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sinter {

/// Code of kernels as the executable carries it.
struct MachineCode {
  std::vector<std::byte> image;            ///< to be placed at a multiple of 64 bytes
  std::map<std::string, uint64_t> offsets; ///< kernel name to its entry in `image`
  std::vector<std::string> cpuFeatures;    ///< that the processor must have: "avx512f", ...
};

/// Compiles the functions of `kernels` (module `@kernels`, in the LLVM dialect) for a target, side
/// by side on all processors; the code does not depend on how many there are. Fails, as a defect,
/// where a kernel refers to something outside. Kernels that `cache` knows are taken from it, those
/// that it does not are kept there.
Expected<MachineCode> emitMachineCode(mlir::ModuleOp kernels, const TargetAttr &target,
                                      const KernelCache *cache = nullptr);

/// What emitMachineCode makes of the kernels, as text.
enum class CodeText { Llvm, Assembly };
Expected<std::string> printMachineCode(mlir::ModuleOp kernels, const TargetAttr &target,
                                       CodeText form);

} // namespace sinter
