#include "runtime/Data/TokenStream.h"
#include "runtime/Base/ContentHash.h"
#include <algorithm>
#include <cassert>

namespace sinter::runtime {

TokenStream::TokenStream(std::vector<TokenFile> opened) {
  assert(!opened.empty() && "a stream without files");
  auto made = std::make_shared<Files>();
  for (const TokenFile &file : opened)
    made->ends.push_back(end += file.size());
  made->files = std::move(opened);
  files = std::move(made);
}

void TokenStream::read(uint64_t position, std::span<int32_t> out) const {
  for (position %= size(); !out.empty(); position = 0) {
    size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), size() - position));
    readAt(begin + position, out.first(count));
    out = out.subspan(count);
  }
}

// Reads across files, which must hold all of it.
void TokenStream::readAt(uint64_t position, std::span<int32_t> out) const {
  const std::vector<uint64_t> &ends = files->ends;
  auto next = std::upper_bound(ends.begin(), ends.end(), position);
  for (size_t index = static_cast<size_t>(next - ends.begin()); !out.empty(); ++index) {
    uint64_t start = index == 0 ? 0 : ends[index - 1];
    size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), ends[index] - position));
    files->files[index].read(position - start, out.first(count));
    position += count;
    out = out.subspan(count);
  }
}

std::string TokenStream::getHash() const {
  ContentHash hash;
  for (const TokenFile &file : files->files)
    hash.add(std::to_string(file.size()) + " ids " + file.getHash() + "\n");
  hash.add(std::to_string(begin) + " to " + std::to_string(end));
  return hash.hex();
}

TokenStream TokenStream::part(uint64_t from, uint64_t to) const {
  assert(from < to && to <= size() && "no part of the stream");
  TokenStream result = *this;
  result.begin = begin + from;
  result.end = begin + to;
  return result;
}

Expected<void> TokenStream::require(uint64_t needed, const std::string &purpose,
                                    const std::string &remedy) const {
  if (size() >= needed)
    return {};
  std::string name = files->files.front().getName();
  if (files->files.size() > 1)
    name += " and the other files";
  std::string there =
      size() == 1 ? "there is 1 token" : "there are " + std::to_string(size()) + " tokens";
  return fail(name, there + ", " + purpose + " needs " + std::to_string(needed), remedy);
}

} // namespace sinter::runtime
