//===- Templates.h - Kernels that are instances of templates ----*- C++ -*-===//
//
// One function a template of kernels_templates/cuda, each a TemplateGenerator
// (compiler/Analysis/KernelFamily.h): it reads the kernel on tensors, and writes what the template
// is instantiated with. The launch follows from the formulas in the template's head; the printed
// source asserts that they agree.
//
// A parameter whose rule is a guess has `candidates` in Templates.json (one of a template's at the
// most), and the value 0 for the rule. A generator writes what it is given. Ways are timed on zeros
// (runtime/Device/Cuda/CudaProgram.cpp), so that a parameter whose best value depends on data, as
// the splits of attention_decode on how many keys there are, has none.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cuda/Kernels.h"

namespace sinter {

/// What a template's parameter with candidates may be, in Templates.json.
struct TemplateCandidates {
  std::string parameter;
  llvm::SmallVector<int64_t> values;
};

/// The candidates of a template by its function's name; nothing where it has none.
std::optional<TemplateCandidates> getTemplateCandidates(llvm::StringRef function);

/// Which pointer of a kernel its template's argument of this name is: an operand, or behind those a
/// result, counted from 0; -1 where it is null.
/// @param instance the kernel's `sinter.template`, of a template in Templates.json that has it.
int64_t getTemplateArgument(mlir::DictionaryAttr instance, llvm::StringRef name);

/// attention_forward, or attention_decode for few queries of a cache: one attention.
mlir::FailureOr<CudaLaunch> instantiateAttention(mlir::func::FuncOp kernel,
                                                 mlir::func::FuncOp function,
                                                 const TargetAttr &target, int64_t candidate);

/// attention_backward_keys or attention_backward_queries: the gradients of one attention's keys and
/// values, or of its queries.
mlir::FailureOr<CudaLaunch> instantiateAttentionGrad(mlir::func::FuncOp kernel,
                                                     mlir::func::FuncOp function,
                                                     const TargetAttr &target, int64_t candidate);

/// embedding_grad: one op of that name.
mlir::FailureOr<CudaLaunch> instantiateEmbeddingGrad(mlir::func::FuncOp kernel,
                                                     mlir::func::FuncOp function,
                                                     const TargetAttr &target, int64_t candidate);

/// gemv or gemm: one product of plain matrices, and a chain of post-ops; gemv_integers or
/// gemm_integers where its weights are integers.
mlir::FailureOr<CudaLaunch> instantiateGemm(mlir::func::FuncOp kernel, mlir::func::FuncOp function,
                                            const TargetAttr &target, int64_t candidate);

/// grouped_gemv, grouped_gemm or grouped_outer: one grouped_matmul or grouped_outer.
mlir::FailureOr<CudaLaunch> instantiateGrouped(mlir::func::FuncOp kernel,
                                               mlir::func::FuncOp function,
                                               const TargetAttr &target, int64_t candidate);

/// linear_attention or linear_attention_grad: one op of that name.
mlir::FailureOr<CudaLaunch> instantiateLinearAttention(mlir::func::FuncOp kernel,
                                                       mlir::func::FuncOp function,
                                                       const TargetAttr &target, int64_t candidate);

/// pack_integers: one sinter.pack of rows of integers of four bits.
mlir::FailureOr<CudaLaunch> instantiatePackIntegers(mlir::func::FuncOp kernel,
                                                    mlir::func::FuncOp function,
                                                    const TargetAttr &target, int64_t candidate);

/// top_k or route: one op of that name.
mlir::FailureOr<CudaLaunch> instantiateRouting(mlir::func::FuncOp kernel,
                                               mlir::func::FuncOp function,
                                               const TargetAttr &target, int64_t candidate);

/// sample: one op of that name.
mlir::FailureOr<CudaLaunch> instantiateSample(mlir::func::FuncOp kernel,
                                              mlir::func::FuncOp function, const TargetAttr &target,
                                              int64_t candidate);

/// stack: one concat of arguments of one type, and a cast of it.
mlir::FailureOr<CudaLaunch> instantiateStack(mlir::func::FuncOp kernel, mlir::func::FuncOp function,
                                             const TargetAttr &target, int64_t candidate);

} // namespace sinter
