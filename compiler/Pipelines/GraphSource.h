//===- GraphSource.h - What is compiled -------------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename Op> class OwningOpRef;
} // namespace mlir

namespace sinter {

class TargetAttr;
struct CompileRequest;

/// A graph, made when there is something to compile: where an equal request was compiled before,
/// none is built. The compiler asks for it once for every plan that it makes. Frontends implement
/// this (frontends/Graph).
class GraphSource {
public:
  virtual ~GraphSource() = default;

  /// The module with one function an entry, as frontends leave it (dialects/Sinter): for the sizes
  /// and entries of the request's options where it has any choice.
  /// @param target what it will be compiled for. Fails on what a user can mend.
  virtual Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  build(mlir::MLIRContext &context, const CompileRequest &request, TargetAttr target) const = 0;

  /// Whether a person wrote the graph: what Import finds wrong with it is the person's mistake.
  virtual bool isWritten() const { return false; }
};

} // namespace sinter
