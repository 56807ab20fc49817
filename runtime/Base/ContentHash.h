//===- ContentHash.h - XXH3-128 of a file's content -------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sinter {

/// Hashes bytes as they come; the parts that they come in make no difference.
class ContentHash {
public:
  ContentHash();
  ~ContentHash();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  /// The hash of all bytes so far: 32 hexadecimal digits, those that `xxh128sum` prints.
  std::string hex() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The hash of one block of bytes.
std::string contentHash(std::span<const std::byte> bytes);

} // namespace sinter
