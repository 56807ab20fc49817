//===- CommandBuilder.h - What a family writes commands with ----*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// A program of the plan while its commands are written, one behind the other.
class CommandBuilder {
public:
  virtual ~CommandBuilder() = default;

  /// Creates ops behind the latest command.
  virtual mlir::OpBuilder &getBuilder() = 0;
  /// What the program is for, or null.
  virtual TargetAttr getTarget() const = 0;
  /// The slice of a value that is there already.
  virtual mlir::Value getSlice(mlir::Value value) = 0;
  /// The slice of a value that the next command computes.
  virtual mlir::Value makeSlice(mlir::Value value) = 0;
};

} // namespace sinter
