//===- Quantize.h - A smaller model, and what it lost -----------*- C++ -*-===//
#pragma once

#include "sinter/Evaluate.h"
#include "sinter/WeightQuantizer.h"

namespace sinter {

struct QuantizeOptions : RunOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/QuantizeOptions.def"

  /// The options themselves, without those of RunOptions.
  template <typename Self, typename Visitor> static void visitOwn(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/QuantizeOptions.def"
  }
  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    RunOptions::visit(self, visitor);
    visitOwn(self, visitor);
  }
};

/// A layer that was quantized, or not.
struct QuantizedLayer {
  std::string name; ///< "model.layers.0.mlp.down_proj"
  bool isWide = false;
  /// The squared error of its weights over their squares.
  double error = 0;
  /// What its group, the layers of the same input, adds to the loss; with `max_loss`.
  std::optional<double> loss;
};

/// Tokens a second of a slot that decodes one after another.
struct DecodeRate {
  double predicted = 0, measured = 0;
};

struct Quantization {
  std::vector<QuantizedLayer> layers;       ///< all that can be quantized, in the model's order
  uint64_t bytesBefore = 0, bytesAfter = 0; ///< of the files of weights
  uint64_t weights = 0;                     ///< of the layers that were quantized
  double bitsPerWeight = 0;                 ///< of these, with their scales
  /// On the part of `calibrate` that nothing was calibrated on.
  std::optional<Evaluation> before, after;
  /// Beside those.
  std::optional<DecodeRate> rateBefore, rateAfter;
};

/// Quantizes the layers of a model's blocks and writes it as a Hugging Face directory in the format
/// of compressed-tensors, a file of weights a block, so that no more than a block is in memory.
/// Embeddings, the head, norms and biases stay as they are. Errors: a model without weights, one
/// that is quantized already, a group that does not divide the inputs of a layer, an `out` that
/// holds something, `calibrate` missing where it is needed or too short, no layer left to quantize.
Expected<Quantization> quantize(const Model &model, const QuantizeOptions &options);

} // namespace sinter
