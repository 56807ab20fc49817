// What this machine can do at most: the measurement, what is kept of it, and that no share of a
// limit is above 1.

#include "runtime/Base/CpuFeatures.h"
#include "runtime/Device/Cpu/HostLimits.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
namespace fs = std::filesystem;

namespace {

class HostLimitsTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-limits-XXXXXX";
    folder = mkdtemp(pattern.data());
    fs::remove(folder);
  }
  void TearDown() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  /// Limits of a machine that is measured at `rate` of everything.
  HostLimits measuredAt(double rate, std::string machine = "this", bool together = true) {
    return {std::move(machine), folder, [this, rate, together](LimitKind, RateTime time) {
              ++measured;
              patience = time.patience;
              return Rate{rate, together};
            }};
  }

  std::string read() const {
    std::ifstream file(folder / "limits.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(std::string_view text) const {
    fs::create_directories(folder);
    std::ofstream(folder / "limits.json") << text;
  }

  fs::path folder;
  int measured = 0;
  double patience = 0;
};

TEST_F(HostLimitsTest, MeasuresWhatIsAskedOnceAndKeepsIt) {
  HostLimits limits = measuredAt(5e9);
  EXPECT_EQ(limits.get(LimitKind::Memory), 5e9);
  EXPECT_EQ(limits.get(LimitKind::Memory), 5e9);
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(nlohmann::json::parse(read()),
            nlohmann::json::parse(
                R"({"this": {"memory_read_bytes_per_second": {"rate": 5e9, "measurements": 1}}})"));
}

TEST_F(HostLimitsTest, WhatEnoughHaveMeasuredIsTaken) {
  for (int i = 0; i < HostLimits::enough; ++i)
    EXPECT_EQ(measuredAt(5e9 + i).get(LimitKind::Memory), 5e9 + i);
  HostLimits limits = measuredAt(9e9);
  EXPECT_EQ(limits.get(LimitKind::Memory), 5e9 + HostLimits::enough - 1);
  EXPECT_EQ(measured, HostLimits::enough);
  // Passed, it is raised all the same; and of another kind nothing is known.
  EXPECT_EQ(limits.shareOf(LimitKind::Memory, 8e9), 1);
  EXPECT_EQ(measuredAt(1e9).get(LimitKind::Memory), 8e9);
  EXPECT_EQ(measured, HostLimits::enough);
  EXPECT_EQ(measuredAt(9e9).get(LimitKind::F32Products), 9e9);
}

TEST_F(HostLimitsTest, TheFastestThatWasSeenCounts) {
  EXPECT_EQ(measuredAt(5e9).get(LimitKind::F32Products), 5e9);
  EXPECT_GT(patience, 0);
  // A slow moment, which is not waited out: there is something kept.
  EXPECT_EQ(measuredAt(3e9).get(LimitKind::F32Products), 5e9);
  EXPECT_EQ(patience, 0);
  EXPECT_EQ(measuredAt(7e9).get(LimitKind::F32Products), 7e9);
  EXPECT_EQ(measuredAt(1e9).get(LimitKind::F32Products), 7e9);
}

TEST_F(HostLimitsTest, NoShareIsAboveOne) {
  HostLimits limits = measuredAt(4e9);
  EXPECT_EQ(limits.shareOf(LimitKind::F32Products, 1e9), 0.25);
  EXPECT_EQ(limits.shareOf(LimitKind::F32Products, 0), 0);
  // Passed, the limit was measured in a slow moment. It is raised, for others too.
  EXPECT_EQ(limits.shareOf(LimitKind::F32Products, 8e9), 1);
  EXPECT_EQ(limits.shareOf(LimitKind::F32Products, 4e9), 0.5);
  EXPECT_EQ(limits.get(LimitKind::Bf16Products), 4e9);
  EXPECT_EQ(measuredAt(4e9).shareOf(LimitKind::F32Products, 4e9), 0.5);
}

TEST_F(HostLimitsTest, AnotherProcessorHasLimitsOfItsOwn) {
  measuredAt(5e9).get(LimitKind::Memory);
  EXPECT_EQ(measuredAt(2e9, "another").get(LimitKind::Memory), 2e9);
  EXPECT_EQ(measuredAt(1e9).get(LimitKind::Memory), 5e9);
  EXPECT_EQ(measuredAt(1e9, "another").get(LimitKind::Memory), 2e9);
}

TEST_F(HostLimitsTest, WhatIsKeptButDamagedIsMeasuredAgain) {
  auto limit = [](const std::string &text) {
    return R"({"this": {"memory_read_bytes_per_second": )" + text + "}}";
  };
  for (const std::string &text :
       {std::string(), std::string("{"), std::string("[1]"), std::string("\xff\xfe"),
        std::string("null"), std::string(R"({"this": 3})"), limit("5e9"), limit("[]"),
        limit(R"({"rate": 5e9})"), limit(R"({"rate": "fast", "measurements": 9})"),
        limit(R"({"rate": -1, "measurements": 9})"), limit(R"({"rate": 0, "measurements": 9})"),
        limit(R"({"rate": 1e300, "measurements": 9})"),
        limit(R"({"rate": null, "measurements": 9})"),
        limit(R"({"rate": 5e9, "measurements": "many"})")}) {
    write(text);
    measured = 0;
    EXPECT_EQ(measuredAt(5e9).get(LimitKind::Memory), 5e9) << text;
    EXPECT_EQ(measured, 1) << text;
    EXPECT_GT(patience, 0) << text;
    // And is whole again.
    EXPECT_EQ(nlohmann::json::parse(read())["this"]["memory_read_bytes_per_second"]["rate"], 5e9)
        << text;
  }
}

TEST_F(HostLimitsTest, AFolderThatCannotBeWrittenCostsTimeAlone) {
  // A file stands where the folder should: no permission lets anyone write below it.
  std::ofstream(folder) << "a file";
  HostLimits limits = measuredAt(5e9);
  EXPECT_EQ(limits.get(LimitKind::Memory), 5e9);
  EXPECT_EQ(limits.shareOf(LimitKind::Memory, 6e9), 1);
  EXPECT_EQ(limits.get(LimitKind::Memory), 6e9);
  EXPECT_EQ(measuredAt(4e9).get(LimitKind::Memory), 4e9);
  // Nor does it matter where there is no folder at all.
  EXPECT_EQ(HostLimits("this", {}, [](LimitKind, RateTime) { return Rate{2e9, true}; })
                .get(LimitKind::Memory),
            2e9);
}

TEST_F(HostLimitsTest, AnEstimateIsNotKept) {
  EXPECT_EQ(measuredAt(9e9, "this", /*together=*/false).get(LimitKind::Memory), 9e9);
  EXPECT_FALSE(fs::exists(folder / "limits.json"));
  EXPECT_EQ(measuredAt(5e9).get(LimitKind::Memory), 5e9);
  // Nor does it count where there is more than an estimate.
  EXPECT_EQ(measuredAt(9e9, "this", /*together=*/false).get(LimitKind::Memory), 5e9);
}

TEST_F(HostLimitsTest, AMomentIsNoMoreThanTheLimit) {
  HostLimits limits = measuredAt(5e9);
  limits.shareOf(LimitKind::Memory, 8e9);
  EXPECT_EQ(limits.measureNow(LimitKind::Memory, 0.01), 5e9);
  EXPECT_EQ(limits.get(LimitKind::Memory), 8e9);
  HostLimits faster = measuredAt(9e9);
  EXPECT_EQ(faster.measureNow(LimitKind::Memory, 0.01), 9e9);
  EXPECT_EQ(faster.get(LimitKind::Memory), 9e9);
}

TEST_F(HostLimitsTest, WhatIsNearerIsNoSlower) {
  HostLimits limits("this", folder, [](LimitKind kind, RateTime) {
    return Rate{kind == LimitKind::SharedCache ? 1e9 : 4e9 / (1 + double(kind)), true};
  });
  Limits all = limits.all();
  EXPECT_LE(all.memoryBytes, all.sharedBytes);
  EXPECT_LE(all.sharedBytes, all.privateBytes);
}

TEST(RatesTest, InstructionsAreThoseThatMayBeUsedAndAreThere) {
  EXPECT_EQ(InstructionSet::of({}).getName(), "sse2");
  std::vector<std::string> avx2 = {"avx2", "fma"}, all = cpuFeatures();
  std::string name = InstructionSet::of(avx2).getName();
  EXPECT_EQ(name, hasCpuFeature("avx2") && hasCpuFeature("fma") ? "avx2" : "sse2");
  EXPECT_GE(InstructionSet::of(all).vectorBytes, InstructionSet::of(avx2).vectorBytes);
  std::vector<std::string> unknown = {"avx9"};
  EXPECT_EQ(InstructionSet::of(unknown).getName(), "sse2");
}

TEST(RatesTest, EveryLevelOfInstructionsRuns) {
  // Each on its own, on any host: an instruction that the processor lacks would end the test.
  RateTime brief = {.seconds = 1e-3, .patience = 0};
  std::vector<std::string> none, avx2 = {"avx2", "fma"}, all = cpuFeatures();
  for (const std::vector<std::string> &features : {none, avx2, all}) {
    InstructionSet set = InstructionSet::of(features);
    double f32 = measureMultiplyAdds(1, set, DType::F32, brief).perSecond;
    double bf16 = measureMultiplyAdds(1, set, DType::BF16, brief).perSecond;
    double int8 = measureMultiplyAdds(1, set, DType::I8, brief).perSecond;
    double int4 = measureMultiplyAdds(1, set, DType::I4, brief).perSecond;
    // No core does 10^13 of anything a second; how slow a busy one is, nobody knows.
    for (double rate : {f32, bf16, int8, int4}) {
      EXPECT_GT(rate, 0) << set.getName();
      EXPECT_LT(rate, 1e13) << set.getName();
    }
    double loads = measureLoads(1, set, 1 << 14, brief).perSecond;
    EXPECT_GT(loads, 0) << set.getName();
    EXPECT_LT(loads, 1e13) << set.getName();
    alignas(64) static std::array<std::byte, 1 << 14> memory;
    double passes = measureLoads(1, set, memory, brief).perSecond;
    EXPECT_GT(passes, 0) << set.getName();
    EXPECT_LT(passes, 1e13) << set.getName();
    EXPECT_EQ(measureLoads(1, set, std::span(memory).first(511), brief).perSecond, 0);
  }
}

TEST(RatesTest, ThreadsThatThereIsNoProcessorForDoNotCount) {
  RateTime brief = {.seconds = 1e-3, .patience = 0};
  Rate rate = measureMultiplyAdds(4096, InstructionSet::of({}), DType::F32, brief);
  EXPECT_TRUE(std::isfinite(rate.perSecond));
  EXPECT_GT(rate.perSecond, 0);
}

TEST(LimitsTest, TheLeastTimeIsThatOfWhatTakesLongest) {
  Limits limits = {.flops = 100,
                   .narrowFlops = 200,
                   .byteFlops = 400,
                   .nibbleFlops = 800,
                   .memoryBytes = 10,
                   .sharedBytes = 20,
                   .privateBytes = 40};
  EXPECT_EQ(leastSeconds({.flops = 50, .narrowFlops = 100}, limits), 1);
  EXPECT_EQ(leastSeconds({.byteFlops = 200, .nibbleFlops = 400}, limits), 1);
  EXPECT_EQ(leastSeconds({.memoryBytes = 5, .sharedBytes = 5, .privateBytes = 10}, limits), 1);
  EXPECT_EQ(leastSeconds({.flops = 300, .memoryBytes = 5}, limits), 3);
  EXPECT_EQ(leastSeconds({.flops = 100, .memoryBytes = 20}, limits), 2);
  // What has no limit takes no time.
  EXPECT_EQ(leastSeconds({.flops = 1, .memoryBytes = 1}, {}), 0);
}

TEST(LimitsTest, ACommandsWorkIsCountedOnce) {
  Parts parts = smallModel();
  Parts::Command &command = parts.programs[1].commands[0];
  command.flops = 10;
  command.narrowFlops = 4;
  command.byteFlops = 3;
  command.nibbleFlops = 1;
  command.bytes = 100;
  command.sharedBytes = 20;
  command.privateBytes = 30;
  auto executable = *parts.load();
  Work work = workOf(*executable->getRoot().programs()->Get(1)->commands()->Get(0));
  EXPECT_EQ(work.flops, 2);
  EXPECT_EQ(work.narrowFlops, 4);
  EXPECT_EQ(work.byteFlops, 3);
  EXPECT_EQ(work.nibbleFlops, 1);
  EXPECT_EQ(work.memoryBytes, 50);
  EXPECT_EQ(work.sharedBytes, 20);
  EXPECT_EQ(work.privateBytes, 30);
}

} // namespace
