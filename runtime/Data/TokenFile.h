//===- TokenFile.h - Token ids on the disk ----------------------*- C++ -*-===//
//
// Training data are raw little-endian token ids without a header, mapped and never loaded whole.
// Everything that can be wrong with them is found when they are opened, before the first step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/MappedFile.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::runtime {

/// Bytes of one id. A text that a model without a tokenizer trains on is a file of one-byte ids.
enum class TokenWidth : uint8_t { One = 1, Two = 2, Four = 4 };

/// The width of a `.bin` for this many ids: two bytes up to 65536, then four.
constexpr TokenWidth tokenWidthFor(int64_t vocabulary) {
  return vocabulary <= 65536 ? TokenWidth::Two : TokenWidth::Four;
}

/// Ids packed as a `.bin` holds them. @pre every id fits the width.
std::vector<std::byte> packTokens(std::span<const int32_t> tokens, TokenWidth width);

class TokenFile {
public:
  /// Maps `path` and looks at every id once. Errors name the file: it cannot be read, is empty,
  /// has an odd length, or holds an id outside of [0, vocabulary).
  static Expected<TokenFile> open(const std::string &path, TokenWidth width, int64_t vocabulary);

  /// The same for ids in memory, packed as packTokens() does.
  static Expected<TokenFile> fromMemory(std::string name, std::vector<std::byte> packed,
                                        TokenWidth width, int64_t vocabulary);

  const std::string &getName() const { return source; }
  /// Names it after the text that the ids were made of, for errors.
  void setName(std::string name) { source = std::move(name); }

  /// The number of ids.
  uint64_t size() const { return content.size() / static_cast<size_t>(width); }

  /// The content's hash (ContentHash.h), of the ids as they are packed.
  const std::string &getHash() const { return contentHash; }

  /// Copies the ids from `begin` on. @pre begin + out.size() <= size()
  void read(uint64_t begin, std::span<int32_t> out) const;

private:
  TokenFile(std::string source, MappedFile mapping, std::vector<std::byte> memory,
            TokenWidth width);
  Expected<void> inspect(int64_t vocabulary);

  std::string source, contentHash;
  MappedFile mapping;
  std::vector<std::byte> memory;
  std::span<const std::byte> content; ///< of the mapping or of the memory
  TokenWidth width;
};

} // namespace sinter::runtime
