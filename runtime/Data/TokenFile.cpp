#include "runtime/Data/TokenFile.h"
#include "runtime/Base/ContentHash.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace sinter::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are copied as they lie");

// Calls `fn` with a zero of the unsigned type of this width.
template <typename Fn> auto withElement(TokenWidth width, Fn fn) {
  switch (width) {
  case TokenWidth::One:
    return fn(uint8_t(0));
  case TokenWidth::Two:
    return fn(uint16_t(0));
  case TokenWidth::Four:
    break;
  }
  return fn(uint32_t(0));
}

template <typename Element> uint32_t largestOf(std::span<const std::byte> bytes) {
  Element largest = 0;
  const auto *ids = reinterpret_cast<const Element *>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(Element); ++i)
    largest = std::max(largest, ids[i]);
  return largest;
}

} // namespace

std::vector<std::byte> packTokens(std::span<const int32_t> tokens, TokenWidth width) {
  std::vector<std::byte> packed(tokens.size() * static_cast<size_t>(width));
  withElement(width, [&](auto zero) {
    using Element = decltype(zero);
    for (size_t i = 0; i < tokens.size(); ++i) {
      Element id = static_cast<Element>(tokens[i]);
      assert(static_cast<int64_t>(id) == tokens[i] && "an id does not fit the width");
      std::memcpy(packed.data() + i * sizeof(Element), &id, sizeof(Element));
    }
  });
  return packed;
}

TokenFile::TokenFile(std::string source, MappedFile mapping, std::vector<std::byte> memory,
                     TokenWidth width)
    : source(std::move(source)), mapping(std::move(mapping)), memory(std::move(memory)),
      content(this->memory.empty() ? this->mapping.getBytes()
                                   : std::span<const std::byte>(this->memory)),
      width(width) {}

Expected<TokenFile> TokenFile::open(const std::string &path, TokenWidth width, int64_t vocabulary) {
  SINTER_TRY(MappedFile mapping, MappedFile::open(path));
  TokenFile file(path, std::move(mapping), {}, width);
  SINTER_CHECK(file.inspect(vocabulary));
  return file;
}

Expected<TokenFile> TokenFile::fromMemory(std::string name, std::vector<std::byte> packed,
                                          TokenWidth width, int64_t vocabulary) {
  TokenFile file(std::move(name), MappedFile(), std::move(packed), width);
  SINTER_CHECK(file.inspect(vocabulary));
  return file;
}

// Reads all of the content once: the largest id and the hash.
Expected<void> TokenFile::inspect(int64_t vocabulary) {
  size_t bytes = static_cast<size_t>(width);
  if (content.empty())
    return fail(source, "it is empty", "give a file with tokens in it");
  if (content.size() % bytes != 0)
    return fail(source,
                "its " + std::to_string(content.size()) + " bytes are no whole number of ids of " +
                    std::to_string(bytes) + " bytes",
                "write raw little-endian uint" + std::to_string(8 * bytes) + " ids, no header");
  constexpr size_t step = size_t(4) << 20;
  ContentHash hash;
  for (std::span<const std::byte> rest = content; !rest.empty();) {
    std::span<const std::byte> part = rest.first(std::min(step, rest.size()));
    uint32_t largest =
        withElement(width, [&](auto zero) { return largestOf<decltype(zero)>(part); });
    if (largest >= vocabulary)
      return fail(source,
                  "it holds the id " + std::to_string(largest) +
                      ", the vocabulary has the ids 0 to " + std::to_string(vocabulary - 1),
                  "make the file with this model's tokenizer, as uint" + std::to_string(8 * bytes));
    hash.add(part);
    if (memory.empty())
      mapping.release(part);
    rest = rest.subspan(part.size());
  }
  contentHash = hash.hex();
  return {};
}

void TokenFile::read(uint64_t begin, std::span<int32_t> out) const {
  assert(begin <= size() && out.size() <= size() - begin && "read beyond the end");
  withElement(width, [&](auto zero) {
    const auto *ids = reinterpret_cast<const decltype(zero) *>(content.data()) + begin;
    std::copy_n(ids, out.size(), out.data());
  });
}

} // namespace sinter::runtime
