// Tables of options: texts, checks, and what an executable was compiled with.
#include "compiler/Pipelines/CompileOptions.h"
#include <gtest/gtest.h>

namespace sinter {
namespace {

template <typename T> void expectRoundTrip(const T &value, const std::string &text) {
  EXPECT_EQ(writeOption(value), text);
  T read{};
  EXPECT_TRUE(readOption(text, read)) << text;
  EXPECT_TRUE(read == value) << text;
}

TEST(Options, ReadAsTheyAreWritten) {
  expectRoundTrip(0.1, "0.1");
  expectRoundTrip(1e-8, "1e-08");
  expectRoundTrip(int64_t(-3), "-3");
  expectRoundTrip(true, "true");
  expectRoundTrip(std::optional<double>(), "");
  expectRoundTrip(std::optional<DType>(DType::BF16), "bf16");
  expectRoundTrip(std::vector<std::string>{"wte", "wpe"}, "wte,wpe");
}

TEST(Options, OtherTextsAreNoValues) {
  double number;
  int64_t whole;
  bool yes;
  std::optional<DType> type;
  EXPECT_FALSE(readOption("0.1x", number));
  EXPECT_FALSE(readOption("1.5", whole));
  EXPECT_FALSE(readOption("yes", yes));
  EXPECT_FALSE(readOption("f64", type));
}

TEST(Options, ErrorsNameTheId) {
  auto messageOf = [](auto change) {
    TrainingOptions options;
    change(options);
    auto checked = options.check();
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_EQ(messageOf([](TrainingOptions &) {}), "");
  EXPECT_EQ(messageOf([](TrainingOptions &o) { o.beta1 = 1; }),
            "`beta1` 1: is not a number from 0 to below 1; give 0.9, for example");
  EXPECT_EQ(messageOf([](TrainingOptions &o) { o.weightDecay = std::nan(""); }),
            "`weight_decay` nan: is not a number from 0 up; give 0.1, for example");
  EXPECT_EQ(messageOf([](TrainingOptions &o) { o.accumulate = 0; }),
            "`accumulate` 0: is not a whole number from 1 to 1048576; give one of those");
  EXPECT_EQ(messageOf([](TrainingOptions &o) { o.optimizer = "lion"; }),
            "`optimizer` lion: there is no such choice; give one of adamw, sgd, adafactor, muon");
}

TEST(Options, AnExecutablesOptionsAreAdopted) {
  TrainingOptions compiled;
  compiled.optimizer = "sgd";
  compiled.momentum = 0.5;
  auto metadata = describeOptions(compiled);
  EXPECT_FALSE(metadata.contains("arena_budget"));
  auto find = [&](std::string_view id) -> std::optional<std::string_view> {
    auto found = metadata.find(std::string(id));
    if (found == metadata.end())
      return std::nullopt;
    return found->second;
  };
  TrainingOptions options;
  options.momentum = 0.5;
  ASSERT_TRUE(adoptOptions(options, find, {"momentum"}, "m.sinter"));
  EXPECT_EQ(options.optimizer, "sgd");
  EXPECT_TRUE(listChanged(options).contains("optimizer"));

  options.momentum = 0.25;
  EXPECT_EQ(
      adoptOptions(options, find, {"momentum"}, "m.sinter").error().message(),
      "`momentum` 0.25: m.sinter was compiled for 0.5; leave the option out, or compile again");
  // As a version wrote it that did not know of it.
  metadata.erase("z_loss");
  EXPECT_EQ(adoptOptions(options, find, {}, "m.sinter").error().message(),
            "m.sinter: does not say what its option `z_loss` was, as an older version's; compile "
            "the model again");
}

} // namespace
} // namespace sinter
