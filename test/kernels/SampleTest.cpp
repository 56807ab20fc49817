#include "dialects/Sinter/Sampling.h"
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// How one slot draws, and the kind of its logits.
struct Slot {
  double temperature = 1;
  int topK = 0;
  double topP = 1, minP = 0;
  enum Kind { Normal, Ties, Equal, Masked, NotNumbers, Infinite } kind = Normal;
};

struct Batch {
  int vocabulary = 1;
  std::vector<Slot> slots = {{}};
};

double makeLogit(Slot::Kind kind, int id, std::mt19937 &engine) {
  float normal = std::normal_distribution<float>(0, 3)(engine);
  switch (kind) {
  case Slot::Ties:
    return std::round(normal / 2);
  case Slot::Equal:
    return -1.5;
  case Slot::Masked:
    return id % 3 == 0 ? -kInfinite : normal;
  case Slot::NotNumbers:
    return id % 2 == 0 ? NAN : normal;
  case Slot::Infinite:
    return id % 5 == 3 ? kInfinite : normal;
  default:
    return normal;
  }
}

/// Scratch of the size that sample.cuh states, its tickets zero.
HostTensor makeScratch(const Batch &batch) {
  auto divideUp = [](size_t a, size_t b) { return (a + b - 1) / b; };
  size_t slots = batch.slots.size(), vocabulary = batch.vocabulary;
  size_t blocks =
      std::max<size_t>(1, std::min({size_t(16), divideUp(vocabulary, 2048), 132 / slots}));
  size_t part = 4 * divideUp(divideUp(vocabulary + 3, 4), blocks);
  size_t tickets = divideUp(slots, 4) * 4;
  HostTensor scratch("float", tickets + slots * blocks * (36 + 2 * std::min<size_t>(8192, part)));
  std::fill(scratch.values.begin() + tickets, scratch.values.end(), NAN);
  return scratch;
}

void expectSampleReference(TestKernels &kernels, const std::string &name, const Batch &batch,
                           simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  std::mt19937 engine(11);
  size_t count = batch.slots.size();
  HostTensor logits("float", count * batch.vocabulary), temperature("float", count),
      topK("int", count), topP("float", count), minP("float", count), seed("int", 2 * count),
      start("int", count), added("int", count),
      result = HostTensor::of("int", std::vector<int>(count, -1));
  std::vector<double> expected;
  for (size_t i = 0; i < count; ++i) {
    const Slot &slot = batch.slots[i];
    size_t first = i * batch.vocabulary;
    for (int id = 0; id < batch.vocabulary; ++id)
      logits.values[first + id] = makeLogit(slot.kind, id, engine);
    temperature.values[i] = temperature.round(slot.temperature);
    topK.values[i] = slot.topK;
    topP.values[i] = topP.round(slot.topP);
    minP.values[i] = minP.round(slot.minP);
    std::array<uint32_t, 2> words = {uint32_t(engine()), uint32_t(engine())};
    for (int word : {0, 1})
      seed.values[2 * i + word] = int32_t(words[word]);
    start.values[i] = 100 * double(i);
    added.values[i] = 7;
    expected.push_back(
        double(sampling::draw(std::span(logits.values).subspan(first, batch.vocabulary),
                              {temperature.values[i], topK.values[i], topP.values[i],
                               minP.values[i], words, uint32_t(100 * i + 7)})));
  }
  HostTensor scratch = makeScratch(batch);
  // The second run finds the scratch as the first has left it.
  for (int i = 0; i < 2; ++i) {
    auto report = kernels.run(
        name,
        {&logits, &temperature, &topK, &topP, &minP, &seed, &start, &added, &result, &scratch},
        order);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->clean()) << report->text();
    EXPECT_EQ(result.values, expected);
  }
}

void expectSampleReferences(const std::map<std::string, Batch> &batches, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, batch] : batches)
    kernels[name] = {{"batch", std::to_string(batch.slots.size())},
                     {"vocabulary", std::to_string(batch.vocabulary)}};
  auto compiled = TestKernels::compile(getTemplate("sample"), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, batch] : batches)
    expectSampleReference(*compiled, name, batch, static_cast<simt::Schedule::Order>(count++ % 3));
}

/// One of each.
std::vector<Slot> makeSlots() {
  return {{.temperature = 0},
          {},
          {.temperature = 0.7, .topK = 40},
          {.temperature = 2, .topP = 0.9},
          {.topK = 5, .topP = 0.5, .kind = Slot::Ties},
          {.topK = 1},
          {.topP = 1e-6},
          {.topK = 9000, .topP = 0.8, .kind = Slot::Equal},
          {.topK = 600},
          {.temperature = 1e-30, .topK = 7},
          {.temperature = 1e30, .topK = 12, .topP = 0.6, .kind = Slot::Masked},
          {.temperature = 50, .topP = 0.99, .kind = Slot::Masked},
          {.topK = 100'000, .kind = Slot::NotNumbers},
          {.kind = Slot::Infinite},
          {.temperature = 1e-30, .kind = Slot::Ties},
          {.minP = 0.05},
          {.temperature = 3, .topK = 300, .topP = 0.99, .minP = 0.2},
          {.topK = 5, .minP = 1, .kind = Slot::Ties},
          {.topP = 0.7, .minP = 1e-7, .kind = Slot::Masked}};
}

TEST(Sample, DrawsWhatIsDefined) {
  expectSampleReferences({{"one", {}},
                          {"odd", {.vocabulary = 1001, .slots = makeSlots()}},
                          {"even", {.vocabulary = 4098, .slots = makeSlots()}},
                          {"many", {.vocabulary = 50'000, .slots = makeSlots()}}},
                         /*checked=*/false);
}

TEST(Sample, SmallIsClean) {
  expectSampleReferences({{"few", {.vocabulary = 37, .slots = makeSlots()}},
                          {"pairs", {.vocabulary = 2050, .slots = {{.topK = 7, .topP = 0.8}}}}},
                         /*checked=*/true);
}

} // namespace
