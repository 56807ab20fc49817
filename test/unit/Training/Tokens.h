// Token streams made by tests.
#pragma once

#include "runtime/Data/TokenStream.h"
#include <numeric>

namespace sinter::runtime::testing {

inline TokenFile tokenFile(const std::vector<int32_t> &ids, std::string name = "data.bin") {
  return *TokenFile::fromMemory(std::move(name), packTokens(ids, TokenWidth::Two), TokenWidth::Two,
                                65536);
}

/// The ids from 0 up to `count`: an id is its position.
inline TokenStream countingStream(int32_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<TokenFile> files;
  files.push_back(tokenFile(ids));
  return TokenStream(std::move(files));
}

} // namespace sinter::runtime::testing
