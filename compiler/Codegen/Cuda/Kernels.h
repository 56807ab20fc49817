//===- Kernels.h - What kernels on CUDA are made of -------------*- C++ -*-===//
//
// The module `@kernels` holds a function of the kernel's name for every kernel on tensors, in one
// of two forms:
//
// - *Generated*: a func.func over flat memrefs (one an operand, then one a result), which begins as
//   the loops of compiler/Codegen/Loops and ends as the code of one thread.
//
// - *Instantiated from a template* (kernels_templates/cuda): a func.func without a body, private,
//   over the same memrefs, with a dictionary that names the template and its parameters:
//
//     func.func private @k7(memref<N0xbf16> {llvm.noalias}, ...) attributes {
//       sinter.template = {header = "attention_forward.cuh", function = "attention_forward",
//                          parameters = {Element = bf16, batch = 4 : i64, causal = true,
//                                        scale = 1.250000e-01 : f32}}}
//
//   A parameter is a type (`using Element = __nv_bfloat16;`), a bool, an integer (`int`, or
//   `long long` where it does not fit), a float or double, or a string, which is a type's name as
//   it is. `figures`, of "grid", "block" and "shared", beside them adds the check that the
//   template's own `<function>_<figure>()` is the kernel's launch. The template's function is
//   called with the kernel's pointers in their order, or as `arguments = array<i64: 0, -1, 2>` says
//   (-1 is `nullptr`). Operands that nothing writes or aliases are `llvm.noalias`, as
//   createLoopKernel says.
//
// The kernel on tensors says how it is launched: `sinter.grid` blocks of `sinter.block` threads
// with `sinter.shared` bytes of dynamic shared memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Loops/Kernels.h"

namespace sinter {

/// The most threads that a block may have.
inline constexpr int64_t kLargestBlock = 1024;
/// Name of the attribute with the threads of a block, on the tensor-level kernel.
inline constexpr llvm::StringLiteral kBlockAttribute = "sinter.block";
/// Name of the attribute with a block's bytes of dynamic shared memory, on the tensor-level kernel.
inline constexpr llvm::StringLiteral kSharedAttribute = "sinter.shared";
/// Name of the attribute with the bytes of a kernel's scratch, on the tensor-level kernel, where it
/// has one: memory of its own that is zero before the first launch, and that the kernel is given
/// again as it left it. It is the kernel's last argument.
inline constexpr llvm::StringLiteral kScratchAttribute = "sinter.scratch";
/// Name of the attribute with the names of kernels that compute the same as a tensor-level kernel,
/// in other ways: the device chooses (plan.alternatives).
inline constexpr llvm::StringLiteral kAlternativesAttribute = "sinter.alternatives";
/// Name of the unit attribute, on the tensor-level kernel, of a kernel that may be launched before
/// the one before it is done (programmatic dependent launch, runtime/Device/Cuda/CudaProgram.h): it
/// waits itself, before it touches memory other than constant operands.
inline constexpr llvm::StringLiteral kWaitsAttribute = "sinter.waits";
/// Name of the unit attribute of a tensor-level kernel's operand that no kernel of the programs
/// that launch it writes: weights that are not trained.
inline constexpr llvm::StringLiteral kConstantAttribute = "sinter.constant";
/// Name of the unit attribute, on the tensor-level kernel, of one whose template may multiply
/// matrices by warpgroups.
inline constexpr llvm::StringLiteral kWarpgroupsAttribute = "sinter.warpgroups";
/// Name of the dictionary that says what a kernel without a body is instantiated from.
inline constexpr llvm::StringLiteral kTemplateAttribute = "sinter.template";
/// Names of what PlanThreads says of a generated kernel: its work items, and the threads that one
/// of them is computed by.
inline constexpr llvm::StringLiteral kItemsAttribute = "sinter.items";
inline constexpr llvm::StringLiteral kThreadsAttribute = "sinter.threads";
/// Names of what PlanThreads says of a loop over threads: the neighbours that a thread works on
/// together, and how many steps of it are written out.
inline constexpr llvm::StringLiteral kLanesAttribute = "sinter.lanes";
inline constexpr llvm::StringLiteral kUnrollAttribute = "sinter.unroll";
/// Name of the unit attribute of a row buffer whose elements are each used by one thread.
inline constexpr llvm::StringLiteral kRegistersAttribute = "sinter.registers";

/// How a kernel is launched.
struct CudaLaunch {
  int64_t grid = 0, block = 0, sharedBytes = 0, scratchBytes = 0;
  bool waits = false; ///< the kernel's code waits for the one before it
};

/// Writes a launch to a kernel on tensors.
void setLaunch(mlir::func::FuncOp tensorKernel, const CudaLaunch &launch);
/// The launch that a kernel on tensors says, or nothing where it is incomplete.
std::optional<CudaLaunch> getLaunch(mlir::func::FuncOp tensorKernel);

/// Bytes of shared memory that a buffer of so many bytes takes, in the order of the buffers.
constexpr int64_t getSharedBytes(int64_t bytes) { return (bytes + 15) / 16 * 16; }

} // namespace sinter
