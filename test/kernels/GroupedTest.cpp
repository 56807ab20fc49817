// Products of rows by the matrices of their groups, and the gradients of these.
#include "test/kernels/KernelCases.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::kernels;

namespace {
using Order = simt::Schedule::Order;

struct GroupedSizes {
  std::string element = kF32;
  std::vector<int> offsets; ///< of the rows, the last of which is how many there are
  int n = 1, k = 1;         ///< of grouped_outer n is rhs' columns and k those of lhs
  bool rhsTransposed = true;
  int tile = 0;
  std::string out = kF32;
  /// The last is an offset that is beyond the rows.
  bool isBeyond = false;

  int rows() const { return offsets.back() - (isBeyond ? 1000 : 0); }
  int groups() const { return int(offsets.size()) - 1; }
  int bound(int i) const { return std::clamp(offsets[i], 0, rows()); }
};

/// One that grouped_gemv or grouped_gemm computes.
struct GroupedProduct : GroupedSizes {
  Parameters getParameters() const {
    Parameters result = {{"Element", element},          {"Out", out},
                         {"m", std::to_string(rows())}, {"n", std::to_string(n)},
                         {"k", std::to_string(k)},      {"groups", std::to_string(groups())}};
    if (tile) {
      result["tile"] = std::to_string(tile);
      result["rhsTransposed"] = rhsTransposed ? "true" : "false";
    }
    return result;
  }
};

/// One that grouped_outer computes.
struct OuterProduct : GroupedSizes {
  Parameters getParameters() const {
    return {{"Element", element},          {"Out", out},
            {"m", std::to_string(k)},      {"n", std::to_string(n)},
            {"k", std::to_string(rows())}, {"groups", std::to_string(groups())},
            {"tile", std::to_string(tile)}};
  }
};

/// Runs a kernel and compares: in f32 within the rounding of sums.
void expectResult(TestKernels &kernels, const std::string &name, const GroupedSizes &p, Order order,
                  HostTensor &lhs, HostTensor &rhs, const std::vector<double> &expected) {
  HostTensor offsets = HostTensor::of("int", p.offsets);
  HostTensor out = HostTensor::unwritten(p.out, expected.size());
  auto report = kernels.run(name, {&lhs, &rhs, &offsets, &out}, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  EXPECT_LT(distance(out.values, expected), p.out == kF32 ? 3e-6 : 8e-3);
}

void expectGroupedProduct(TestKernels &kernels, const std::string &name, const GroupedProduct &p,
                          Order order) {
  std::mt19937 engine(3);
  HostTensor lhs =
      HostTensor::random(p.element, size_t(p.rows()) * p.k, engine, 1 / std::sqrt(double(p.k)));
  HostTensor rhs = HostTensor::random(p.element, size_t(p.groups()) * p.n * p.k, engine);
  std::vector<double> expected(size_t(p.rows()) * p.n);
  for (int group = 0; group < p.groups(); ++group) {
    const double *matrix = &rhs.values[size_t(group) * p.n * p.k];
    for (int row = p.bound(group); row < p.bound(group + 1); ++row)
      for (int j = 0; j < p.n; ++j)
        for (int l = 0; l < p.k; ++l)
          expected[size_t(row) * p.n + j] += lhs.values[size_t(row) * p.k + l] *
                                             matrix[p.rhsTransposed ? j * p.k + l : l * p.n + j];
  }
  // A matrix that no row is multiplied by is not read.
  for (int group = 0; group < p.groups(); ++group)
    if (p.bound(group) == p.bound(group + 1))
      std::fill_n(rhs.values.begin() + size_t(group) * p.n * p.k, size_t(p.n) * p.k, NAN);
  expectResult(kernels, name, p, order, lhs, rhs, expected);
}

void expectOuter(TestKernels &kernels, const std::string &name, const OuterProduct &p,
                 Order order) {
  std::mt19937 engine(4);
  HostTensor lhs = HostTensor::random(p.element, size_t(p.rows()) * p.k, engine,
                                      1 / std::sqrt(double(p.rows())));
  HostTensor rhs = HostTensor::random(p.element, size_t(p.rows()) * p.n, engine);
  std::vector<double> expected(size_t(p.groups()) * p.k * p.n);
  for (int group = 0; group < p.groups(); ++group)
    for (int row = p.bound(group); row < p.bound(group + 1); ++row)
      for (int i = 0; i < p.k; ++i)
        for (int j = 0; j < p.n; ++j)
          expected[(size_t(group) * p.k + i) * p.n + j] +=
              lhs.values[size_t(row) * p.k + i] * rhs.values[size_t(row) * p.n + j];
  expectResult(kernels, name, p, order, lhs, rhs, expected);
}

/// Offsets of `groups` groups, of which every ninth has one row and all others none.
std::vector<int> makeSparse(int groups) {
  std::vector<int> offsets = {0};
  for (int group = 0; group < groups; ++group)
    offsets.push_back(offsets.back() + (group % 9 == 4));
  return offsets;
}

std::map<std::string, GroupedProduct> makeFewGroupedRows() {
  return {{"one", {{kF32, {0, 1}, 1, 1}}},
          {"bf16", {{kBf16, {0, 0, 1, 1, 6, 15}, 70, 264}}},
          {"bf16_sparse", {{kBf16, makeSparse(70), 33, 64, true, 0, kBf16}}},
          {"f16", {{kF16, {0, 4, 8}, 32, 328}}},
          {"f32", {{kF32, {0, 3, 3, 4}, 40, 68}}},
          {"f32_unaligned", {{kF32, {0, 2, 7}, 9, 77}}},
          {"beyond", {{kF32, {-5, 900, 900, 1012}, 16, 32, true, 0, kF32, true}}}};
}

std::map<std::string, GroupedProduct> makeManyGroupedRows() {
  return {{"bf16", {{kBf16, {0, 0, 70, 70, 75, 203}, 136, 104, true, 64}}},
          {"bf16_plain_rhs", {{kBf16, {0, 2, 70}, 72, 40, false, 64, kBf16}}},
          {"bf16_large", {{kBf16, {0, 130, 300}, 136, 40, true, 128}}},
          {"f16_large_plain_rhs", {{kF16, {0, 5, 140}, 24, 72, false, 128}}},
          {"bf16_sparse", {{kBf16, makeSparse(40), 8, 16, true, 64}}},
          {"bf16_unaligned", {{kBf16, {0, 20, 50}, 30, 13, false, 64}}},
          {"f32", {{kF32, {0, 65, 65, 90}, 67, 45, true, 64}}},
          {"f32_plain_rhs", {{kF32, {0, 7, 20}, 70, 33, false, 64}}},
          {"beyond", {{kF32, {-5, 900, 900, 1012}, 16, 32, true, 64, kF32, true}}}};
}

std::map<std::string, OuterProduct> makeOuters() {
  return {{"bf16", {{kBf16, {0, 0, 70, 75}, 136, 72, true, 64}}},
          {"f16_large", {{kF16, {0, 33, 40}, 136, 144, true, 128}}},
          {"bf16_unaligned", {{kBf16, {0, 3, 20}, 30, 13, true, 64}}},
          {"f32", {{kF32, {0, 20, 20, 37}, 67, 70, true, 64}}},
          {"beyond", {{kF32, {-5, 900, 900, 1012}, 16, 32, true, 64, kF32, true}}}};
}
} // namespace

TEST(Grouped, MultipliesFewRows) {
  forEachKernel("grouped_gemv", makeFewGroupedRows(), /*checked=*/false, expectGroupedProduct);
}

TEST(Grouped, MultipliesManyRows) {
  forEachKernel("grouped_gemm", makeManyGroupedRows(), /*checked=*/false, expectGroupedProduct);
}

TEST(Grouped, MultipliesRowsByRows) {
  forEachKernel("grouped_outer", makeOuters(), /*checked=*/false, expectOuter);
}

TEST(Grouped, TouchesOnlyWhatItMay) {
  forEachKernel("grouped_gemv", makeFewGroupedRows(), /*checked=*/true, expectGroupedProduct);
  forEachKernel("grouped_gemm", makeManyGroupedRows(), /*checked=*/true, expectGroupedProduct);
  forEachKernel("grouped_outer", makeOuters(), /*checked=*/true, expectOuter);
}

// Two groups of one matrix, divided anywhere.
TEST(Grouped, GivesARowTheSameBitsBesideAnyOthers) {
  SINTER_SKIP_WITHOUT_KERNELS();
  constexpr int m = 11, n = 10, k = 72;
  std::mt19937 engine(6);
  HostTensor lhs = HostTensor::random(kBf16, m * k, engine);
  HostTensor rhs = HostTensor::random(kBf16, n * k, engine);
  rhs.values.insert(rhs.values.end(), rhs.values.begin(), rhs.values.end());
  for (const char *name : {"grouped_gemv", "grouped_gemm"}) {
    GroupedProduct product{{kBf16, {0, m, m}, n, k}};
    product.tile = std::string(name) == "grouped_gemm" ? 64 : 0;
    auto compiled = TestKernels::compile(getTemplate(name), {{name, product.getParameters()}},
                                         /*checked=*/false);
    ASSERT_TRUE(compiled) << compiled.error().message();
    std::vector<double> together;
    for (int second : {m, 0, 1, 4, 7}) {
      HostTensor offsets = HostTensor::of("int", std::vector<int>{0, second, m});
      HostTensor out = HostTensor::unwritten(kF32, m * n);
      auto report = compiled->run(name, {&lhs, &rhs, &offsets, &out});
      ASSERT_TRUE(report) << report.error().message();
      if (together.empty())
        together = out.values;
      EXPECT_EQ(out.values, together) << name << ", " << second;
    }
  }
}
