//===- LinearAttention.h - Layers that keep a matrix a head -----*- C++ -*-===//
#pragma once

#include "frontends/Graph/Convolution.h"

namespace sinter {

/// A layer's linear attention up to its output product (ModelSpec.h), and its states.
/// @param x f32 `[batch, tokens, hidden]`
/// @param index the layer's
/// @return f32 `[batch, tokens, value heads, value size]`
mlir::Value buildLinearAttention(ModelParts &parts, mlir::Value x, const LayerSpec &layer,
                                 size_t index, const ChunkPlace &place);

/// The same of a layer's state space.
/// @return f32 `[batch, tokens, value heads * value size]`
mlir::Value buildStateSpace(ModelParts &parts, mlir::Value x, const LayerSpec &layer, size_t index,
                            const ChunkPlace &place);

} // namespace sinter
