//===- ErrorCollector.h - The first error that MLIR reports -----*- C++ -*-===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include <string>

namespace sinter {

/// Remembers the errors that the parser, ops and passes report while it lives; the first one is the
/// cause.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext &context);
  /// What it says.
  const std::string &getFirst() const { return first; }
  /// Where it is in a text: "model.mlir:3:7"; empty where that is not known.
  const std::string &getPlace() const { return place; }

private:
  std::string first, place;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sinter
