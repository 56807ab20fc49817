// The gated delta rule, beside plain loops in double precision.
#include "test/kernels/KernelCases.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::kernels;

namespace {
constexpr const char *kBf16 = "__nv_bfloat16", *kF16 = "__half", *kF32 = "float";

using Order = simt::Schedule::Order;

struct Sizes {
  int slots = 1, tokens = 1, groups = 1, heads = 1, depth = 1, width = 1;

  size_t keys() const { return size_t(slots) * tokens * groups * depth; }
  size_t values() const { return size_t(slots) * tokens * heads * width; }
  size_t gates() const { return size_t(slots) * tokens * heads; }
  size_t states() const { return size_t(slots) * heads * depth * width; }
};

struct Rule {
  Sizes sizes;
  bool hasState = true;
  std::string element = kF32, gate = kF32;
  double tolerance = 1e-5;

  Parameters getParameters() const {
    return {{"Query", element},
            {"Key", element},
            {"Value", element},
            {"Decay", gate},
            {"Beta", gate},
            {"Result", element},
            {"slots", std::to_string(sizes.slots)},
            {"tokens", std::to_string(sizes.tokens)},
            {"groups", std::to_string(sizes.groups)},
            {"heads", std::to_string(sizes.heads)},
            {"depth", std::to_string(sizes.depth)},
            {"width", std::to_string(sizes.width)},
            {"scale", "0.25"},
            {"hasState", hasState ? "true" : "false"}};
  }
};

/// What a kernel reads and writes.
struct Operands {
  HostTensor query, key, value, decay, beta, state, start, count, result;

  Operands(const Rule &rule, std::mt19937 &engine)
      : query(HostTensor::random(rule.element, rule.sizes.keys(), engine,
                                 1 / std::sqrt(double(rule.sizes.depth)))),
        key(HostTensor::random(rule.element, rule.sizes.keys(), engine,
                               1 / std::sqrt(double(rule.sizes.depth)))),
        value(HostTensor::random(rule.element, rule.sizes.values(), engine)),
        decay(HostTensor::random(rule.gate, rule.sizes.gates(), engine)),
        beta(HostTensor::random(rule.gate, rule.sizes.gates(), engine)),
        state(HostTensor::random(kF32, rule.sizes.states(), engine)),
        start("int", size_t(rule.sizes.slots)), count(start),
        result(HostTensor::unwritten(rule.element, rule.sizes.values())) {
    for (double &x : decay.values)
      x = -std::abs(x);
    for (double &x : beta.values)
      x = beta.round(1 / (1 + std::exp(x)));
    // Slots that go on, that begin, that pause, and that begin and have nothing.
    for (int slot = 0; slot < rule.sizes.slots; ++slot) {
      start.values[slot] = slot % 2 == 0 ? 3 : 0;
      count.values[slot] = slot % 4 < 2 ? std::max(rule.sizes.tokens - slot, 1) : 0;
    }
    // What is behind the state of a sequence that begins does not matter.
    size_t one = rule.sizes.states() / rule.sizes.slots;
    for (size_t i = 0; i < state.values.size(); ++i)
      if (start.values[i / one] == 0)
        state.values[i] = NAN;
  }

  /// The kernel's arguments; the state's new value has the place of the old one.
  std::vector<HostTensor *> list(bool hasState) {
    if (!hasState)
      return {&query, &key, &value, &decay, &beta, &result};
    return {&query, &key, &value, &decay, &beta, &state, &start, &count, &result, &state};
  }
};

/// Results and states of the op.
void attend(const Rule &rule, Operands &all) {
  const Sizes &s = rule.sizes;
  for (int b = 0; b < s.slots; ++b)
    for (int h = 0; h < s.heads; ++h) {
      std::vector<double> state(size_t(s.depth) * s.width);
      double *kept = &all.state.values[(size_t(b) * s.heads + h) * s.depth * s.width];
      if (rule.hasState && all.start.values[b] != 0)
        std::copy_n(kept, state.size(), state.begin());
      int count = rule.hasState ? int(all.count.values[b]) : s.tokens;
      for (int t = 0; t < s.tokens; ++t) {
        size_t gate = (size_t(b) * s.tokens + t) * s.heads + h;
        size_t row = ((size_t(b) * s.tokens + t) * s.groups + h / (s.heads / s.groups)) * s.depth;
        double factor = std::exp(all.decay.values[gate]);
        for (int j = 0; j < s.width; ++j) {
          double said = 0, read = 0;
          for (int i = 0; t < count && i < s.depth; ++i)
            said += factor * state[size_t(i) * s.width + j] * all.key.values[row + i];
          double step = all.beta.values[gate] * (all.value.values[gate * s.width + j] - said);
          for (int i = 0; t < count && i < s.depth; ++i) {
            double &x = state[size_t(i) * s.width + j];
            x = factor * x + all.key.values[row + i] * step;
            read += x * all.query.values[row + i];
          }
          all.result.values[gate * s.width + j] = 0.25 * read;
        }
      }
      std::copy(state.begin(), state.end(), kept);
    }
}

void expectRule(TestKernels &kernels, const std::string &name, const Rule &rule, Order order) {
  std::mt19937 engine(11);
  Operands all(rule, engine), expected = all;
  // Memory that nobody has written would be found where a sequence's first state is read and used:
  // all else of it is read.
  auto report = kernels.run(name, all.list(rule.hasState), order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  attend(rule, expected);
  EXPECT_LE(distance(all.result.values, expected.result.values), rule.tolerance);
  if (rule.hasState)
    EXPECT_LE(distance(all.state.values, expected.state.values), 1e-5);
}

std::map<std::string, Rule> makeRules() {
  return {{"one", {{1, 1, 1, 1, 1, 1}}},
          {"steps", {{4, 1, 2, 4, 20, 36}}},
          {"odd_steps", {{4, 1, 1, 3, 45, 7}}},
          {"model_step", {{2, 1, 1, 2, 128, 128}}},
          {"whole_step", {{2, 1, 1, 2, 16, 40}, false}},
          {"long_step", {{1, 1, 1, 1, 600, 8}}},
          {"chunks", {{4, 9, 2, 6, 12, 21}}},
          {"model_chunk", {{1, 70, 1, 2, 128, 128}}},
          {"whole", {{2, 40, 1, 3, 24, 33}, false}},
          {"bf16", {{2, 37, 2, 4, 32, 48}, true, kBf16, kF32, 8e-3}},
          {"bf16_step", {{2, 1, 2, 4, 32, 48}, true, kBf16, kBf16, 8e-3}},
          {"f16", {{1, 20, 1, 2, 200, 9}, false, kF16, kF16, 2e-3}},
          {"long_keys", {{1, 5, 1, 2, 300, 10}}},
          {"longest_keys", {{1, 3, 1, 1, 1024, 3}}}};
}
} // namespace

TEST(LinearAttention, IsTheRule) {
  forEachKernel("linear_attention", makeRules(), /*checked=*/false, expectRule);
}

TEST(LinearAttention, TouchesWhatItMay) {
  std::map<std::string, Rule> rules = makeRules();
  for (const char *name : {"model_chunk", "longest_keys", "long_keys", "model_step"})
    rules.erase(name);
  forEachKernel("linear_attention", rules, /*checked=*/true, expectRule);
}

// Alone or among others, at once or token by token: the same bits.
TEST(LinearAttention, HasTheSameBitsInAnyBatchAndChunks) {
  SINTER_SKIP_WITHOUT_KERNELS();
  constexpr int tokens = 19;
  Rule batch{{3, tokens, 2, 4, 44, 40}}, alone = batch, step = batch;
  alone.sizes.slots = step.sizes.slots = step.sizes.tokens = 1;
  auto kernels = TestKernels::compile(getTemplate("linear_attention"),
                                      {{"batch", batch.getParameters()},
                                       {"alone", alone.getParameters()},
                                       {"step", step.getParameters()}},
                                      /*checked=*/false);
  ASSERT_TRUE(kernels) << kernels.error().message();
  std::mt19937 engine(3);
  Operands all(batch, engine);
  all.count.values.assign(3, tokens);
  Operands before = all;
  ASSERT_TRUE(kernels->run("batch", all.list(true)));

  for (int slot = 0; slot < 3; ++slot) {
    auto take = [&](const HostTensor &from, HostTensor &to, int parts, int part) {
      size_t size = from.values.size() / parts;
      to.values.assign(from.values.begin() + part * size, from.values.begin() + (part + 1) * size);
    };
    std::vector<HostTensor Operands::*> members = {
        &Operands::query, &Operands::key,   &Operands::value, &Operands::decay,
        &Operands::beta,  &Operands::state, &Operands::start, &Operands::count};
    Operands own(alone, engine), one(step, engine);
    for (HostTensor Operands::*member : members)
      take(before.*member, own.*member, 3, slot);
    Operands first = own;
    ASSERT_TRUE(kernels->run("alone", own.list(true)));
    Operands expected = own;
    take(all.result, expected.result, 3, slot);
    take(all.state, expected.state, 3, slot);
    EXPECT_EQ(own.result.values, expected.result.values);
    EXPECT_EQ(own.state.values, expected.state.values);

    one.state = first.state;
    std::vector<double> results;
    for (int t = 0; t < tokens; ++t) {
      for (size_t i = 0; i < 5; ++i)
        take(first.*members[i], one.*members[i], tokens, t);
      one.start.values = {first.start.values[0] + t};
      one.count.values = {1};
      ASSERT_TRUE(kernels->run("step", one.list(true)));
      results.insert(results.end(), one.result.values.begin(), one.result.values.end());
    }
    EXPECT_EQ(results, expected.result.values);
    EXPECT_EQ(one.state.values, expected.state.values);
  }
}
