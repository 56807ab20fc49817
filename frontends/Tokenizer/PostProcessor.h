//===- PostProcessor.h - Special tokens around a sequence ----------------===//
#pragma once

#include "frontends/Tokenizer/Reader.h"

#include <cstdint>
#include <vector>

namespace sinter::tokenizer {

/// The "post_processor" of a tokenizer file, as far as it concerns ids of a single sequence: some
/// come before the text's, some behind, and in a curious template the text comes more than once.
class PostProcessor {
public:
  /// Does nothing.
  PostProcessor() = default;

  /// Reads a post-processor by its "type".
  static Expected<PostProcessor> read(const Reader &reader);

  /// Puts the special tokens into `ids`; without `addSpecial`, only what else the template says.
  void apply(std::vector<int32_t> &ids, bool addSpecial) const;

private:
  struct Part {
    bool text = false;        ///< the sequence itself
    std::vector<int32_t> ids; ///< or these
  };
  using Template = std::vector<Part>;

  static Expected<Template> readTemplate(const Reader &reader);
  static Expected<Template> readClsSep(const Reader &reader);
  Expected<void> append(const Reader &reader, int depth);

  std::vector<Template> templates; ///< applied in order
};

} // namespace sinter::tokenizer
