// Products whose weights are integers with scales, for few rows and for many, and how integers of
// four bits are packed for them, against plain loops in double precision.
#include "test/kernels/IntegerRows.h"
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct IntegerProduct {
  std::string element = kF32, out = kF32;
  int m = 1, n = 1, k = 1, bits = 8, group = 1;
  std::string rhsElement = kByte, scaleElement = kF32;
  bool hasMinima = false;
  bool hasBias = false;
  int padding = 0; ///< elements between the end of a row of lhs or out and the next one
  int tile = 0;    ///< of gemm_integers
  // Of gemv_integers alone:
  bool normalizes = false; ///< rows of f32, by their mean square
  bool gated = false;      ///< the second half of the columns multiplies silu of the first
  int sharedBytes = 0;     ///< of the version that makes rows fixed point
};

/// Shared memory as a target gives it where a block is alone on a processor.
constexpr int kRoomy = 116000;

int outputs(const IntegerProduct &p) { return p.gated ? p.n / 2 : p.n; }
int lhsStride(const IntegerProduct &p) { return p.k + p.padding; }
int outStride(const IntegerProduct &p) { return outputs(p) + p.padding; }

Parameters getParameters(const IntegerProduct &p, bool isGemv) {
  Parameters result = {{"Element", p.element},
                       {"Out", p.out},
                       {"m", std::to_string(p.m)},
                       {"n", std::to_string(p.n)},
                       {"k", std::to_string(p.k)},
                       {"bits", std::to_string(p.bits)},
                       {"RhsElement", p.rhsElement},
                       {"ScaleElement", p.scaleElement},
                       {"group", std::to_string(p.group)},
                       {"hasMinima", p.hasMinima ? "true" : "false"},
                       {"lhsStride", std::to_string(lhsStride(p))},
                       {"outStride", std::to_string(outStride(p))}};
  std::string first = p.hasBias ? "sinter::Epilogue<sinter::Bias<float>>" : "sinter::Epilogue<>";
  result["Epilogue"] = !p.gated ? first
                                : "sinter::GatedEpilogue<" + first +
                                      ", sinter::Epilogue<sinter::Silu>, sinter::Epilogue<>>";
  if (p.hasBias)
    result["Operand0"] = kF32;
  if (!isGemv) {
    result["tile"] = std::to_string(p.tile);
    return result;
  }
  result["rhsIsConstant"] = p.k % 2 ? "true" : "false";
  result["sharedBytes"] = std::to_string(p.sharedBytes);
  if (p.normalizes) {
    result["Input"] = result["NormWeight"] = kF32;
    result["normEps"] = "1e-3";
  }
  return result;
}

/// What a product computes, and what it is computed from.
struct IntegerCase {
  HostTensor lhs, integers, scales, minima, bias, normWeight, out;
  std::vector<double> expected;

  explicit IntegerCase(const IntegerProduct &p)
      : IntegerCase(p, std::mt19937(5), size_t(p.n) * (p.k / p.group)) {}

private:
  IntegerCase(const IntegerProduct &p, std::mt19937 engine, size_t groups)
      : lhs(HostTensor::random(p.normalizes ? kF32 : p.element, size_t(lhsStride(p)) * p.m,
                               engine)),
        integers(makeIntegers(size_t(p.n) * p.k, p.bits, engine, p.rhsElement)),
        scales(HostTensor::random(p.scaleElement, groups, engine,
                                  std::pow(2.0, 1 - p.bits) / std::sqrt(p.k))),
        minima(HostTensor::random(kF32, groups, engine, 1 / std::sqrt(p.k))),
        bias(HostTensor::random(kF32, p.n, engine)),
        normWeight(HostTensor::random(kF32, p.k, engine)), out(p.out, size_t(outStride(p)) * p.m) {
    // What lies between rows must not change.
    std::fill(out.values.begin(), out.values.end(), 123);
    expected = out.values;
    HostTensor rows = lhs;
    rows.type = p.element;
    for (int i = 0; p.normalizes && i < p.m; ++i) {
      double *row = &rows.values[size_t(i) * lhsStride(p)], square = 0;
      for (int l = 0; l < p.k; ++l)
        square += row[l] * row[l] / p.k;
      for (int l = 0; l < p.k; ++l)
        row[l] = rows.round(row[l] / std::sqrt(square + 1e-3) * normWeight.values[l]);
    }
    auto compute = [&](int i, int j) {
      double sum = p.hasBias ? bias.values[j] : 0;
      for (int l = 0; l < p.k; ++l) {
        size_t group = size_t(j) * (p.k / p.group) + l / p.group;
        double weight = integers.values[size_t(j) * p.k + l] * scales.values[group] +
                        (p.hasMinima ? minima.values[group] : 0);
        sum += rows.values[size_t(i) * lhsStride(p) + l] * weight;
      }
      return sum;
    };
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < outputs(p); ++j) {
        double value = compute(i, j);
        if (p.gated)
          value *= compute(i, j + outputs(p)) / (1 + std::exp(-value));
        expected[size_t(i) * outStride(p) + j] = value;
      }
    integers = packIntegers(integers, p.n, p.k, p.bits);
  }
};

void runIntegers(TestKernels &kernels, const std::string &name, const IntegerProduct &p,
                 IntegerCase &product, simt::Schedule::Order order) {
  std::vector<HostTensor *> tensors = {&product.lhs, &product.integers, &product.scales};
  if (p.hasMinima)
    tensors.push_back(&product.minima);
  if (p.normalizes)
    tensors.push_back(&product.normWeight);
  if (p.hasBias)
    tensors.push_back(&product.bias);
  tensors.push_back(&product.out);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
}

void expectIntegerReferences(const char *templateName,
                             const std::map<std::string, IntegerProduct> &products, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  bool isGemv = std::string(templateName) == "gemv_integers";
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, product] : products)
    kernels[name] = getParameters(product, isGemv);
  auto compiled = TestKernels::compile(getTemplate(templateName), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, p] : products) {
    SCOPED_TRACE(name);
    IntegerCase product(p);
    runIntegers(*compiled, name, p, product, static_cast<simt::Schedule::Order>(count++ % 3));
    // Few rows multiply exact integers; tiles are of weights that are rounded to elements.
    bool exact = p.element == kF32 || isGemv;
    double tolerance = p.out == kF32 && exact                 ? 3e-6
                       : p.out == kBf16 || p.element == kBf16 ? 8e-3
                                                              : 1e-3;
    EXPECT_LT(distance(product.out.values, product.expected), tolerance);
  }
}

/// The product by integers of either width, with and without minima, with scales of either type.
void addScalesOf16Bits(std::map<std::string, IntegerProduct> &products, IntegerProduct p) {
  for (int bits : {4, 8})
    for (bool hasMinima : {false, true})
      for (const char *scales : {kF16, kBf16}) {
        p.bits = bits;
        p.hasMinima = hasMinima;
        p.scaleElement = scales;
        products[std::string(bits == 4 ? "nibbles" : "bytes") + (hasMinima ? "_minima" : "") +
                 (scales == kF16 ? "_f16_scales" : "_bf16_scales")] = p;
      }
}

std::map<std::string, IntegerProduct> makeIntegerGemvs() {
  std::map<std::string, IntegerProduct> result = {
      {"one", {}},
      {"one_int4", {.bits = 4}},
      {"bytes", {.element = kBf16, .m = 1, .n = 70, .k = 1056, .group = 32}},
      {"bytes_of_channels", {.m = 2, .n = 9, .k = 336, .group = 336, .hasBias = true}},
      {"bytes_of_small_groups", {.element = kF16, .m = 3, .n = 30, .k = 528, .group = 8}},
      {"bytes_unaligned", {.m = 5, .n = 13, .k = 77, .group = 11, .hasMinima = true}},
      {"bytes_narrow", {.m = 8, .n = 12, .k = 72, .group = 24, .hasMinima = true, .hasBias = true}},
      {"bytes_no_splits", {.m = 3, .n = 4300, .k = 16, .group = 16}},
      {"bytes_two_splits", {.m = 1, .n = 1500, .k = 32, .group = 32}},
      {"nibbles", {.element = kBf16, .m = 1, .n = 70, .k = 2080, .bits = 4, .group = 32}},
      {"nibbles_of_channels", {.m = 4, .n = 9, .k = 336, .bits = 4, .group = 336}},
      {"nibbles_of_small_groups",
       {.element = kF16, .m = 2, .n = 30, .k = 264, .bits = 4, .group = 8, .hasMinima = true}},
      {"nibbles_of_halves", {.m = 6, .n = 5, .k = 112, .bits = 4, .group = 16}},
      {"nibbles_unaligned", {.m = 7, .n = 13, .k = 77, .bits = 4, .group = 7, .hasMinima = true}},
      {"nibbles_of_large_groups",
       {.element = kBf16,
        .out = kBf16,
        .m = 8,
        .n = 40,
        .k = 256,
        .bits = 4,
        .group = 128,
        .hasMinima = true,
        .hasBias = true}},
      {"padded", {.m = 2, .n = 24, .k = 64, .bits = 4, .group = 32, .padding = 3}},
      {"normed",
       {.element = kBf16,
        .m = 2,
        .n = 40,
        .k = 264,
        .group = 8,
        .hasBias = true,
        .normalizes = true}},
      {"normed_rounds", {.m = 1, .n = 4300, .k = 32, .bits = 4, .group = 32, .normalizes = true}},
      {"e4m3_of_blocks",
       {.element = kF16,
        .out = kF16,
        .m = 5,
        .n = 40,
        .k = 384,
        .group = 128,
        .rhsElement = kE4M3,
        .scaleElement = kBf16,
        .hasBias = true}},
      {"e4m3_unaligned", {.m = 3, .n = 13, .k = 77, .group = 77, .rhsElement = kE4M3}},
      {"gated", {.m = 3, .n = 30, .k = 64, .bits = 4, .group = 32, .hasBias = true, .gated = true}},
      {"gated_normed",
       {.element = kF16,
        .m = 1,
        .n = 352,
        .k = 128,
        .group = 64,
        .hasMinima = true,
        .normalizes = true,
        .gated = true}},
  };
  addScalesOf16Bits(result, {.element = kBf16, .m = 3, .n = 20, .k = 96, .group = 16});
  return result;
}

/// Those of integers in groups of whole segments, and what only the version of fixed point does.
std::map<std::string, IntegerProduct> makeFixedPoint() {
  std::map<std::string, IntegerProduct> result = makeIntegerGemvs();
  std::erase_if(result, [](const auto &each) {
    return each.second.group % 32 != 0 || each.second.rhsElement != kByte;
  });
  addScalesOf16Bits(result, {.element = kBf16, .m = 3, .n = 20, .k = 1216, .group = 32});
  result["groups_across_steps"] = {.m = 2, .n = 50, .k = 960, .bits = 4, .group = 96};
  result["bytes_groups_across_steps"] = {
      .element = kF16, .m = 1, .n = 33, .k = 1440, .group = 96, .hasMinima = true};
  result["bytes_of_many_steps"] = {.element = kBf16, .m = 4, .n = 40, .k = 4128, .group = 32};
  result["nibbles_of_many_steps"] = {
      .m = 1, .n = 24, .k = 6400, .bits = 4, .group = 64, .hasMinima = true};
  result["rounds"] = {.m = 2, .n = 36000, .k = 32, .group = 32};
  result["gated_rounds"] = {.m = 1, .n = 34000, .k = 64, .bits = 4, .group = 32, .gated = true};
  for (auto &[name, product] : result)
    product.sharedBytes = kRoomy;
  // A ring of three steps and three rows.
  result["rows_one_after_the_other"] = {.element = kBf16,
                                        .m = 7,
                                        .n = 40,
                                        .k = 256,
                                        .bits = 4,
                                        .group = 128,
                                        .sharedBytes = 3 * 16384 + 3 * 2944};
  result["normed_one_after_the_other"] = {.element = kBf16,
                                          .m = 3,
                                          .n = 40,
                                          .k = 256,
                                          .group = 32,
                                          .normalizes = true,
                                          .sharedBytes = 3 * 16384 + 2944};
  return result;
}

std::map<std::string, IntegerProduct> makeIntegerGemms() {
  std::map<std::string, IntegerProduct> result = {
      {"bytes", {.element = kBf16, .m = 72, .n = 136, .k = 96, .group = 32, .hasBias = true}},
      {"bytes_of_channels",
       {.element = kF16, .out = kF16, .m = 20, .n = 70, .k = 112, .group = 112}},
      {"bytes_of_small_groups",
       {.element = kBf16, .m = 65, .n = 66, .k = 88, .group = 8, .hasMinima = true}},
      {"bytes_float", {.m = 70, .n = 67, .k = 45, .group = 15, .hasMinima = true}},
      {"bytes_unaligned", {.element = kBf16, .m = 10, .n = 30, .k = 45, .group = 9}},
      {"nibbles",
       {.element = kBf16, .m = 72, .n = 136, .k = 160, .bits = 4, .group = 32, .hasMinima = true}},
      {"nibbles_of_halves",
       {.element = kF16, .out = kF16, .m = 33, .n = 30, .k = 112, .bits = 4, .group = 16}},
      {"nibbles_partial", {.element = kBf16, .m = 9, .n = 21, .k = 40, .bits = 4, .group = 8}},
      {"nibbles_float",
       {.m = 70, .n = 67, .k = 77, .bits = 4, .group = 7, .hasMinima = true, .hasBias = true}},
      {"e4m3", {.element = kBf16, .m = 72, .n = 136, .k = 256, .group = 128, .rhsElement = kE4M3}},
      {"e4m3_float", {.m = 70, .n = 67, .k = 45, .group = 15, .rhsElement = kE4M3}},
      {"padded",
       {.element = kF16, .m = 12, .n = 20, .k = 64, .bits = 4, .group = 64, .padding = 8}},
      {"one", {}},
      {"large", {.element = kBf16, .m = 128 * 10 + 3, .n = 128 * 14 + 8, .k = 64, .group = 32}},
  };
  for (int tile : {64, 128}) {
    IntegerProduct p = {.element = kBf16, .m = 150, .n = 136, .k = 96, .bits = 4, .group = 32};
    p.tile = tile;
    result["nibbles_tile_" + std::to_string(tile)] = p;
    p.bits = 8;
    result["bytes_tile_" + std::to_string(tile)] = p;
  }
  addScalesOf16Bits(result, {.element = kBf16, .m = 9, .n = 21, .k = 96, .group = 8});
  result["scales_of_16_bits_float"] = {
      .m = 12, .n = 20, .k = 45, .bits = 4, .group = 15, .scaleElement = kF16};
  return result;
}
} // namespace

static void expectCleanGemvs(std::map<std::string, IntegerProduct> products) {
  std::erase_if(products, [](const auto &each) { return each.second.n > 1000; });
  expectIntegerReferences("gemv_integers", products, true);
}

TEST(IntegerGemv, IsAProductAndItsEpilogue) {
  expectIntegerReferences("gemv_integers", makeIntegerGemvs(), false);
}
TEST(IntegerGemv, TouchesOnlyWhatItMay) { expectCleanGemvs(makeIntegerGemvs()); }

TEST(FixedPointGemv, IsAProductAndItsEpilogue) {
  expectIntegerReferences("gemv_integers", makeFixedPoint(), false);
}
TEST(FixedPointGemv, TouchesOnlyWhatItMay) { expectCleanGemvs(makeFixedPoint()); }

// A row's numbers do not depend on which others are computed with it.
static void expectSameBitsForEveryNumberOfRows(int sharedBytes) {
  SINTER_SKIP_WITHOUT_KERNELS();
  for (int bits : {4, 8}) {
    IntegerProduct p = {.element = kBf16, .n = 100, .k = 1120, .bits = bits, .group = 32};
    p.sharedBytes = sharedBytes;
    p.hasMinima = bits == 4;
    std::map<std::string, IntegerProduct> products;
    std::map<std::string, Parameters> kernels;
    for (int m = 1; m <= 8; ++m) {
      std::string name = "rows_" + std::to_string(m);
      p.m = m;
      products[name] = p;
      kernels[name] = getParameters(p, /*isGemv=*/true);
    }
    auto compiled = TestKernels::compile(getTemplate("gemv_integers"), kernels, /*checked=*/false);
    ASSERT_TRUE(compiled) << compiled.error().message();
    IntegerCase all(p);
    runIntegers(*compiled, "rows_8", p, all, simt::Schedule::Order::Forward);
    for (const auto &[name, few] : products) {
      SCOPED_TRACE(name);
      IntegerCase part = all;
      part.lhs.values.resize(size_t(few.m) * few.k);
      part.out = HostTensor(kF32, size_t(few.m) * few.n);
      runIntegers(*compiled, name, few, part, simt::Schedule::Order::Forward);
      for (size_t i = 0; i < part.out.values.size(); ++i)
        ASSERT_EQ(part.out.values[i], all.out.values[i]) << i;
    }
  }
}

TEST(IntegerGemv, HasTheSameBitsForEveryNumberOfRows) { expectSameBitsForEveryNumberOfRows(0); }
TEST(FixedPointGemv, HasTheSameBitsForEveryNumberOfRows) {
  expectSameBitsForEveryNumberOfRows(kRoomy);
  // Of eight rows those that fit are multiplied first.
  expectSameBitsForEveryNumberOfRows(3 * 16384 + 3 * 6000);
}

// An outlier makes the numbers of its own segment coarser, and what is not finite its own row.
TEST(FixedPointGemv, KeepsSegmentsApart) {
  SINTER_SKIP_WITHOUT_KERNELS();
  IntegerProduct p = {.m = 3, .n = 20, .k = 128, .group = 32, .sharedBytes = kRoomy};
  auto compiled = TestKernels::compile(getTemplate("gemv_integers"),
                                       {{"product", getParameters(p, /*isGemv=*/true)}},
                                       /*checked=*/false);
  ASSERT_TRUE(compiled) << compiled.error().message();
  IntegerCase product(p);
  product.integers.values.assign(product.integers.values.size(), 0);
  for (int column = 0; column < p.n; ++column)
    product.integers.values[column * p.k + 70] = 100;
  product.lhs.values[5] = 1e20;
  product.lhs.values[p.k + 5] = std::numeric_limits<double>::infinity();
  product.lhs.values[2 * p.k + 5] = std::numeric_limits<double>::quiet_NaN();
  runIntegers(*compiled, "product", p, product, simt::Schedule::Order::Forward);
  for (int column = 0; column < p.n; ++column) {
    double expected = product.lhs.values[70] * 100 * product.scales.values[column * 4 + 2];
    EXPECT_NEAR(product.out.values[column], expected, 1e-6 * std::abs(expected));
    EXPECT_TRUE(std::isnan(product.out.values[p.n + column]));
    EXPECT_TRUE(std::isnan(product.out.values[2 * p.n + column]));
  }
}

TEST(IntegerGemm, IsAProductAndItsEpilogue) {
  expectIntegerReferences("gemm_integers", makeIntegerGemms(), false);
}

TEST(IntegerGemm, TouchesOnlyWhatItMay) {
  auto products = makeIntegerGemms();
  products.erase("large");
  expectIntegerReferences("gemm_integers", products, true);
}

// A scale of 16 bits is the same number in f32.
TEST(IntegerProducts, HaveTheSameBitsWithScalesOfF32) {
  SINTER_SKIP_WITHOUT_KERNELS();
  for (const char *name : {"gemv_integers", "gemm_integers"}) {
    bool isGemv = std::string(name) == "gemv_integers";
    std::map<std::string, IntegerProduct> products;
    addScalesOf16Bits(products,
                      {.element = kBf16, .m = isGemv ? 3 : 20, .n = 40, .k = 96, .group = 32});
    std::map<std::string, Parameters> kernels;
    for (const auto &[of, product] : products) {
      kernels[of] = getParameters(product, isGemv);
      kernels[of + "_widened"] = kernels[of];
      kernels[of + "_widened"]["ScaleElement"] = kF32;
    }
    auto compiled = TestKernels::compile(getTemplate(name), kernels, /*checked=*/false);
    ASSERT_TRUE(compiled) << compiled.error().message();
    for (const auto &[of, product] : products) {
      SCOPED_TRACE(of);
      IntegerCase narrow(product), wide = narrow;
      wide.scales.type = kF32;
      runIntegers(*compiled, of, product, narrow, simt::Schedule::Order::Forward);
      runIntegers(*compiled, of + "_widened", product, wide, simt::Schedule::Order::Forward);
      EXPECT_EQ(narrow.out.values, wide.out.values);
    }
  }
}

TEST(PackIntegers, PutsTwoIntoAByte) {
  SINTER_SKIP_WITHOUT_KERNELS();
  for (bool checked : {false, true})
    for (auto [rows, columns] : {std::pair(3, 77), {70, 160}, {1, 1}, {9, 32}}) {
      SCOPED_TRACE(columns);
      std::mt19937 engine(2);
      HostTensor integers = makeIntegers(size_t(rows) * columns, 4, engine);
      HostTensor expected = packIntegers(integers, rows, columns, 4);
      HostTensor packed(kByte, expected.values.size());
      auto compiled = TestKernels::compile(
          getTemplate("pack_integers"),
          {{"pack", {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}}}},
          checked);
      ASSERT_TRUE(compiled) << compiled.error().message();
      auto report = compiled->run("pack", {&integers, &packed});
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->clean()) << report->text();
      EXPECT_EQ(packed.values, expected.values);
    }
}
