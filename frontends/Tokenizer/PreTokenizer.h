//===- PreTokenizer.h - Cutting text into words --------------------------===//
#pragma once

#include "frontends/Tokenizer/Pieces.h"

#include <memory>

namespace sinter::tokenizer {

/// The "pre_tokenizer" of a tokenizer file.
class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;

  /// Cuts, and for some kinds rewrites, the pieces that are not yet tokens.
  virtual Expected<void> apply(Pieces &pieces) const = 0;
};

/// Reads a pre-tokenizer by its "type". `depth` counts the sequences around it.
Expected<std::unique_ptr<PreTokenizer>> readPreTokenizer(const Reader &reader, int depth = 0);

/// GPT-2's pre-tokenizer, for a vocabulary that comes without a tokenizer.json.
std::unique_ptr<PreTokenizer> makeGpt2PreTokenizer();

} // namespace sinter::tokenizer
