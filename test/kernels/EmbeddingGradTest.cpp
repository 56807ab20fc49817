#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>
#include <optional>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct Table {
  std::string element = "float";
  int tokens = 1, rows = 1, width = 1;
  std::optional<int> padding = {};
  bool hasInto = false;
  std::optional<int> start = {}; ///< of a table of several, where its rows begin
  /// Ids are from [-spread, rows + spread).
  int spread = 0;
};

Parameters getParameters(const Table &table) {
  Parameters result = {{"Element", table.element},
                       {"tokens", std::to_string(table.tokens)},
                       {"rows", std::to_string(table.rows)},
                       {"width", std::to_string(table.width)},
                       {"hasInto", table.hasInto ? "true" : "false"},
                       {"hasStart", table.start ? "true" : "false"}};
  if (table.padding) {
    result["hasPadding"] = "true";
    result["padding"] = std::to_string(*table.padding);
  }
  return result;
}

/// Runs one instance; what it adds to is the result itself.
void expectTableReference(TestKernels &kernels, const std::string &name, const Table &table,
                          simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  std::mt19937 engine(7);
  std::uniform_int_distribution<int> anyId(-table.spread, table.rows - 1 + table.spread);
  std::vector<int> numbers(table.tokens);
  for (int &id : numbers)
    id = anyId(engine);
  HostTensor ids = HostTensor::of("int", numbers);
  HostTensor gradient =
      HostTensor::random(table.element, size_t(table.tokens) * table.width, engine);
  HostTensor result = HostTensor::random("float", size_t(table.rows) * table.width, engine);

  // In the kernel's order and type, so that the numbers are the same to the bit.
  std::vector<float> sums(result.values.begin(), result.values.end());
  if (!table.hasInto)
    std::fill(sums.begin(), sums.end(), 0.0f);
  for (int t = 0; t < table.tokens; ++t) {
    if (table.padding && numbers[t] == *table.padding)
      continue;
    int row = std::clamp(numbers[t] - table.start.value_or(0), 0, table.rows - 1);
    if (table.start && row != numbers[t] - *table.start)
      continue;
    for (int i = 0; i < table.width; ++i)
      sums[size_t(row) * table.width + i] +=
          static_cast<float>(gradient.values[size_t(t) * table.width + i]);
  }
  std::vector<HostTensor *> tensors = {&ids, &gradient};
  if (table.hasInto)
    tensors.push_back(&result);
  HostTensor start = HostTensor::of("int", std::vector<int>{table.start.value_or(0)});
  if (table.start)
    tensors.push_back(&start);
  tensors.push_back(&result);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  EXPECT_EQ(result.values, std::vector<double>(sums.begin(), sums.end()));
}

void expectTableReferences(const std::map<std::string, Table> &tables, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, table] : tables)
    kernels[name] = getParameters(table);
  auto compiled = TestKernels::compile(getTemplate("embedding_grad"), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, table] : tables)
    expectTableReference(*compiled, name, table, static_cast<simt::Schedule::Order>(count++ % 3));
}

TEST(EmbeddingGrad, AddsRowsInOrder) {
  expectTableReferences(
      {{"one", {}},
       {"frequent", {.tokens = 300, .rows = 3, .width = 130, .hasInto = true}},
       {"rare", {.tokens = 40, .rows = 200, .width = 64}},
       {"outside", {.tokens = 150, .rows = 65, .width = 7, .hasInto = true, .spread = 9}},
       {"part", {.tokens = 150, .rows = 70, .width = 9, .padding = 12, .start = 8, .spread = 9}},
       {"padding", {.tokens = 129, .rows = 70, .width = 128, .padding = 5, .spread = 3}},
       {"bf16", {.element = "__nv_bfloat16", .tokens = 128, .rows = 64, .width = 40}},
       {"f16", {.element = "__half", .tokens = 17, .rows = 130, .width = 200, .hasInto = true}}},
      /*checked=*/false);
}

TEST(EmbeddingGrad, SmallIsClean) {
  expectTableReferences({{"into", {.tokens = 140, .rows = 66, .width = 10, .hasInto = true}},
                         {"zeros", {.tokens = 9, .rows = 5, .width = 129, .padding = 2}}},
                        /*checked=*/true);
}

} // namespace
