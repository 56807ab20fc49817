#pragma once

#include "runtime/Base/Error.h"
#include <gtest/gtest.h>

namespace sinter::test {

/// What a function gives that is expected to succeed. Without a value the test fails and ends.
template <typename T> T valueOf(Expected<T> expected) {
  EXPECT_TRUE(expected) << expected.error().message();
  return std::move(*expected);
}

} // namespace sinter::test
