//===- Routing.h - How a router chooses experts -----------------*- C++ -*-===//
#pragma once

#include "frontends/Graph/GraphBuilder.h"
#include "frontends/Spec/ModelSpec.h"

namespace sinter {

/// What a router makes of its product.
struct Routing {
  mlir::Value weights; ///< f32 `[tokens, experts a token]`
  mlir::Value ids;     ///< i32, of the same shape, the likeliest first
};

/// Chooses each token's experts as RoutingSpec says.
/// @param logits f32 `[tokens, experts]`
/// @param bias f32 `[experts]`, or null where the spec has none
Routing buildRouting(GraphBuilder &graph, const ModelSpec &spec, mlir::Value logits,
                     mlir::Value bias);

} // namespace sinter
