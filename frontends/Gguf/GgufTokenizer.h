//===- GgufTokenizer.h - The tokenizer.json of a GGUF file ------*- C++ -*-===//
#pragma once

#include "frontends/Gguf/GgufFile.h"
#include <map>
#include <string>

namespace sinter {

/// The file's tokenizer as Tokenizer::fromFiles() takes it: byte-level BPE ("gpt2") with its
/// merges, or SentencePiece's BPE ("llama"), whose merges follow from the pieces' scores. Empty
/// where the file has none. Fails on a tokenizer or a pre-tokenizer of another kind, and on lists
/// of other lengths than the vocabulary.
Expected<std::map<std::string, std::string>> makeGgufTokenizer(const GgufFile &file,
                                                               std::string_view source);

} // namespace sinter
