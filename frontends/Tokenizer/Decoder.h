//===- Decoder.h - From tokens back to text ------------------------------===//
#pragma once

#include "frontends/Tokenizer/Reader.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::tokenizer {

/// The "decoder" of a tokenizer file: steps over a list of strings, which begin as the tokens and
/// end as parts of the text.
class Decoder {
public:
  virtual ~Decoder() = default;

  /// Rewrites `parts` in place. With `raw`, bytes that form no character stay as they are in the
  /// strings, for a caller that may yet get the rest of the character; otherwise each becomes
  /// U+FFFD.
  virtual void apply(std::vector<std::string> &parts, bool raw) const = 0;
};

/// Reads a decoder by its "type". `depth` counts the sequences around it.
Expected<std::unique_ptr<Decoder>> readDecoder(const Reader &reader, int depth = 0);

/// The decoder of byte-level vocabularies.
std::unique_ptr<Decoder> makeByteLevelDecoder();

} // namespace sinter::tokenizer
