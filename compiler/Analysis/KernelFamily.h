//===- KernelFamily.h - What phases ask of a kind of kernels ----*- C++ -*-===//
//
// A family is one way to compute: products, attention, loops over rows, the packing of weights. All
// that is known of it stands in one class: which ops a kernel of it may hold, what they cost
// together, how its code is made for each target or which command of the plan it is.
//
// Fusion matches ops with families once. The name of the one that took them stays with them, as the
// `family` of a sinter.fusion and the `sinter.kernel` of an outlined kernel, and phases behind ask
// the family of that name: none of them knows which there are.
//
// A kernel is made around one op, its root (a matmul, an attention), which says of which family it
// is. Ops without a root are of the family "rows".
//
// A new family is a class in compiler/Families and a line in Families.cpp there, or comes with
// another dialect that has a KernelFamilyInterface.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Analysis/CostModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectInterface.h"

namespace sinter {

class CommandBuilder; // compiler/Families/CommandBuilder.h
struct CudaLaunch;    // compiler/Codegen/Cuda/Kernels.h

/// Ops of one block that are, or may become, one kernel.
using OpSet = llvm::SetVector<mlir::Operation *>;

/// The ops of a kernel's or a fusion's body.
OpSet getOps(mlir::Block &body);

/// The family of ops that no other family is made around.
inline constexpr llvm::StringLiteral kRowsFamily = "rows";

/// Chooses a template for a kernel: given the kernel on tensors and its function without a body,
/// sets `sinter.template` on the latter and returns the launch, or emits a diagnostic
/// "expected ..." and fails. `candidate` is what the template's parameter with candidates is, 0 for
/// its own rule.
using TemplateGenerator = mlir::FailureOr<CudaLaunch> (*)(mlir::func::FuncOp tensorKernel,
                                                          mlir::func::FuncOp instance,
                                                          const TargetAttr &target,
                                                          int64_t candidate);

class KernelFamily {
public:
  explicit KernelFamily(llvm::StringLiteral name) : name(name) {}
  virtual ~KernelFamily() = default;

  /// What fusions and kernels of the family are called in the IR: "attention".
  llvm::StringRef getName() const { return name; }

  //===--------------------------------------------------------------------===//
  // Fusion
  //===--------------------------------------------------------------------===//

  /// Whether a kernel with this op is one of the family, made around the op.
  virtual bool isRoot(mlir::Operation *op) const { return false; }

  /// Why ops cannot be a kernel of the family; empty where they can.
  /// @param root the only root among them, of this family; null for rows.
  virtual llvm::StringRef findObstacle(const OpSet &ops, mlir::Operation *root) const = 0;

  /// What ops, which can be a kernel of the family, are predicted to cost as one.
  virtual Cost getCost(const OpSet &ops, const CostModel &costs) const;

  /// Whether consumers of a kernel of the family join it before they join each other.
  virtual bool hasEpilogues() const { return false; }

  /// Whether splat constants are immediate operands of a kernel, and not read from memory.
  virtual bool hasImmediates() const { return true; }

  //===--------------------------------------------------------------------===//
  // Codegen
  //===--------------------------------------------------------------------===//

  /// Whether a fusion of the family becomes a command of its own and no kernel that is launched.
  virtual bool isCommand() const { return false; }

  /// Fills an empty loop kernel with the code of a kernel on tensors
  /// (compiler/Codegen/Loops/Kernels.h); returns how many work items there are, or emits a
  /// diagnostic "expected ..." and fails.
  virtual mlir::FailureOr<int64_t> lowerToLoops(mlir::func::FuncOp tensorKernel,
                                                mlir::func::FuncOp loopKernel,
                                                const TargetAttr &target) const;

  /// What instantiates the template that the family's kernels are on a GPU; null where their loops
  /// are mapped to threads.
  virtual TemplateGenerator getTemplate() const { return nullptr; }

  //===--------------------------------------------------------------------===//
  // Schedule
  //===--------------------------------------------------------------------===//

  /// Writes the command that a fusion is. Emits an error and fails on what it cannot be.
  /// @pre isCommand()
  virtual mlir::LogicalResult lowerToCommand(FusionOp fusion, CommandBuilder &commands) const;

  /// Whether the command of a fusion may write its result over this operand, which has its type.
  virtual bool mayOverwrite(FusionOp fusion, unsigned operand) const { return false; }

private:
  llvm::StringLiteral name;
};

/// What a dialect has that brings families.
class KernelFamilyInterface : public mlir::DialectInterface::Base<KernelFamilyInterface> {
public:
  explicit KernelFamilyInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// The dialect's families. No other dialect has one of the same name, or with the same root.
  virtual llvm::ArrayRef<const KernelFamily *> getFamilies() const = 0;
};

/// The families that a context's dialects bring.
class KernelFamilies {
public:
  explicit KernelFamilies(mlir::MLIRContext *context);

  /// The family of a name, or null.
  const KernelFamily *lookup(llvm::StringRef name) const;

  /// The family of a fusion, or null where there is none of its name.
  const KernelFamily *lookup(FusionOp fusion) const { return lookup(fusion.getFamily()); }

  /// The family of an outlined kernel. Emits an error and fails where there is none of its name.
  mlir::FailureOr<const KernelFamily *> require(mlir::func::FuncOp kernel) const;

  /// The family whose root an op is, or null.
  const KernelFamily *findRooted(mlir::Operation *op) const;

private:
  llvm::SmallVector<const KernelFamily *> families;
};

} // namespace sinter
