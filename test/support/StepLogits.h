//===- StepLogits.h - Steps that tests can look at ----------------*- C++ -*-===//
//
// A step returns the token that it draws. What it draws from tells more about how it was computed:
// tests have the steps of a model return their logits, [batch, vocab], instead.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/Compile.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sinter::test {

/// Makes the steps of a graph return "logits" in place of "token", and take nothing to draw by.
void returnLogits(mlir::ModuleOp graph);

/// The same for a model that is to be compiled: its graph takes the place of its spec.
void returnLogits(CompileRequest &request);

} // namespace sinter::test
