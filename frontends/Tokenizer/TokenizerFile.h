//===- TokenizerFile.h - Reading tokenizer.json at speed -----------------===//
//
// A tokenizer.json has tens of megabytes, nearly all of them the vocabulary and the merges. Those
// two go straight from the parser into tables; only the rest, a page or so, becomes a JSON tree.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter::tokenizer {

/// Hashes strings by their bytes, whatever type holds them.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

/// A map from strings that is looked up with views of strings.
template <typename T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

/// Tokens and their ids.
struct Vocabulary {
  StringMap<int32_t> ids;
  bool good = true; ///< no value was other than a whole number from 0 to 2^31 - 1
};

/// Merges in order. One that was written as "a b" has all of it in `left`.
struct MergeList {
  struct Merge {
    std::string left, right;
    bool line = false; ///< written as "a b"
  };
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<Merge> merges;
  size_t bad = kNone; ///< the first that is neither a string nor a pair of strings
};

/// A parsed tokenizer.json; in `rest`, the vocabulary and the merges of the model are empty.
struct TokenizerFile {
  nlohmann::json rest;
  Vocabulary vocabulary;
  MergeList merges;

  /// Parses a tokenizer.json. An error where it stops being JSON; what the JSON says is not looked
  /// at. `name` is the file's, for the error.
  static Expected<TokenizerFile> parse(const std::string &name, std::string_view content);

  /// Parses a vocab.json, which is a vocabulary and nothing else. If it is not even an object,
  /// `rest` is what it is.
  static Expected<TokenizerFile> parseVocabulary(const std::string &name, std::string_view content);
};

} // namespace sinter::tokenizer
