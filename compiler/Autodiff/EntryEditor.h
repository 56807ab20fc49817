//===- EntryEditor.h - Changing what an entry takes and gives ---*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// An entry function while it gets more arguments and results. Its type is right again after
/// `finish`.
class EntryEditor {
public:
  explicit EntryEditor(mlir::func::FuncOp function);

  /// Begins a new entry behind another.
  EntryEditor(llvm::StringRef name, mlir::func::FuncOp after);

  /// Builds behind all ops that are there.
  mlir::OpBuilder &getBuilder() { return builder; }

  /// The scalar input of a name, added if it is not there.
  mlir::BlockArgument getInput(llvm::StringRef name);
  mlir::BlockArgument addState(llvm::StringRef name, mlir::RankedTensorType type);
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
  llvm::SmallVector<mlir::Value> values; ///< the results
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
};

} // namespace sinter
