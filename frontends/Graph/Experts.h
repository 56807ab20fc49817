//===- Experts.h - Products by the experts of a token -----------*- C++ -*-===//
#pragma once

#include "frontends/Graph/ModelParts.h"

namespace sinter {

/// The sum over each token's experts of what they make of it, weighted by its router (ModelSpec.h).
/// @param rows f32 `[tokens, hidden]`
/// @param routed what the router is multiplied by, of the same shape
/// @return f32 `[tokens, hidden]`
mlir::Value buildExperts(ModelParts &parts, mlir::Value rows, mlir::Value routed,
                         const LayerSpec &layer);

} // namespace sinter
