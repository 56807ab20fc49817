#include "runtime/Session/Session.h"
#include "runtime/Device/FiniteChecks.h"
#include "runtime/Weights/RandomWeights.h"
#include "test/unit/runtime/Matrices.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

constexpr uint64_t m = 3, n = 70, k = 20;

void doubleRows(void *const *slices, int64_t begin, int64_t end) {
  auto *in = static_cast<const float *>(slices[0]);
  auto *out = static_cast<float *>(slices[1]);
  for (int64_t i = begin * int64_t(n); i < end * int64_t(n); ++i)
    out[i] = 2 * in[i];
}

// Writes one element too far.
void doubleRowsAndStray(void *const *slices, int64_t begin, int64_t end) {
  doubleRows(slices, begin, end);
  static_cast<float *>(slices[0])[m * n] = 1;
}

void strayBehindOutput(void *const *slices, int64_t begin, int64_t end) {
  doubleRows(slices, begin, end);
  static_cast<float *>(slices[1])[m * n] = 1;
}

// The small model's weights in memory.
struct Weights : WeightSource {
  Weights() : weight(randomBuffer(n * k, DType::F32, 1)), bias(randomBuffer(n, DType::F32, 2)) {}
  std::optional<StoredTensor> find(std::string_view name) const override {
    auto &self = const_cast<Weights &>(*this);
    if (name == "w.weight" && !hideWeight)
      return StoredTensor{weightType, {int64_t(n), int64_t(k)}, {self.weight.data(), n * k * 4}};
    if (name == "w.bias")
      return StoredTensor{DType::F32, biasShape, {self.bias.data(), n * 4}};
    return std::nullopt;
  }
  void release(std::string_view name) const override { released.emplace_back(name); }

  Buffer weight, bias;
  bool hideWeight = false;
  DType weightType = DType::F32;
  std::vector<int64_t> biasShape = {int64_t(n)};
  mutable std::vector<std::string> released;
};

BindOptions options(const Weights *weights, unsigned threads = 2) {
  BindOptions result;
  result.weights = weights;
  result.threads = threads;
  result.kernels["double"] = doubleRows;
  result.kernels["linear"] = multiplySmallRows;
  return result;
}

std::vector<float> runOnce(Session &session) {
  size_t run = session.program("run").value();
  auto x = session.input(run, "x", DType::F32)->as<float>();
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(float(i));
  EXPECT_TRUE(session.run(run));
  auto y = session.output(run, "y", DType::F32)->as<float>();
  return {y.begin(), y.end()};
}

TEST(SessionTest, Computes) {
  Weights weights;
  auto session = Session::bind(*smallModel().load(), options(&weights));
  ASSERT_TRUE(session) << session.error().message();
  std::vector<float> y = runOnce(**session);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      double sum = loadAt(weights.bias.data(), j, DType::F32);
      for (uint64_t p = 0; p < k; ++p)
        sum += std::sin(float(i * k + p)) * loadAt(weights.weight.data(), j * k + p, DType::F32);
      EXPECT_NEAR(y[i * n + j], 2 * sum, 1e-4);
    }
  EXPECT_EQ(weights.released, (std::vector<std::string>{"w.weight", "w.bias"}));
}

TEST(SessionTest, ProgramCalledAsAPassOfAPipeline) {
  Parts parts = smallModel();
  parts.programs[1].name = "run.0.forward";
  Weights weights;
  auto session = Session::bind(*parts.load(), options(&weights));
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE((*session)->program("run.0.forward"));
  EXPECT_FALSE((*session)->program("run")) << "there is no pipeline whose entry it could be";
}

TEST(SessionTest, OtherProcessor) {
  Parts parts = smallModel();
  parts.features = {"warp-drive", "sse2", "antigravity"};
  auto executable = parts.load();
  ASSERT_TRUE(executable) << executable.error().message();
  Weights weights;
  auto session = Session::bind(*executable, options(&weights));
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find(
                "compiled for another processor: this one lacks warp-drive, antigravity"),
            std::string::npos)
      << session.error().message();
}

TEST(SessionTest, BitsDoNotDependOnTheThreads) {
  Weights weights;
  auto executable = *smallModel().load();
  std::vector<float> one = runOnce(**Session::bind(executable, options(&weights, 1)));
  for (unsigned threads : {2, 3, 5})
    EXPECT_EQ(one, runOnce(**Session::bind(executable, options(&weights, threads))));
}

TEST(SessionTest, RandomWeightsFollowTheSeed) {
  auto executable = *smallModel().load();
  BindOptions with = options(nullptr);
  std::vector<float> first = runOnce(**Session::bind(executable, with));
  with.threads = 1;
  with.seed = 7; // the executable's own
  EXPECT_EQ(first, runOnce(**Session::bind(executable, with)));
  with.seed = 8;
  EXPECT_NE(first, runOnce(**Session::bind(executable, with)));
}

TEST(SessionTest, RandomWeightsAreNormal) {
  ThreadPool pool(2);
  std::vector<float> values(200000);
  auto fill = [&](Initializer initializer) {
    fillRandomWeight(pool, std::as_writable_bytes(std::span(values)), DType::F32, initializer, "w",
                     1);
  };
  for (Initializer initializer : {Initializer{0, 0.02}, Initializer{1, 0.5}}) {
    fill(initializer);
    double mean = 0, square = 0;
    for (float value : values)
      mean += value / double(values.size());
    for (float value : values)
      square += (value - mean) * (value - mean) / double(values.size());
    EXPECT_NEAR(mean, initializer.mean, 0.01 * initializer.deviation);
    EXPECT_NEAR(std::sqrt(square), initializer.deviation, 0.01 * initializer.deviation);
  }
  fill({1, 0});
  EXPECT_EQ(values, std::vector<float>(values.size(), 1));
}

TEST(SessionTest, TensorsThatNoModelDescribesHaveInitializersToo) {
  EXPECT_EQ(defaultInitializer("a.weight", 2).deviation, 0.02);
  EXPECT_EQ(defaultInitializer("a.weight", 1).mean, 1);
  EXPECT_EQ(defaultInitializer("a.bias", 1).mean, 0);
  EXPECT_EQ(defaultInitializer("a.bias", 1).deviation, 0);
}

TEST(SessionTest, MemoryIsCounted) {
  Weights weights;
  auto session = *Session::bind(*smallModel().load(), options(&weights));
  MemoryUse use = session->getMemory();
  EXPECT_EQ(use.parameter, (PackedRhs{k, n, DType::F32}.getBytes() + n * 4));
  EXPECT_EQ(use.arena, m * n * 4 + 256);
  EXPECT_EQ(use.input, m * k * 4);
  EXPECT_EQ(use.output, m * n * 4);
  EXPECT_EQ(use.checkpoint, n * k * 4 + n * 4);
  EXPECT_EQ(use.getPeak(), use.getResident());
  MemoryUse predicted = predictMemory(*smallModel().load(), options(&weights)).value();
  EXPECT_EQ(predicted.getPeak(), use.getPeak());
  // Of random weights one at a time lies beside the parameters, each in the memory of the last.
  MemoryUse random = predictMemory(*smallModel().load(), options(nullptr)).value();
  EXPECT_EQ(random.preprocessArena - use.preprocessArena, n * k * 4);
  auto filled = *Session::bind(*smallModel().load(), options(nullptr));
  EXPECT_EQ(filled->getMemory().preprocessArena, random.preprocessArena);
}

TEST(SessionTest, WeightErrors) {
  auto executable = *smallModel().load();
  auto message = [&](const Weights &weights) {
    auto session = Session::bind(executable, options(&weights));
    return session ? "" : session.error().message();
  };
  Weights missing;
  missing.hideWeight = true;
  EXPECT_EQ(message(missing), "tensor 'w.weight': is missing from the weights; give the weights "
                              "that the model was compiled for");
  Weights otherType;
  otherType.weightType = DType::F16;
  EXPECT_NE(message(otherType).find("is F16 [70, 20] in the weights, the executable was compiled "
                                    "for F32 [70, 20]"),
            std::string::npos);
  Weights otherShape;
  otherShape.biasShape = {1, int64_t(n)};
  EXPECT_NE(message(otherShape).find("tensor 'w.bias': is F32 [1, 70]"), std::string::npos);
}

TEST(SessionTest, WeightsThatAreNotFiniteAreNamed) {
  auto executable = *smallModel().load();
  auto message = [&](auto damage) {
    Weights weights;
    damage(weights);
    auto session = Session::bind(executable, options(&weights));
    return session ? "" : session.error().message();
  };
  auto set = [](Buffer &buffer, size_t place, float value) {
    std::memcpy(buffer.data() + place * sizeof value, &value, sizeof value);
  };
  EXPECT_EQ(message([&](Weights &w) { set(w.weight, n * k - 1, NAN); }),
            "tensor 'w.weight': it holds nan; these weights are damaged: take others");
  EXPECT_EQ(message([&](Weights &w) { set(w.bias, 0, HUGE_VALF); }),
            "tensor 'w.bias': it holds inf; these weights are damaged: take others");
  EXPECT_EQ(message([&](Weights &w) { set(w.bias, n / 2, -HUGE_VALF); }),
            "tensor 'w.bias': it holds -inf; these weights are damaged: take others");
  EXPECT_EQ(message([&](Weights &w) {
              set(w.weight, 5, NAN);
              set(w.bias, 5, HUGE_VALF);
            }),
            "tensor 'w.weight': it holds nan, and so do 1 others; these weights are damaged: take "
            "others");
}

TEST(FiniteChecksTest, FindsTheWorstWhereverItIs) {
  ThreadPool pool(2);
  std::vector<float> wide(700'001, 3e38f);
  std::vector<uint16_t> half(700'001, 0x7bff), brain(700'001, 0x7f7f); // the largest of each
  auto of = [&](auto &values, fb::DType dtype) {
    auto kind = findNonFinite(pool, std::as_bytes(std::span(values)), dtype);
    EXPECT_EQ(kind, findNonFinite(std::as_bytes(std::span(values)), dtype));
    return kind ? std::string(nameOf(*kind)) : "";
  };
  for (size_t place : {size_t(0), size_t(262'144), size_t(400'003), size_t(700'000)}) {
    EXPECT_EQ(of(wide, fb::DType::F32) + of(half, fb::DType::F16) + of(brain, fb::DType::BF16), "");
    wide[place] = -HUGE_VALF, half[place] = 0xfc00, brain[place] = 0xff80;
    EXPECT_EQ(of(wide, fb::DType::F32), "-inf");
    EXPECT_EQ(of(half, fb::DType::F16) + of(brain, fb::DType::BF16), "-inf-inf");
    wide[3] = HUGE_VALF, half[3] = 0x7c00, brain[3] = 0x7f80;
    EXPECT_EQ(of(wide, fb::DType::F32), "inf");
    EXPECT_EQ(of(half, fb::DType::F16) + of(brain, fb::DType::BF16), "infinf");
    wide[4] = NAN, half[4] = 0x7c01, brain[4] = 0xffc0;
    EXPECT_EQ(of(wide, fb::DType::F32), "nan");
    EXPECT_EQ(of(half, fb::DType::F16) + of(brain, fb::DType::BF16), "nannan");
    for (size_t i : {place, size_t(3), size_t(4)})
      wide[i] = 1, half[i] = 0x7bff, brain[i] = 0x7f7f;
  }
}

TEST(SessionTest, UnknownNames) {
  auto executable = *smallModel().load();
  BindOptions with = options(nullptr);
  with.programs = {"walk"};
  EXPECT_FALSE(Session::bind(executable, with));
  with.programs = {"preprocess"};
  EXPECT_FALSE(Session::bind(executable, with));
  auto session = *Session::bind(executable, options(nullptr));
  EXPECT_FALSE(session->program("walk"));
  EXPECT_FALSE(session->program("preprocess"));
  EXPECT_FALSE(session->input(0, "z", DType::F32));
  EXPECT_FALSE(session->input(0, "x", DType::I32));
  EXPECT_FALSE(session->output(0, "x", DType::F32));
  EXPECT_FALSE(session->state("cache"));
}

// The small model with a state of so many bytes.
Parts withState(uint64_t bytes) {
  Parts parts = smallModel();
  parts.stateBytes = bytes;
  parts.states = {{"cache", fb::DType::F32, {int64_t(bytes / 4)}, slice(Space::State, 0, bytes)}};
  return parts;
}

TEST(SessionTest, TooLargeForTheMachine) {
  auto session = Session::bind(*withState(uint64_t(1) << 45).load(), options(nullptr));
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find("(caches 32768.0 GiB, "), std::string::npos)
      << session.error().message();
}

TEST(SessionTest, MemoryIsPredictedBeyondTheMachine) {
  auto predicted = predictMemory(*withState(uint64_t(1) << 40).load(), options(nullptr));
  ASSERT_TRUE(predicted) << predicted.error().message();
  EXPECT_EQ(predicted->state, uint64_t(1) << 40);
}

TEST(SessionTest, StatesLastUntilCleared) {
  Parts parts = withState(64);
  parts.programs[1].commands.push_back(fill(slice(Space::State, 0, 64), 0x3f));
  auto session = *Session::bind(*parts.load(), options(nullptr));
  auto cache = session->state("cache")->as<uint8_t>();
  EXPECT_EQ(cache[5], 0);
  runOnce(*session);
  EXPECT_EQ(cache[5], 0x3f);
  ASSERT_TRUE(session->clearState());
  EXPECT_EQ(cache[5], 0);
}

TEST(SessionTest, DebugModeFindsStrayWrites) {
  auto executable = *smallModel().load();
  Weights weights;
  BindOptions with = options(&weights);
  with.debug = true;
  auto sound = *Session::bind(executable, with);
  EXPECT_TRUE(sound->run(0));
  for (KernelFunction kernel : {doubleRowsAndStray, strayBehindOutput}) {
    with.kernels["double"] = kernel;
    auto session = *Session::bind(executable, with);
    auto result = session->run(0);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find(
                  "program 'run', command 1 (double): wrote outside of its slices"),
              std::string::npos);
  }
}

// The output is what the test wants it to be.
float planted = 0;

void plant(void *const *slices, int64_t begin, int64_t end) {
  doubleRows(slices, begin, end);
  static_cast<float *>(slices[1])[m * n - 1] = planted;
}

TEST(SessionTest, TheFirstCommandThatIsNotFiniteIsNamed) {
  Parts parts = smallModel();
  Parts::Program &run = parts.programs[1];
  run.commands.back() = launch(0, m, {slice(Space::Arena, 64, m * n * 4), run.outputs[0].slice},
                               "double", "layer.0", {fb::DType::F32});
  Weights weights;
  BindOptions with = options(&weights);
  with.kernels["double"] = plant;
  auto session = *Session::bind(*parts.load(), with);
  auto x = session->input(0, "x", DType::F32)->as<float>();
  EXPECT_FALSE(session->runToNonFinite(0).value());
  for (const auto &[value, text] : {std::pair(std::nanf(""), "nan"), std::pair(HUGE_VALF, "inf"),
                                    std::pair(-HUGE_VALF, "-inf")}) {
    planted = value;
    std::optional<NonFinite> found = session->runToNonFinite(0).value();
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->label, "double");
    EXPECT_EQ(found->layer, "layer.0");
    EXPECT_EQ(found->value, text);
  }
  x[0] = -HUGE_VALF; // the product has infinities of both signs
  std::optional<NonFinite> found = session->runToNonFinite(0).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->label, "linear");
}

TEST(SessionTest, MachineCodeIsCalled) {
  Parts parts = smallModel();
  BindOptions with = options(nullptr);
  with.kernels.clear(); // the code is a row of `ret`
  auto session = Session::bind(*parts.load(), with);
  ASSERT_TRUE(session);
  EXPECT_TRUE((*session)->run(0));
  EXPECT_GT((*session)->getMemory().code, 0u);
}

TEST(TraceTest, RowsAddUpToTheRuns) {
  auto session = *Session::bind(*smallModel().load(), options(nullptr));
  Trace trace(100);
  session->setTrace(&trace);
  for (int i = 0; i < 5; ++i)
    runOnce(*session);
  session->setTrace(nullptr);
  runOnce(*session);
  EXPECT_EQ(trace.getEvents().size(), 15u);
  for (ProfileBy by : {ProfileBy{.label = true, .layer = false, .stage = false},
                       ProfileBy{.label = false, .layer = true, .stage = false},
                       ProfileBy{.label = true, .layer = true, .stage = true}}) {
    std::vector<ProfileRow> rows = profile(trace, session->getExecutable(), {}, by);
    ASSERT_EQ(rows.size(), 3u);
    int64_t sum = 0;
    for (const ProfileRow &row : rows) {
      EXPECT_EQ(row.count, 5u);
      EXPECT_GE(row.measuredNs, 0);
      sum += row.measuredNs;
    }
    EXPECT_EQ(sum, measuredTime(trace));
    EXPECT_EQ(rows.back().label, unattributedLabel);
  }
}

TEST(TraceTest, ARooflineIsNoMoreThanWhatWasMeasured) {
  Parts parts = smallModel();
  parts.programs[1].commands[0].flops = uint64_t(1) << 40; // an hour of work
  parts.programs[1].commands[1].bytes = 1;                 // and next to none
  auto session = *Session::bind(*parts.load(), options(nullptr));
  Trace trace(100);
  session->setTrace(&trace);
  for (int i = 0; i < 3; ++i)
    runOnce(*session);
  Limits limits = {.flops = 1e9, .memoryBytes = 1e9};
  for (ProfileBy by : {ProfileBy{}, ProfileBy{.label = false, .layer = true}})
    for (const ProfileRow &row : profile(trace, session->getExecutable(), limits, by))
      EXPECT_LE(row.rooflineNs, double(row.measuredNs)) << row.label << row.layer;
  limits.flops = 1e30;
  double least = 0;
  for (const ProfileRow &row : profile(trace, session->getExecutable(), limits, {}))
    least += row.rooflineNs;
  EXPECT_NEAR(least, 3, 1e-6); // three times a byte at a byte a nanosecond
}

TEST(TraceTest, RowsOfStagesFollowTheStep) {
  Parts parts = smallModel();
  parts.programs[1].commands[0].stage = fb::Stage::Optimizer;
  parts.programs[1].commands[1].stage = fb::Stage::Backward;
  auto session = *Session::bind(*parts.load(), options(nullptr));
  Trace trace(100);
  session->setTrace(&trace);
  runOnce(*session);
  std::vector<ProfileRow> rows =
      profile(trace, session->getExecutable(), {}, {.label = false, .layer = false, .stage = true});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].stage, "backward");
  EXPECT_EQ(rows[1].stage, "optimizer");
  EXPECT_EQ(rows[2].stage, "");
}

TEST(TraceTest, FullTraceCountsWhatItDrops) {
  auto session = *Session::bind(*smallModel().load(), options(nullptr));
  Trace trace(2);
  session->setTrace(&trace);
  runOnce(*session);
  EXPECT_EQ(trace.getEvents().size(), 2u);
  EXPECT_EQ(trace.getDropped(), 1u);
  trace.clear();
  EXPECT_EQ(trace.getDropped(), 0u);
}

TEST(TraceTest, WritesJson) {
  Parts parts = smallModel();
  parts.programs[1].commands[1].label = "a \"quoted\" label";
  auto session = *Session::bind(*parts.load(), options(nullptr));
  Trace trace(10);
  session->setTrace(&trace);
  runOnce(*session);
  std::string path = ::testing::TempDir() + "sinter-trace-" + std::to_string(getpid()) + ".json";
  ASSERT_TRUE(writeChromeTrace(path, trace, session->getExecutable(), {}));
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("\"a \\\"quoted\\\" label\""), std::string::npos) << text;
  // A run, a layer in it, its commands and their rates.
  for (const char *part : {"\"name\":\"process_name\",\"ph\":\"M\"", "\"cat\":\"program\"",
                           "\"name\":\"layer.0\",\"ph\":\"X\"", "\"layer\":\"layer.0\"",
                           "\"name\":\"GB/s\",\"ph\":\"C\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  std::filesystem::remove(path);
  EXPECT_FALSE(writeChromeTrace("/absent/folder/trace.json", trace, session->getExecutable(), {}));
}

} // namespace
