//===- Tokenizer.h - Text to token ids and back --------------------------===//
//
// Reads the tokenizer files that Hugging Face models come with and gives the same ids as their
// `tokenizers` library. Two kinds are read: `tokenizer.json` with a BPE model, and GPT-2's pair
// `vocab.json` + `merges.txt`. A part that is not known is an error when loading, never a guess.
//
// How a text becomes ids:
//
//   bytes ─► repaired UTF-8 ─► cut at added tokens ─► normalized ─► cut at added tokens
//         ─► pre-tokenized into words ─► BPE, word by word ─► post-processed (special tokens)
//
// Each stage is a class of its own beside this file. "truncation" and "padding", which
// tokenizer.json may hold, are ignored: they belong to training batches, and would cut prompts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A loaded tokenizer. Cheap to copy; all const functions may run on any number of threads.
class Tokenizer {
public:
  /// Files by name ("tokenizer.json"), as an executable carries them.
  using Files = std::map<std::string, std::string>;

  /// Reads the tokenizer's files of a model's directory: `tokenizer.json`, or else `vocab.json` and
  /// `merges.txt`; of a GGUF file, the tokenizer.json that it stands for. An error if there are
  /// none.
  static Expected<Files> readFiles(const std::filesystem::path &directory);

  /// Loads from a model's directory.
  static Expected<Tokenizer> fromDirectory(const std::filesystem::path &directory);

  /// Loads from files in memory, of the names that `readFiles` gives; others are ignored. Errors
  /// name them as files of `origin`: a folder, or an executable that carries them.
  static Expected<Tokenizer> fromFiles(const Files &files,
                                       const std::filesystem::path &origin = {});

  /// The ids of a text. Bytes that are not UTF-8 count as U+FFFD. With `addSpecial`, the special
  /// tokens that the model expects around a text (such as "<s>") are added; special tokens written
  /// in the text itself are recognized either way. An error only if the tokenizer's files are at
  /// odds with themselves: a pattern that never ends, an unknown token that is unknown.
  Expected<std::vector<int32_t>> encode(std::string_view text, bool addSpecial = true) const;

  /// The text of some ids; valid UTF-8, with U+FFFD for bytes that are no character. Ids that the
  /// tokenizer lacks have no text (models often have a few more than their tokenizer). With
  /// `skipSpecial`, special tokens have none either.
  std::string decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  /// One more than the largest id.
  int32_t getVocabSize() const;

  /// The id of a token, such as "<s>".
  std::optional<int32_t> tokenId(std::string_view token) const;

  /// The token of an id as the vocabulary writes it; nothing if there is none.
  std::optional<std::string> token(int32_t id) const;

  /// Whether an id is one of a special token.
  bool isSpecial(int32_t id) const;

private:
  friend class StreamDecoder;
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts(std::move(parts)) {}
  std::string decodeRaw(std::span<const int32_t> ids, bool skipSpecial, bool raw) const;

  std::shared_ptr<const Parts> parts;
};

/// Decodes ids as they are generated. What `push` returns, put together, is the text of all ids,
/// and each return is whole characters: bytes of one that is not complete are held back.
///
/// The text is that of Tokenizer::decode with one exception: where single-byte tokens ("<0xE2>")
/// in a row form no valid UTF-8, `decode` replaces all of the row; a stream has let go of what
/// was valid at its start.
class StreamDecoder {
public:
  explicit StreamDecoder(Tokenizer tokenizer, bool skipSpecial = true)
      : tokenizer(std::move(tokenizer)), skipSpecial(skipSpecial) {}

  /// The text that becomes certain with `id`; may be empty.
  std::string push(int32_t id);

  /// What is left when no more ids come: U+FFFD for an incomplete character, usually nothing. The
  /// decoder is as new afterwards.
  std::string flush();

private:
  Tokenizer tokenizer;
  bool skipSpecial;
  // A token's text may depend on what stands before it, so the last ids are decoded together with
  // the new one; the first `emitted` bytes of that have been returned already.
  std::vector<int32_t> window;
  size_t emitted = 0;
  std::string decoded;
};

} // namespace sinter
