//===- Normalizer.h - Rewriting text before it is cut --------------------===//
#pragma once

#include "frontends/Tokenizer/Reader.h"

#include <memory>
#include <string>

namespace sinter::tokenizer {

/// The "normalizer" of a tokenizer file.
class Normalizer {
public:
  virtual ~Normalizer() = default;

  /// Rewrites `text` (valid UTF-8). Sets `lostStart` if the first character is gone, which matters
  /// to parts that treat the start of the text specially.
  virtual Expected<void> apply(std::string &text, bool &lostStart) const = 0;
};

/// Reads a normalizer by its "type". `depth` counts the sequences around it.
Expected<std::unique_ptr<Normalizer>> readNormalizer(const Reader &reader, int depth = 0);

} // namespace sinter::tokenizer
