//===- Convolution.h - Sums over a channel's last tokens --------*- C++ -*-===//
#pragma once

#include "frontends/Graph/ModelParts.h"

namespace sinter {

/// Where a chunk of tokens stands in its sequence.
struct ChunkPlace {
  mlir::Value start, count; ///< `[batch]`; null for whole sequences
  /// Of whole sequences with several documents, which do not see each other: where in its row each
  /// token's begins, `[batch, tokens]`; else null.
  mlir::Value first;

  /// How many tokens of its document stand before each token, f32 `[batch, tokens]`. @pre first
  mlir::Value getAge(GraphBuilder &graph) const;
};

/// Each channel's last few numbers, weighted: row i is the sum over j of weights[j] times row
/// i - width + 1 + j, where rows before the chunk are those of the state `window`
/// `[batch, width - 1, channels]`, and zeros where a sequence or a document begins.
/// @param rows f32 `[batch, tokens, channels]`
/// @param weights f32 `[width, channels]`
mlir::Value buildConvolution(GraphBuilder &graph, mlir::Value rows, mlir::Value weights,
                             const std::string &window, const ChunkPlace &place);

/// The weights `[channels, 1, width]` of a checkpoint, as buildConvolution() takes them.
mlir::Value getConvolutionWeights(ModelParts &parts, const std::string &name, int64_t channels,
                                  int64_t width);

/// A layer's convolution between its gates, up to the output product (ModelSpec.h), and its state.
/// @param x f32 `[batch, tokens, hidden]`
/// @param index the layer's
/// @return f32 `[batch, tokens, hidden]`
mlir::Value buildGatedConvolution(ModelParts &parts, mlir::Value x, const LayerSpec &layer,
                                  size_t index, const ChunkPlace &place);

} // namespace sinter
