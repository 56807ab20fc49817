#pragma once

#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>

namespace sinter::runtime::testing {

/// Expects that an executable of these parts is refused, with one line that has `part` in it.
inline void expectError(const Parts &parts, std::string_view part) {
  auto loaded = parts.load();
  ASSERT_FALSE(loaded) << "expected: " << part;
  std::string message = loaded.error().message();
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

} // namespace sinter::runtime::testing
