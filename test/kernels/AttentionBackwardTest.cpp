#include "test/kernels/AttentionCase.h"
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

using Options = AttentionCase::Options;
using Trials = std::map<std::string, Options>;

namespace {
/// Both kernels of a backward pass.
struct BackwardKernels {
  TestKernels keys, queries;
};

TestKernels compileBackward(const char *templateName, const Trials &trials, bool checked,
                            bool warpgroups, std::optional<int> fullGrid,
                            const std::optional<std::string> &sharedMemory) {
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, options] : trials) {
    kernels[name] = AttentionCase(options, 1).getParameters();
    kernels[name]["Gradient"] = options.element;
    kernels[name]["warpgroups"] = warpgroups ? "true" : "false";
    if (sharedMemory)
      kernels[name]["sharedMemory"] = *sharedMemory;
  }
  auto compiled = TestKernels::compile(getTemplate(templateName), kernels, checked, fullGrid);
  EXPECT_TRUE(compiled) << compiled.error().message();
  return std::move(*compiled);
}

BackwardKernels compileBackward(const Trials &trials, bool checked, bool warpgroups = false,
                                std::optional<int> fullGrid = std::nullopt,
                                const std::optional<std::string> &sharedMemory = std::nullopt) {
  return {compileBackward("attention_backward_keys", trials, checked, warpgroups, fullGrid,
                          sharedMemory),
          compileBackward("attention_backward_queries", trials, checked, warpgroups, fullGrid,
                          sharedMemory)};
}

/// Heads that registers hold results of only without matrix instructions.
Trials makeWideBackwardTrials() {
  Trials trials;
  auto add = [&](const std::string &name, const char *element, int headSize, int heads,
                 int keyHeads) -> Options & {
    Options &options = trials[name];
    options.element = options.result = element;
    AttentionProblem &p = options.problem;
    p.batch = 1;
    p.length = p.maxSequence = 37;
    p.heads = heads;
    p.keyHeads = keyHeads;
    p.headSize = headSize;
    p.causal = true;
    p.scale = 0.06;
    return options;
  };
  add("bf16_512", "__nv_bfloat16", 512, 4, 2);
  add("f16_264", "__half", 264, 2, 2);
  Options &everything = add("f32_510_everything", "float", 510, 2, 1);
  everything.hasStart = everything.hasFirst = everything.hasSlopes = true;
  everything.packing = Packing::HeadMajor;
  everything.problem.maxSequence = 60;
  everything.problem.window = 20;
  everything.problem.softcap = 3;
  everything.problem.dropout = 0.1;
  return trials;
}

/// Weights and their changes are rounded to the elements' type before they meet rows.
double backwardTolerance(const Options &options) {
  if (options.element == "float")
    return 2e-5;
  return options.element == "__half" ? 4e-3 : 3e-2;
}

void expectBackwardReference(BackwardKernels &kernels, const std::string &name,
                             const Options &options, simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  AttentionCase attention(options, 7);
  const AttentionProblem &p = attention.problem;
  std::mt19937 engine(5);
  HostTensor gradient = HostTensor::random(options.element, p.querySize(), engine);
  AttentionResult forward = attend(p, attention.query, attention.key, attention.value);
  HostTensor logsumexp = HostTensor::of("float", forward.logsumexp);
  HostTensor delta("float", p.rows());
  for (size_t row = 0; row < p.rows(); ++row) {
    double sum = 0;
    for (int d = 0; d < p.headSize; ++d)
      sum += gradient.values[row * p.headSize + d] * forward.result[row * p.headSize + d];
    delta.values[row] = delta.round(sum);
  }
  HostTensor query = HostTensor::unwritten(options.result, p.querySize());
  HostTensor key = HostTensor::unwritten(options.result, p.keySize());
  HostTensor value = HostTensor::unwritten(options.result, p.keySize());

  std::vector<HostTensor *> tensors = attention.getInputs();
  tensors.insert(tensors.end(), {&gradient, &logsumexp, &delta});
  for (HostTensor *tensor : attention.getOptionalInputs())
    tensors.push_back(tensor);
  auto run = [&](TestKernels &program, std::vector<HostTensor *> results) {
    std::vector<HostTensor *> all = tensors;
    all.insert(all.end(), results.begin(), results.end());
    auto report = program.run(name, all, order);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->clean()) << report->text();
  };
  run(kernels.keys, {&key, &value});
  run(kernels.queries, {&query});
  AttentionGradients expected =
      differentiate(p, attention.query, attention.key, attention.value, gradient.values);
  EXPECT_LT(distance(query.values, expected.query), backwardTolerance(options));
  EXPECT_LT(distance(key.values, expected.key), backwardTolerance(options));
  EXPECT_LT(distance(value.values, expected.value), backwardTolerance(options));
}

/// One after another, in every order of blocks.
void expectBackwardReferences(BackwardKernels kernels, const Trials &trials) {
  int count = 0;
  for (const auto &[name, options] : trials)
    expectBackwardReference(kernels, name, options,
                            static_cast<simt::Schedule::Order>(count++ % 3));
}
} // namespace

TEST(AttentionBackward, IsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeAttentionTrials();
  expectBackwardReferences(compileBackward(trials, /*checked=*/false), trials);
}

// Blocks of 32 rows that stay, and of 16 where there is less memory.
TEST(AttentionBackward, OfWideHeadsIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeWideBackwardTrials();
  for (const char *sharedMemory : {"232448", "101376"})
    expectBackwardReferences(
        compileBackward(trials, /*checked=*/true, /*warpgroups=*/false, std::nullopt, sharedMemory),
        trials);
}

TEST(AttentionBackward, OfLargeBlocksIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = makeLargeAttentionTrials();
  expectBackwardReferences(
      compileBackward(trials, /*checked=*/false, /*warpgroups=*/false, kLargeGrid), trials);
}

TEST(AttentionBackward, TouchesOnlyWhatItMay) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Trials trials = selectForChecking(makeAttentionTrials());
  BackwardKernels kernels = compileBackward(trials, /*checked=*/true);
  for (const auto &[name, options] : trials)
    expectBackwardReference(kernels, name, options, simt::Schedule::Order::Shuffled);
}

TEST(AttentionBackward, ByWarpgroupsIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  SINTER_SKIP_WITHOUT_WARPGROUPS();
  Trials trials = makeWarpgroupTrials();
  expectBackwardReferences(compileBackward(trials, /*checked=*/false, /*warpgroups=*/true), trials);
}

TEST(AttentionBackward, OfTwoWarpgroupsIsItsDefinition) {
  SINTER_SKIP_WITHOUT_KERNELS();
  SINTER_SKIP_WITHOUT_WARPGROUPS();
  Trials trials = makeLargeWarpgroupTrials();
  expectBackwardReferences(
      compileBackward(trials, /*checked=*/false, /*warpgroups=*/true, kLargeGrid), trials);
}

TEST(AttentionBackward, ByWarpgroupsTouchesOnlyWhatItMay) {
  SINTER_SKIP_WITHOUT_KERNELS();
  SINTER_SKIP_WITHOUT_WARPGROUPS();
  Trials trials = makeWarpgroupTrials();
  BackwardKernels kernels = compileBackward(trials, /*checked=*/true, /*warpgroups=*/true);
  for (const auto &[name, options] : trials)
    expectBackwardReference(kernels, name, options, simt::Schedule::Order::Shuffled);
}
