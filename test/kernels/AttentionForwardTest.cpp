#include "test/kernels/AttentionCase.h"
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

using Options = AttentionCase::Options;
using Trials = std::map<std::string, Options>;

namespace {
/// Weights are rounded to the elements' type before they meet the values, and results are.
double forwardTolerance(const Options &options) {
  if (options.element == "float")
    return 1e-5;
  return options.element == "__half" ? 2e-3 : 1.2e-2;
}

/// Chunks of a prompt that read caches of 8 bits.
Trials makeCacheTrials() {
  Trials trials;
  for (auto [kind, cache] : {std::pair("int8", "signed char"), {"fp8", "sinter::E4M3"}}) {
    Options options;
    options.cache = cache;
    options.hasStart = true;
    AttentionProblem &p = options.problem;
    p.batch = 2;
    p.length = 35;
    p.heads = 4;
    p.keyHeads = 2;
    p.headSize = 33;
    p.maxSequence = 90;
    p.causal = true;
    p.scale = 0.25;
    trials[std::string(kind) + "_odd"] = options;
    options.element = options.result = "__nv_bfloat16";
    options.packing = Packing::HeadMajor;
    p.headSize = 64;
    trials[std::string(kind) + "_head_major"] = options;
    p.headSize = 160;
    trials[std::string(kind) + "_wide"] = options;
    options.element = options.result = "__half";
    options.packing = Packing::Apart;
    options.hasFirst = options.hasSlopes = true;
    p.headSize = 48;
    p.window = 30;
    p.softcap = 3;
    trials[std::string(kind) + "_everything"] = options;
  }
  return trials;
}

/// Heads that registers hold outputs of only without matrix instructions, also of caches of 8 bits.
Trials makeWideForwardTrials() {
  Trials trials;
  auto add = [&](const std::string &name, const char *element, int headSize, int heads,
                 int keyHeads) -> Options & {
    Options &options = trials[name];
    options.element = options.result = element;
    options.hasStart = true;
    options.packing = Packing::HeadMajor;
    AttentionProblem &p = options.problem;
    p.batch = 1;
    p.length = 37;
    p.heads = heads;
    p.keyHeads = keyHeads;
    p.headSize = headSize;
    p.maxSequence = 60;
    p.causal = true;
    p.scale = 0.06;
    return options;
  };
  add("bf16_512", "__nv_bfloat16", 512, 4, 2);
  add("f32_510", "float", 510, 2, 1);
  add("f16_576", "__half", 576, 3, 1).problem.window = 20;
  add("fp8_512", "__nv_bfloat16", 512, 2, 2).cache = "sinter::E4M3";
  return trials;
}

bool hasLogsumexp(const Options &options) { return options.problem.causal; }

/// @param tile queries of a block; 0: by the rule.
TestKernels compileForward(const Trials &trials, bool checked, int tile = 0,
                           std::optional<int> fullGrid = std::nullopt,
                           const std::optional<std::string> &sharedMemory = std::nullopt) {
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, options] : trials) {
    kernels[name] = AttentionCase(options, 1).getParameters();
    kernels[name]["hasLogsumexp"] = hasLogsumexp(options) ? "true" : "false";
    kernels[name]["tile"] = std::to_string(tile);
    if (sharedMemory)
      kernels[name]["sharedMemory"] = *sharedMemory;
  }
  auto compiled =
      TestKernels::compile(getTemplate("attention_forward"), kernels, checked, fullGrid);
  EXPECT_TRUE(compiled) << compiled.error().message();
  return std::move(*compiled);
}

void expectForwardReference(TestKernels &kernels, const std::string &name, const Options &options,
                            simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  AttentionCase attention(options, 7);
  const AttentionProblem &p = attention.problem;
  HostTensor result = HostTensor::unwritten(options.result, p.querySize());
  HostTensor logsumexp = HostTensor::unwritten("float", p.rows());
  std::vector<HostTensor *> tensors = attention.getInputs();
  for (HostTensor *tensor : attention.getOptionalInputs())
    tensors.push_back(tensor);
  tensors.push_back(&result);
  if (hasLogsumexp(options))
    tensors.push_back(&logsumexp);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  AttentionResult expected = attend(p, attention.query, attention.key, attention.value);
  EXPECT_LT(distance(result.values, expected.result), forwardTolerance(options));
  if (hasLogsumexp(options))
    EXPECT_LT(distance(logsumexp.values, expected.logsumexp), 4e-6);
}
} // namespace

TEST(AttentionForward, IsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeAttentionTrials();
  TestKernels kernels = compileForward(trials, /*checked=*/false);
  int count = 0;
  for (const auto &[name, options] : trials)
    expectForwardReference(kernels, name, options, static_cast<simt::Schedule::Order>(count++ % 3));
}

TEST(AttentionForward, OfWideHeadsIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeWideForwardTrials();
  for (const char *sharedMemory : {"232448", "101376"}) {
    TestKernels kernels =
        compileForward(trials, /*checked=*/true, /*tile=*/0, std::nullopt, sharedMemory);
    int count = 0;
    for (const auto &[name, options] : trials)
      expectForwardReference(kernels, name, options,
                             static_cast<simt::Schedule::Order>(count++ % 3));
  }
}

TEST(AttentionForward, OfCachesOf8BitsIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeCacheTrials();
  for (bool checked : {false, true}) {
    TestKernels kernels = compileForward(trials, checked);
    int count = 0;
    for (const auto &[name, options] : trials)
      expectForwardReference(kernels, name, options,
                             static_cast<simt::Schedule::Order>(count++ % 3));
  }
}

TEST(AttentionForward, OfLargeBlocksIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeLargeAttentionTrials();
  TestKernels kernels = compileForward(trials, /*checked=*/false, /*tile=*/0, kLargeGrid);
  int count = 0;
  for (const auto &[name, options] : trials)
    expectForwardReference(kernels, name, options, static_cast<simt::Schedule::Order>(count++ % 3));
}

TEST(AttentionForward, TouchesOnlyWhatItMay) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = selectForChecking(makeAttentionTrials());
  TestKernels kernels = compileForward(trials, /*checked=*/true);
  for (const auto &[name, options] : trials)
    expectForwardReference(kernels, name, options, simt::Schedule::Order::Shuffled);
}

TEST(AttentionForward, EveryTileIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = selectForChecking(makeAttentionTrials());
  for (int tile : {64, 128})
    for (bool checked : {false, true}) {
      TestKernels kernels = compileForward(trials, checked, tile);
      for (const auto &[name, options] : trials)
        expectForwardReference(kernels, name, options, simt::Schedule::Order::Reverse);
    }
}
