#include "test/kernels/AttentionCase.h"
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

using Options = AttentionCase::Options;
using Trials = std::map<std::string, Options>;

namespace {
Options decode(const char *element, int batch, int length, int heads, int keyHeads, int headSize,
               int maxSequence) {
  Options options;
  options.element = options.result = element;
  options.packing = Packing::HeadMajor;
  options.hasStart = true;
  AttentionProblem &p = options.problem;
  p.batch = batch;
  p.length = length;
  p.heads = heads;
  p.keyHeads = keyHeads;
  p.headSize = headSize;
  p.maxSequence = maxSequence;
  p.causal = true;
  p.scale = 0.25;
  return options;
}

/// One part and several, rows that fill blocks and that do not, every option.
Trials makeTrials() {
  Trials trials;
  for (const char *element : {kF32, kBf16}) {
    std::string kind = element == kF32 ? "plain_" : "matrices_";
    trials[kind + "one_part"] = decode(element, 2, 1, 2, 2, 32, 70);
    trials[kind + "parts"] = decode(element, 3, 1, 2, 1, 64, 1100);
    trials[kind + "grouped"] = decode(element, 1, 1, 14, 2, 48, 600);
    trials[kind + "two_queries"] = decode(element, 1, 2, 8, 2, 32, 300);
    trials[kind + "many_rows"] = decode(element, 1, 3, 12, 2, 16, 300);
    trials[kind + "wide"] = decode(element, 1, 1, 3, 1, 256, 400);
    trials[kind + "rows_of_heads"] = decode(element, 2, 1, 4, 2, 32, 300);
    trials[kind + "rows_of_heads"].packing = Packing::Apart;
    trials[kind + "all_keys"] = decode(element, 1, 1, 1, 1, 64, 520);
    trials[kind + "all_keys"].problem.causal = trials[kind + "all_keys"].hasStart = false;
    Options &everything = trials[kind + "everything"] = decode(element, 2, 2, 4, 2, 32, 700);
    everything.hasFirst = everything.hasSlopes = true;
    everything.problem.window = 300;
    everything.problem.softcap = 3;
  }
  // Caches of 8 bits, with and without tiles that are widened.
  for (auto [kind, cache] : {std::pair("int8_", "signed char"), {"fp8_", "sinter::E4M3"}}) {
    auto add = [&](const std::string &name, Options options) {
      options.cache = cache;
      trials[kind + name] = std::move(options);
    };
    add("plain", decode(kF32, 2, 1, 4, 2, 64, 700));
    add("plain_odd", decode(kF32, 1, 1, 2, 1, 33, 290));
    add("parts", decode(kBf16, 3, 1, 2, 1, 64, 1100));
    add("grouped", decode(kF16, 1, 1, 14, 2, 48, 600));
    add("wide", decode(kBf16, 1, 1, 3, 1, 256, 400));
    add("rows_of_heads", decode(kF16, 2, 1, 4, 2, 32, 300));
    trials[std::string(kind) + "rows_of_heads"].packing = Packing::Apart;
    add("everything", trials["matrices_everything"]);
  }
  trials["plain_odd"] = decode(kF32, 1, 1, 2, 1, 33, 290);
  // Two keys of a warp at a time.
  trials["wide_f32_510"] = decode(kF32, 1, 1, 3, 1, 510, 300);
  trials["wide_bf16_512"] = decode(kBf16, 2, 1, 4, 2, 512, 600);
  trials["wide_bf16_576"] = decode(kBf16, 1, 2, 5, 1, 576, 290);
  trials["wide_fp8_512"] = decode(kBf16, 1, 1, 2, 1, 512, 290);
  trials["wide_fp8_512"].cache = "sinter::E4M3";
  trials["plain_f16"] = decode(kF16, 1, 1, 2, 1, 20, 290);
  trials["matrices_f16_into_f32"] = decode(kF16, 1, 1, 2, 1, 80, 290);
  trials["matrices_f16_into_f32"].result = kF32;
  return trials;
}

int ceilOf(int a, int b) { return (a + b - 1) / b; }

/// Scratch of the size that attention_decode.cuh states, its tickets zero; and how many these are.
HostTensor makeScratch(const Options &options, size_t &tickets) {
  const AttentionProblem &p = options.problem;
  bool matrices = options.element != kF32 && p.headSize % 16 == 0 && p.headSize <= 256;
  int queries = p.length * (p.heads / p.keyHeads);
  int rows = !matrices ? (p.headSize > 128 ? 2 : 4) : p.headSize <= 128 && queries > 8 ? 16 : 8;
  int groups = p.batch * p.keyHeads * ceilOf(queries, rows);
  int blocks = p.headSize <= 64 && options.cache.empty() ? 264 : 132;
  int splits = std::min(std::max(blocks / groups, 1), ceilOf(p.maxSequence, 128));
  tickets = ceilOf(groups, 4) * 4;
  size_t partial = splits > 1 ? size_t(groups) * splits * rows * (p.headSize + 2) : 0;
  HostTensor scratch("float", tickets + partial);
  // What is read before it is written becomes a wrong result.
  std::fill(scratch.values.begin() + tickets, scratch.values.end(), NAN);
  return scratch;
}

double decodeTolerance(const Options &options) {
  if (options.element == kF32)
    return 1e-5;
  return options.element == kF16 ? 2e-3 : 1.2e-2;
}

void expectDecodeReferences(const Trials &trials, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, options] : trials)
    kernels[name] = AttentionCase(options, 1).getParameters();
  auto compiled = TestKernels::compile(getTemplate("attention_decode"), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  for (const auto &[name, options] : trials) {
    SCOPED_TRACE(name);
    size_t tickets;
    HostTensor scratch = makeScratch(options, tickets);
    std::vector<double> before;
    // The second run finds the scratch as the first has left it.
    for (auto order : {simt::Schedule::Order::Forward, simt::Schedule::Order::Shuffled}) {
      AttentionCase attention(options, 7);
      HostTensor result = HostTensor::unwritten(options.result, attention.problem.querySize());
      std::vector<HostTensor *> tensors = attention.getInputs();
      for (HostTensor *tensor : attention.getOptionalInputs())
        tensors.push_back(tensor);
      tensors.insert(tensors.end(), {&result, &scratch});
      auto report = compiled->run(name, tensors, order);
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->clean()) << report->text();
      AttentionResult expected =
          attend(attention.problem, attention.query, attention.key, attention.value);
      EXPECT_LT(distance(result.values, expected.result), decodeTolerance(options));
      EXPECT_EQ(std::vector<double>(scratch.values.begin(), scratch.values.begin() + tickets),
                std::vector<double>(tickets));
      // Whichever block comes last, the parts are combined in their order.
      if (!before.empty())
        EXPECT_EQ(result.values, before);
      before = result.values;
    }
  }
}
} // namespace

TEST(AttentionDecode, IsItsDefinition) { expectDecodeReferences(makeTrials(), /*checked=*/false); }

TEST(AttentionDecode, TouchesOnlyWhatItMay) {
  Trials trials = makeTrials();
  std::erase_if(trials, [](const auto &trial) {
    // The last has so many keys that every warp's ring of tiles goes round.
    return trial.first.find("everything") == std::string::npos &&
           trial.first.find("grouped") == std::string::npos &&
           trial.first != "matrices_f16_into_f32";
  });
  expectDecodeReferences(trials, /*checked=*/true);
}
