//===- DecisionCollector.h - Remarks as data --------------------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "mlir/IR/MLIRContext.h"

namespace sinter {

/// Makes the context add every remark of Sinter's passes (taken or declined) to `decisions`, which
/// must outlive the context's remark engine.
mlir::LogicalResult collectDecisions(mlir::MLIRContext &context, std::vector<Decision> &decisions);

/// What a location says to people: the names in it, "model.layers.3.mlp.up_proj", without
/// duplicates, joined by " + " where ops were fused.
std::string describeLocation(mlir::Location location);

} // namespace sinter
