// The choice of experts, and the order of what was chosen.
#include "test/kernels/KernelCases.h"

#include <algorithm>
#include <numeric>

using namespace sinter;
using namespace sinter::kernels;

namespace {
using Order = simt::Schedule::Order;

struct Choice {
  std::string element = kF32;
  int rows = 1, width = 1, k = 1;

  Parameters getParameters() const {
    return {{"Element", element},
            {"rows", std::to_string(rows)},
            {"width", std::to_string(width)},
            {"k", std::to_string(k)}};
  }
};

void expectChoice(TestKernels &kernels, const std::string &name, const Choice &choice,
                  Order order) {
  std::mt19937 engine(5);
  HostTensor operand =
      HostTensor::random(choice.element, size_t(choice.rows) * choice.width, engine);
  // Equal numbers, both zeros, and what is no number.
  for (size_t i = 0; i < operand.values.size(); ++i)
    if (i % 3 == 0)
      operand.values[i] = std::vector<double>{1, 0, -0.0, NAN, -HUGE_VAL, HUGE_VAL}[i / 3 % 6];
  size_t count = size_t(choice.rows) * choice.k;
  HostTensor values = HostTensor::of(choice.element, std::vector<double>(count, 123));
  HostTensor indices = HostTensor::of("int", std::vector<int>(count, -1));
  auto report = kernels.run(name, {&operand, &values, &indices}, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();

  std::vector<double> places;
  for (int row = 0; row < choice.rows; ++row) {
    const double *x = &operand.values[size_t(row) * choice.width];
    std::vector<int> all(choice.width);
    std::iota(all.begin(), all.end(), 0);
    std::ranges::sort(all, [&](int a, int b) {
      bool isEqual = x[a] == x[b] || (std::isnan(x[a]) && std::isnan(x[b]));
      return isEqual ? a < b : x[a] > x[b] || std::isnan(x[b]);
    });
    for (int j = 0; j < choice.k; ++j) {
      places.push_back(all[j]);
      double value = values.values[places.size() - 1], expected = x[all[j]];
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
          << row << ", " << j << ": " << value << " and not " << expected;
    }
  }
  EXPECT_EQ(indices.values, places);
}

struct Assignments {
  int tokens = 1, k = 1, experts = 1;

  Parameters getParameters() const {
    return {{"tokens", std::to_string(tokens)},
            {"k", std::to_string(k)},
            {"experts", std::to_string(experts)}};
  }
};

void expectOrder(TestKernels &kernels, const std::string &name, const Assignments &one,
                 Order order) {
  size_t count = size_t(one.tokens) * one.k;
  std::vector<int> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = int(i * 7 % (one.experts + 3)) - 1; // some are no expert's
  HostTensor ids = HostTensor::of("int", numbers);
  auto unwritten = [](size_t size) { return HostTensor::of("int", std::vector<int>(size, -7)); };
  HostTensor ordered = unwritten(count), tokens = ordered, places = ordered,
             offsets = unwritten(one.experts + 1);
  auto report = kernels.run(name, {&ids, &ordered, &tokens, &places, &offsets}, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();

  std::vector<double> wantedOrder, wantedTokens, wantedPlaces(count), wantedOffsets = {0};
  for (int expert = 0; expert < one.experts; ++expert) {
    for (size_t i = 0; i < count; ++i)
      if (std::clamp(numbers[i], 0, one.experts - 1) == expert) {
        wantedPlaces[i] = double(wantedOrder.size());
        wantedOrder.push_back(double(i));
        wantedTokens.push_back(double(i / one.k));
      }
    wantedOffsets.push_back(double(wantedOrder.size()));
  }
  EXPECT_EQ(ordered.values, wantedOrder);
  EXPECT_EQ(tokens.values, wantedTokens);
  EXPECT_EQ(places.values, wantedPlaces);
  EXPECT_EQ(offsets.values, wantedOffsets);
}

std::map<std::string, Choice> makeChoices() {
  return {{"one", {}},
          {"few", {kF32, 6, 9, 4}},
          {"all", {kF32, 3, 40, 40}},
          {"bf16", {kBf16, 5, 128, 8}},
          {"f16", {kF16, 2, 70, 6}}};
}

std::map<std::string, Assignments> makeAssignments() {
  return {{"one", {}}, {"decode", {1, 8, 20}}, {"several", {20, 2, 3}}, {"batches", {600, 2, 5}}};
}
} // namespace

TEST(Routing, ChoosesInOrder) {
  forEachKernel("top_k", makeChoices(), /*checked=*/false, expectChoice);
}

TEST(Routing, OrdersWhatWasChosen) {
  forEachKernel("route", makeAssignments(), /*checked=*/false, expectOrder);
}

TEST(Routing, TouchesOnlyWhatItMay) {
  forEachKernel("top_k", makeChoices(), /*checked=*/true, expectChoice);
  forEachKernel("route", makeAssignments(), /*checked=*/true, expectOrder);
}
