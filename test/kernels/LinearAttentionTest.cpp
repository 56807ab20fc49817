// Linear attention, beside plain loops in double precision.
#include "test/kernels/KernelCases.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::kernels;

namespace {
using Order = simt::Schedule::Order;

struct Sizes {
  int slots = 1, tokens = 1, groups = 1, heads = 1, depth = 1, width = 1;

  size_t keys() const { return size_t(slots) * tokens * groups * depth; }
  size_t values() const { return size_t(slots) * tokens * heads * width; }
  size_t gates() const { return size_t(slots) * tokens * heads; }
  size_t states() const { return size_t(slots) * heads * depth * width; }
};

/// What both templates are told.
struct Common {
  Sizes sizes;
  std::string element = kF32, gate = kF32;
  bool additive = false;

  Parameters getParameters() const {
    return {{"Query", element},
            {"Key", element},
            {"Value", element},
            {"Decay", gate},
            {"Beta", gate},
            {"slots", std::to_string(sizes.slots)},
            {"tokens", std::to_string(sizes.tokens)},
            {"groups", std::to_string(sizes.groups)},
            {"heads", std::to_string(sizes.heads)},
            {"depth", std::to_string(sizes.depth)},
            {"width", std::to_string(sizes.width)},
            {"scale", "0.25"},
            {"additive", additive ? "true" : "false"}};
  }
};

struct Rule : Common {
  bool hasState;
  double tolerance;

  Rule(Sizes sizes, bool hasState = true, std::string element = kF32, std::string gate = kF32,
       double tolerance = 1e-5, bool additive = false)
      : Common{sizes, std::move(element), std::move(gate), additive}, hasState(hasState),
        tolerance(tolerance) {}

  Parameters getParameters() const {
    Parameters parameters = Common::getParameters();
    parameters["Result"] = element;
    parameters["hasState"] = hasState ? "true" : "false";
    return parameters;
  }
};

/// Gradients of whole sequences.
struct Gradient : Common {
  Parameters getParameters() const {
    Parameters parameters = Common::getParameters();
    parameters["Gradient"] = element;
    return parameters;
  }
};

/// What a kernel reads and writes.
struct Operands {
  HostTensor query, key, value, decay, beta, state, start, count, result;

  Operands(const Common &rule, std::mt19937 &engine)
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
          for (int i = 0; !rule.additive && t < count && i < s.depth; ++i)
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

/// The gradients of queries, keys, values, decays and betas.
std::vector<std::vector<double>> differentiate(const Gradient &one, const Operands &all,
                                               const HostTensor &gradient) {
  const Sizes &s = one.sizes;
  std::vector<std::vector<double>> of = {
      std::vector<double>(s.keys()), std::vector<double>(s.keys()), std::vector<double>(s.values()),
      std::vector<double>(s.gates()), std::vector<double>(s.gates())};
  size_t size = size_t(s.depth) * s.width;
  for (int b = 0; b < s.slots; ++b)
    for (int h = 0; h < s.heads; ++h) {
      auto gate = [&](int t) { return (size_t(b) * s.tokens + t) * s.heads + h; };
      auto row = [&](int t) {
        return ((size_t(b) * s.tokens + t) * s.groups + h / (s.heads / s.groups)) * s.depth;
      };
      std::vector<double> states(size * (s.tokens + 1)), misses(size_t(s.tokens) * s.width);
      for (int t = 0; t < s.tokens; ++t)
        for (int j = 0; j < s.width; ++j) {
          const double *before = &states[size * t + j], *k = &all.key.values[row(t)];
          double factor = std::exp(all.decay.values[gate(t)]), said = 0;
          for (int i = 0; !one.additive && i < s.depth; ++i)
            said += before[i * s.width] * k[i];
          double miss = all.value.values[gate(t) * s.width + j] - factor * said;
          misses[size_t(t) * s.width + j] = miss;
          for (int i = 0; i < s.depth; ++i)
            states[size * (t + 1) + i * s.width + j] =
                factor * before[i * s.width] + k[i] * all.beta.values[gate(t)] * miss;
        }
      std::vector<double> ofState(size);
      for (int t = s.tokens; t-- > 0;) {
        const double *q = &all.query.values[row(t)], *k = &all.key.values[row(t)];
        double factor = std::exp(all.decay.values[gate(t)]), ofFactor = 0;
        double beta = all.beta.values[gate(t)];
        for (int j = 0; j < s.width; ++j) {
          double o = gradient.values[gate(t) * s.width + j], ofStep = 0, said = 0;
          double miss = misses[size_t(t) * s.width + j];
          const double *before = &states[size * t + j], *behind = before + size;
          for (int i = 0; i < s.depth; ++i) {
            double &x = ofState[i * s.width + j];
            x += 0.25 * q[i] * o;
            ofStep += x * k[i];
            said += before[i * s.width] * k[i];
          }
          double ofValue = beta * ofStep, ofSaid = one.additive ? 0 : ofValue;
          of[2][gate(t) * s.width + j] = ofValue;
          of[4][gate(t)] += miss * ofStep;
          for (int i = 0; i < s.depth; ++i) {
            double &x = ofState[i * s.width + j];
            of[0][row(t) + i] += 0.25 * behind[i * s.width] * o;
            of[1][row(t) + i] += x * beta * miss - factor * before[i * s.width] * ofSaid;
            ofFactor += x * before[i * s.width];
            x = factor * (x - k[i] * ofSaid);
          }
          ofFactor -= said * ofSaid;
        }
        of[3][gate(t)] = factor * ofFactor;
      }
    }
  return of;
}

/// Runs a kernel and returns its five results.
std::vector<std::vector<double>> runGradient(TestKernels &kernels, const std::string &name,
                                             const Gradient &one, Operands &all,
                                             HostTensor &gradient, HostTensor &scratch,
                                             Order order) {
  const Sizes &s = one.sizes;
  std::vector<HostTensor> of;
  for (size_t count : {s.keys(), s.keys(), s.values(), s.gates(), s.gates()})
    of.push_back(HostTensor::unwritten(kF32, count));
  auto report = kernels.run(name,
                            {&all.query, &all.key, &all.value, &all.decay, &all.beta, &gradient,
                             &of[0], &of[1], &of[2], &of[3], &of[4], &scratch},
                            order);
  EXPECT_TRUE(report) << report.error().message();
  if (report)
    EXPECT_TRUE(report->clean()) << report->text();
  std::vector<std::vector<double>> results;
  for (HostTensor &each : of)
    results.push_back(each.values);
  return results;
}

/// Scratch whose tickets are zero; what is read before it is written becomes a wrong result.
HostTensor makeScratch(const Gradient &one, size_t &tickets) {
  const Sizes &s = one.sizes;
  int rows = 128 / (s.width <= 128 ? 8 : s.width <= 256 ? 16 : 32);
  tickets = (size_t(1 + 2 * s.slots * s.groups) + 3) / 4 * 4;
  HostTensor scratch(kF32, tickets + s.gates() * (s.width + 2 * ((s.depth + rows - 1) / rows)));
  std::fill(scratch.values.begin() + tickets, scratch.values.end(), NAN);
  return scratch;
}

void expectGradient(TestKernels &kernels, const std::string &name, const Gradient &one,
                    Order order) {
  std::mt19937 engine(13);
  Operands all(one, engine);
  HostTensor gradient = HostTensor::random(one.element, one.sizes.values(), engine);
  std::vector<std::vector<double>> expected = differentiate(one, all, gradient), before;
  size_t tickets;
  HostTensor scratch = makeScratch(one, tickets);
  // The second run finds the scratch as the first has left it.
  for (Order each : {order, Order::Shuffled}) {
    auto found = runGradient(kernels, name, one, all, gradient, scratch, each);
    for (size_t i = 0; i < 5; ++i) {
      SCOPED_TRACE(i);
      // A decay's is a sum over later tokens of differences, which cancel out where it is small.
      EXPECT_LE(distance(found[i], expected[i]), i == 3 ? 3e-5 : 1e-5);
    }
    EXPECT_EQ(std::vector<double>(scratch.values.begin(), scratch.values.begin() + tickets),
              std::vector<double>(tickets));
    if (!before.empty())
      EXPECT_EQ(found, before);
    before = found;
  }
}

std::map<std::string, Gradient> makeGradients() {
  return {{"one", {{{1, 1, 1, 1, 1, 1}}}},
          {"pair", {{{2, 5, 1, 2, 6, 7}}}},
          {"odd", {{{2, 21, 2, 6, 12, 21}}}},
          {"alone", {{{1, 40, 2, 2, 36, 40}}}},
          {"five", {{{1, 9, 1, 5, 20, 24}}}},
          {"eight", {{{1, 35, 1, 8, 16, 36}}}},
          {"bf16", {{{2, 19, 1, 2, 32, 48}, kBf16, kF32}}},
          {"f16", {{{1, 19, 1, 3, 33, 20}, kF16, kF16}}},
          {"model", {{{1, 37, 1, 2, 128, 128}}}},
          {"additive", {{{2, 21, 2, 6, 12, 21}, kF32, kF32, true}}},
          {"additive_model", {{{1, 37, 1, 2, 128, 64}, kBf16, kF32, true}}},
          {"long_keys", {{{1, 5, 1, 2, 300, 10}}}},
          {"long_values", {{{1, 5, 1, 2, 10, 600}}}}};
}

std::map<std::string, Rule> makeRules() {
  return {{"one", Rule({1, 1, 1, 1, 1, 1})},
          {"steps", Rule({4, 1, 2, 4, 20, 36})},
          {"odd_steps", Rule({4, 1, 1, 3, 45, 7})},
          {"model_step", Rule({2, 1, 1, 2, 128, 128})},
          {"whole_step", Rule({2, 1, 1, 2, 16, 40}, false)},
          {"long_step", Rule({1, 1, 1, 1, 600, 8})},
          {"chunks", Rule({4, 9, 2, 6, 12, 21})},
          {"model_chunk", Rule({1, 70, 1, 2, 128, 128})},
          {"whole", Rule({2, 40, 1, 3, 24, 33}, false)},
          {"bf16", Rule({2, 37, 2, 4, 32, 48}, true, kBf16, kF32, 8e-3)},
          {"bf16_step", Rule({2, 1, 2, 4, 32, 48}, true, kBf16, kBf16, 8e-3)},
          {"f16", Rule({1, 20, 1, 2, 200, 9}, false, kF16, kF16, 2e-3)},
          {"additive", Rule({4, 9, 2, 6, 12, 21}, true, kF32, kF32, 1e-5, true)},
          {"additive_step", Rule({4, 1, 2, 4, 20, 36}, true, kF32, kF32, 1e-5, true)},
          {"additive_model", Rule({1, 70, 1, 2, 128, 64}, true, kBf16, kF32, 8e-3, true)},
          {"long_keys", Rule({1, 5, 1, 2, 300, 10})},
          {"longest_keys", Rule({1, 3, 1, 1, 1024, 3})}};
}
} // namespace

TEST(LinearAttention, IsTheRule) {
  forEachKernel("linear_attention", makeRules(), /*checked=*/false, expectRule);
}

TEST(LinearAttention, TouchesWhatItMay) {
  std::map<std::string, Rule> rules = makeRules();
  for (const char *name :
       {"model_chunk", "additive_model", "longest_keys", "long_keys", "model_step"})
    rules.erase(name);
  forEachKernel("linear_attention", rules, /*checked=*/true, expectRule);
}

// Alone or among others, at once or token by token: the same bits.
TEST(LinearAttention, HasTheSameBitsInAnyBatchAndChunks) {
  SINTER_SKIP_WITHOUT_KERNELS();
  constexpr int tokens = 19;
  Rule batch({3, tokens, 2, 4, 44, 40}), alone = batch, step = batch;
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

TEST(LinearAttention, GradientsAreTheRules) {
  forEachKernel("linear_attention_grad", makeGradients(), /*checked=*/false, expectGradient);
}

TEST(LinearAttention, GradientsTouchWhatTheyMay) {
  std::map<std::string, Gradient> gradients = makeGradients();
  for (const char *name : {"model", "additive_model", "long_keys", "long_values"})
    gradients.erase(name);
  forEachKernel("linear_attention_grad", gradients, /*checked=*/true, expectGradient);
}

// A slot's gradients have the same bits alone and among others.
TEST(LinearAttention, GradientsHaveTheSameBitsInAnyBatch) {
  SINTER_SKIP_WITHOUT_KERNELS();
  Gradient batch{{{3, 19, 2, 6, 20, 28}}}, alone = batch;
  alone.sizes.slots = 1;
  auto kernels = TestKernels::compile(
      getTemplate("linear_attention_grad"),
      {{"batch", batch.getParameters()}, {"alone", alone.getParameters()}}, /*checked=*/false);
  ASSERT_TRUE(kernels) << kernels.error().message();
  std::mt19937 engine(17);
  Operands all(batch, engine);
  HostTensor gradient = HostTensor::random(kF32, batch.sizes.values(), engine);
  size_t tickets;
  HostTensor scratch = makeScratch(batch, tickets), ownScratch = makeScratch(alone, tickets);
  auto whole = runGradient(*kernels, "batch", batch, all, gradient, scratch, Order::Forward);
  for (int slot = 0; slot < 3; ++slot) {
    auto take = [&](const std::vector<double> &from) {
      size_t size = from.size() / 3;
      return std::vector<double>(from.begin() + slot * size, from.begin() + (slot + 1) * size);
    };
    Operands own(alone, engine);
    for (HostTensor Operands::*member :
         {&Operands::query, &Operands::key, &Operands::value, &Operands::decay, &Operands::beta})
      (own.*member).values = take((all.*member).values);
    HostTensor ownGradient = gradient;
    ownGradient.values = take(gradient.values);
    auto found =
        runGradient(*kernels, "alone", alone, own, ownGradient, ownScratch, Order::Reverse);
    for (size_t i = 0; i < 5; ++i)
      EXPECT_EQ(found[i], take(whole[i])) << slot << ", " << i;
  }
}
