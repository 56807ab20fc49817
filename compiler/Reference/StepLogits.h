//===- StepLogits.h - Steps that can be looked at ---------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// Makes the steps of a graph return "logits", [batch, vocab], in place of the token that they draw
/// from them, and take nothing to draw by: logits tell more about how they were computed.
void returnLogits(mlir::ModuleOp graph);

} // namespace sinter
