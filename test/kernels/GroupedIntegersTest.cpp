// Products of rows by the integers of their groups, against plain loops in double precision.
#include "test/kernels/IntegerRows.h"
#include "test/kernels/KernelCases.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct GroupedIntegers {
  std::string element = kF32;
  std::vector<int> offsets; ///< of the rows, the last of which is how many there are
  int n = 1, k = 1, bits = 8, group = 1;
  std::string scaleElement = kF32;
  bool hasMinima = false;
  int tile = 0; ///< of many rows
  std::string out = kF32, rhsElement = kByte;

  int rows() const { return offsets.back(); }
  int groups() const { return int(offsets.size()) - 1; }

  Parameters getParameters() const {
    Parameters result = {{"Element", element},
                         {"Out", out},
                         {"m", std::to_string(rows())},
                         {"n", std::to_string(n)},
                         {"k", std::to_string(k)},
                         {"groups", std::to_string(groups())},
                         {"bits", std::to_string(bits)},
                         {"RhsElement", rhsElement},
                         {"ScaleElement", scaleElement},
                         {"group", std::to_string(group)},
                         {"hasMinima", hasMinima ? "true" : "false"}};
    if (tile)
      result["tile"] = std::to_string(tile);
    return result;
  }
};

/// What a product computes, and what it is computed from.
struct GroupedIntegersCase {
  HostTensor lhs, integers, scales, minima, offsets, out;
  std::vector<double> expected;

  explicit GroupedIntegersCase(const GroupedIntegers &p)
      : GroupedIntegersCase(p, std::mt19937(7), size_t(p.groups()) * p.n * (p.k / p.group)) {}

  void run(TestKernels &kernels, const std::string &name, bool hasMinima,
           simt::Schedule::Order order) {
    std::vector<HostTensor *> tensors = {&lhs, &integers, &scales};
    if (hasMinima)
      tensors.push_back(&minima);
    tensors.insert(tensors.end(), {&offsets, &out});
    auto report = kernels.run(name, tensors, order);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->clean()) << report->text();
  }

private:
  GroupedIntegersCase(const GroupedIntegers &p, std::mt19937 engine, size_t scaleCount)
      : lhs(HostTensor::random(p.element, size_t(p.rows()) * p.k, engine)),
        integers(makeIntegers(size_t(p.groups()) * p.n * p.k, p.bits, engine, p.rhsElement)),
        scales(HostTensor::random(p.scaleElement, scaleCount, engine,
                                  std::pow(2.0, 1 - p.bits) / std::sqrt(p.k))),
        minima(HostTensor::random(kF32, scaleCount, engine, 1 / std::sqrt(p.k))),
        offsets(HostTensor::of("int", p.offsets)),
        out(HostTensor::unwritten(p.out, size_t(p.rows()) * p.n)), expected(out.values.size()) {
    for (int group = 0; group < p.groups(); ++group)
      for (int row = p.offsets[group]; row < p.offsets[group + 1]; ++row)
        for (int j = 0; j < p.n; ++j) {
          size_t column = size_t(group) * p.n + j;
          for (int l = 0; l < p.k; ++l) {
            size_t place = column * (p.k / p.group) + l / p.group;
            double weight = integers.values[column * p.k + l] * scales.values[place] +
                            (p.hasMinima ? minima.values[place] : 0);
            expected[size_t(row) * p.n + j] += lhs.values[size_t(row) * p.k + l] * weight;
          }
        }
    // Scales of a matrix that no row is multiplied by are not read.
    for (int group = 0; group < p.groups(); ++group)
      if (p.offsets[group] == p.offsets[group + 1])
        std::fill_n(scales.values.begin() + scaleCount / p.groups() * group,
                    scaleCount / p.groups(), NAN);
    integers = packIntegers(integers, p.groups() * p.n, p.k, p.bits);
  }
};

void expectGroupedIntegers(TestKernels &kernels, const std::string &name, const GroupedIntegers &p,
                           simt::Schedule::Order order) {
  GroupedIntegersCase product(p);
  product.run(kernels, name, p.hasMinima, order);
  // Few rows multiply exact integers; tiles are of weights that are rounded to elements.
  bool exact = p.out == kF32 && (p.element == kF32 || !p.tile);
  EXPECT_LT(distance(product.out.values, product.expected), exact ? 3e-6
                                                            : p.out == kBf16 || p.element == kBf16
                                                                ? 8e-3
                                                                : 1e-3);
}

/// The product by integers of either width, with and without minima, with scales of each type.
void addFormats(std::map<std::string, GroupedIntegers> &products, GroupedIntegers p) {
  for (int bits : {4, 8})
    for (bool hasMinima : {false, true})
      for (const char *scales : {kF32, kF16, kBf16}) {
        p.bits = bits;
        p.hasMinima = hasMinima;
        p.scaleElement = scales;
        products[std::string(bits == 4 ? "nibbles" : "bytes") + (hasMinima ? "_minima" : "") +
                 (scales == kF16   ? "_f16_scales"
                  : scales == kF32 ? "_f32_scales"
                                   : "_bf16_scales")] = p;
      }
}

/// Groups of none to more rows than a tile has, columns and k that are no whole vectors.
std::map<std::string, GroupedIntegers> makeFewRows() {
  std::map<std::string, GroupedIntegers> result = {
      {"one", {kF32, {0, 1}}},
      {"one_int4", {kF32, {0, 1}, 1, 1, 4}},
      {"bytes", {kBf16, {0, 0, 1, 3, 3, 6, 15}, 40, 1568, 8, 32}},
      {"nibbles", {kBf16, {0, 4, 4, 5}, 35, 2080, 4, 32}},
      {"channels", {kF16, {0, 2, 7}, 66, 336, 8, 336, kF16, false, 0, kF16}},
      {"small_groups", {kF32, {0, 3, 4}, 9, 88, 4, 8}},
      {"unaligned", {kF32, {0, 2, 7}, 13, 77, 8, 11, kF32, true}},
      {"unaligned_int4", {kF32, {0, 5, 5, 7}, 13, 77, 4, 7, kF32, true}},
      {"fp8", {kBf16, {0, 0, 1, 3, 7, 15}, 40, 1568, 8, 32, kBf16, false, 0, kF32, kE4M3}},
      {"fp8_unaligned", {kF32, {0, 2, 7}, 13, 77, 8, 77, kF32, false, 0, kF32, kE4M3}}};
  addFormats(result, {kBf16, {0, 3, 3, 5, 6}, 36, 96, 8, 16});
  return result;
}

std::map<std::string, GroupedIntegers> makeManyRows() {
  std::map<std::string, GroupedIntegers> result = {
      {"bytes", {kBf16, {0, 0, 70, 70, 75, 203}, 136, 104, 8, 8, kF32, false, 64}},
      {"bytes_large", {kBf16, {0, 130, 300}, 136, 96, 8, 32, kF32, false, 128, kBf16}},
      {"nibbles_large", {kF16, {0, 5, 140}, 24, 160, 4, 32, kF16, true, 128}},
      {"channels", {kF16, {0, 20, 50}, 70, 112, 8, 112, kF32, false, 64}},
      {"unaligned", {kBf16, {0, 20, 50}, 30, 45, 8, 9, kF32, false, 64}},
      {"f32", {kF32, {0, 65, 65, 90}, 67, 45, 8, 15, kF32, true, 64}},
      {"f32_int4", {kF32, {0, 7, 20}, 70, 77, 4, 7, kF32, true, 64}},
      {"fp8", {kBf16, {0, 0, 70, 75, 203}, 136, 96, 8, 96, kF32, false, 128, kBf16, kE4M3}},
      {"fp8_f32", {kF32, {0, 20, 50}, 30, 45, 8, 9, kBf16, false, 64, kF32, kE4M3}}};
  addFormats(result, {kBf16, {0, 9, 9, 80}, 21, 96, 8, 16, kF32, false, 64});
  return result;
}
} // namespace

TEST(GroupedIntegers, MultiplyFewRows) {
  forEachKernel("grouped_gemv_integers", makeFewRows(), /*checked=*/false, expectGroupedIntegers);
}

TEST(GroupedIntegers, MultiplyManyRows) {
  forEachKernel("grouped_gemm_integers", makeManyRows(), /*checked=*/false, expectGroupedIntegers);
}

TEST(GroupedIntegers, TouchOnlyWhatTheyMay) {
  forEachKernel("grouped_gemv_integers", makeFewRows(), /*checked=*/true, expectGroupedIntegers);
  forEachKernel("grouped_gemm_integers", makeManyRows(), /*checked=*/true, expectGroupedIntegers);
}

// Two groups of one matrix, divided anywhere.
TEST(GroupedIntegers, GiveARowTheSameBitsBesideAnyOthers) {
  SINTER_SKIP_WITHOUT_KERNELS();
  constexpr int m = 11;
  for (const char *name : {"grouped_gemv_integers", "grouped_gemm_integers"}) {
    GroupedIntegers p = {kBf16, {0, m, m}, 10, 96, 4, 32, kF16, true};
    p.tile = std::string(name) == "grouped_gemm_integers" ? 64 : 0;
    auto compiled = TestKernels::compile(getTemplate(name), {{name, p.getParameters()}},
                                         /*checked=*/false);
    ASSERT_TRUE(compiled) << compiled.error().message();
    GroupedIntegersCase product(p);
    for (HostTensor *tensor : {&product.integers, &product.scales, &product.minima})
      std::copy_n(tensor->values.begin(), tensor->values.size() / 2,
                  tensor->values.begin() + tensor->values.size() / 2);
    std::vector<double> together;
    for (int second : {m, 0, 1, 4, 7}) {
      product.offsets = HostTensor::of("int", std::vector<int>{0, second, m});
      product.out = HostTensor::unwritten(kF32, size_t(m) * p.n);
      product.run(*compiled, name, p.hasMinima, simt::Schedule::Order::Forward);
      if (together.empty())
        together = product.out.values;
      EXPECT_EQ(product.out.values, together) << name << ", " << second;
    }
  }
}
