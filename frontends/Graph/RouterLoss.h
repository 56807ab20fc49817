//===- RouterLoss.h - A loss that spreads tokens over experts ---*- C++ -*-===//
#pragma once

#include "frontends/Graph/GraphBuilder.h"

namespace sinter {

/// The auxiliary loss of Fedus et al., "Switch transformers", 2021, equations 4 to 6, of all layers
/// with experts as one, as transformers' `load_balancing_loss_func` has it:
///
///   experts * sum over e of chosen(e) * scores(e)
///
/// with scores the softmax of the routers' logits, and chosen how often e is among a token's
/// likeliest, both as means over tokens and layers. A model may choose in another way (by sigmoids,
/// with a bias, in groups); that does not count here. Where all experts are chosen equally often
/// the loss is the number of experts that a token has. Gradients go by the scores alone.
class RouterLoss {
public:
  /// Counts a layer's tokens. @param logits f32 `[tokens, experts]` @param chosen experts a token
  void add(GraphBuilder &graph, mlir::Value logits, int64_t chosen);

  /// The loss of the layers so far, a number in f32; null where none has experts.
  mlir::Value build(GraphBuilder &graph) const;

private:
  mlir::Value choices, scores; ///< sums over tokens and layers, f32 `[experts]`
  int64_t tokens = 0;          ///< of all layers
};

} // namespace sinter
