//===- EntryEditor.h - Changing what an entry takes and gives ---*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {

/// The input that the loss is multiplied by before it is differentiated.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";

/// The input of a name, or null.
mlir::BlockArgument findInput(mlir::func::FuncOp function, llvm::StringRef name);

/// An entry function while it gets more arguments and results. Its type and the attributes of those
/// are right again after `finish`: set one by one they would be copied each time.
class EntryEditor {
public:
  explicit EntryEditor(mlir::func::FuncOp function);

  /// Begins a new entry behind another.
  EntryEditor(llvm::StringRef name, mlir::func::FuncOp after);

  /// Builds behind all ops that are there.
  mlir::OpBuilder &getBuilder() { return builder; }

  /// The input of a name, added if it is not there: of a type, or a scalar of f32.
  mlir::BlockArgument getInput(llvm::StringRef name, mlir::RankedTensorType type = nullptr);
  /// @param role none of a state that every rank has whole.
  /// @param initializer of a state with the role parameter, or null.
  mlir::BlockArgument addState(llvm::StringRef name, mlir::RankedTensorType type,
                               std::optional<Role> role, NormalAttr initializer = nullptr);
  /// What becomes of a state: a result of its name takes over its memory.
  void setState(mlir::BlockArgument state, mlir::Value next);
  void addOutput(llvm::StringRef name, mlir::Value value);
  /// Takes away the results that carry an attribute.
  void eraseResults(llvm::StringRef attribute);

  void finish();

private:
  mlir::BlockArgument addArgument(mlir::Type type, llvm::StringRef attribute, llvm::StringRef name);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  llvm::StringMap<mlir::BlockArgument> inputs; ///< those that were asked for
  llvm::SmallVector<mlir::Value> values;       ///< the results
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
};

} // namespace sinter
