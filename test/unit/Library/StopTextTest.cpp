// Texts that end a generation, however they are cut into pieces.

#include "sinter/StopText.h"
#include <gtest/gtest.h>

using namespace sinter;

namespace {

/// What goes through of a text in pieces of `size`, with all that is held back at its end.
std::pair<std::string, std::optional<std::string>> cut(const std::string &text, size_t size,
                                                       std::vector<std::string> stops) {
  StopText stop(std::move(stops));
  std::string through;
  for (size_t at = 0; at < text.size(); at += size)
    through += stop.push(std::string_view(text).substr(at, size));
  through += stop.flush();
  return {through, stop.getFound()};
}

TEST(StopText, EndsBeforeTheFirstThatIsThere) {
  for (size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(cut("one, two\n\nthree", size, {"\n\n", "xx"}),
              std::pair(std::string("one, two"), std::optional<std::string>("\n\n")));
    EXPECT_EQ(cut("aabaac", size, {"aac"}),
              std::pair(std::string("aab"), std::optional<std::string>("aac")));
    EXPECT_EQ(cut("User: hi", size, {"hi", "User:"}),
              std::pair(std::string(), std::optional<std::string>("User:")));
  }
}

TEST(StopText, LetsAllThroughWhereNoneIs) {
  for (size_t size = 1; size < 8; ++size) {
    EXPECT_EQ(cut("ababab", size, {"abc"}),
              std::pair(std::string("ababab"), std::optional<std::string>()));
    EXPECT_EQ(cut("ababab", size, {}),
              std::pair(std::string("ababab"), std::optional<std::string>()));
  }
}

TEST(StopText, HoldsBackNoMoreThanMayBeABeginning) {
  StopText stop({"\nUser"});
  EXPECT_EQ(stop.push("a\nU"), "a");
  EXPECT_EQ(stop.push("n"), "\nUn");
  EXPECT_EQ(stop.push("b\n"), "b");
  EXPECT_EQ(stop.flush(), "\n");
}

} // namespace
