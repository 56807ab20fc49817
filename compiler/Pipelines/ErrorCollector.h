//===- ErrorCollector.h - What MLIR reports ---------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include <string>
#include <vector>

namespace sinter {

/// Remembers the errors and warnings that the parser, ops and passes report while it lives; the
/// first error is the cause.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext &context);
  /// What it says.
  const std::string &getFirst() const { return first; }
  /// Where it is in a text: "model.mlir:3:7"; empty where that is not known.
  const std::string &getPlace() const { return place; }

  /// What else is worth knowing.
  const std::vector<std::string> &getWarnings() const { return warnings; }

private:
  std::string first, place;
  std::vector<std::string> warnings;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sinter
