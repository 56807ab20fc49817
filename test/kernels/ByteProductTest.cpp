// Products whose sides are both of 8 bits with a scale a row, for few rows and for many, against
// plain loops in double precision.
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct ByteProduct {
  std::string element = kByte, rhs = {}, out = kF32; ///< rhs: empty for lhs' type
  int m = 1, n = 1, k = 1;
  bool hasBias = false;
  int padding = 0; ///< elements between the end of a row of lhs or out and the next one
  int tile = 0;    ///< of gemm_bytes
  bool tensorScales = false;
  bool gated =
      false; ///< of gemv_bytes: the second half of the columns multiplies silu of the first
};

const std::string &rhsType(const ByteProduct &p) { return p.rhs.empty() ? p.element : p.rhs; }
int outputs(const ByteProduct &p) { return p.gated ? p.n / 2 : p.n; }
int lhsStride(const ByteProduct &p) { return p.k + p.padding; }
int outStride(const ByteProduct &p) { return outputs(p) + p.padding; }

Parameters getParameters(const ByteProduct &p, bool isGemv) {
  Parameters result = {{"Element", p.element},
                       {"RhsElement", rhsType(p)},
                       {"tensorScales", p.tensorScales ? "true" : "false"},
                       {"Out", p.out},
                       {"m", std::to_string(p.m)},
                       {"n", std::to_string(p.n)},
                       {"k", std::to_string(p.k)},
                       {"lhsStride", std::to_string(lhsStride(p))},
                       {"outStride", std::to_string(outStride(p))}};
  std::string first = p.hasBias ? "sinter::Epilogue<sinter::Bias<float>>" : "sinter::Epilogue<>";
  result["Epilogue"] = !p.gated ? first
                                : "sinter::GatedEpilogue<" + first +
                                      ", sinter::Epilogue<sinter::Silu>, sinter::Epilogue<>>";
  if (p.hasBias)
    result["Operand0"] = kF32;
  if (isGemv)
    result["rhsIsConstant"] = p.k % 2 ? "true" : "false";
  else
    result["tile"] = std::to_string(p.tile);
  return result;
}

HostTensor makeBytes(const std::string &type, size_t count, std::mt19937 &engine) {
  if (type != kByte)
    return HostTensor::random(type, count, engine, 40);
  HostTensor result(type, count);
  std::uniform_int_distribution<int> any(-128, 127);
  for (double &value : result.values)
    value = any(engine);
  return result;
}

/// What a product computes, and what it is computed from.
struct ByteCase {
  HostTensor lhs, rhs, rowScales, scales, bias, out;
  std::vector<double> expected;

  explicit ByteCase(const ByteProduct &p) : ByteCase(p, std::mt19937(5)) {}

private:
  ByteCase(const ByteProduct &p, std::mt19937 engine)
      : lhs(makeBytes(p.element, size_t(lhsStride(p)) * p.m, engine)),
        rhs(makeBytes(rhsType(p), size_t(p.n) * p.k, engine)),
        rowScales(HostTensor::random(kF32, p.tensorScales ? 1 : p.m, engine, 0.01)),
        scales(HostTensor::random(kF32, p.tensorScales ? 1 : p.n, engine, 0.01 / std::sqrt(p.k))),
        bias(HostTensor::random(kF32, p.n, engine)), out(p.out, size_t(outStride(p)) * p.m) {
    // What lies between rows must not change.
    std::fill(out.values.begin(), out.values.end(), 123);
    expected = out.values;
    auto compute = [&](int i, int j) {
      double sum = 0;
      for (int l = 0; l < p.k; ++l)
        sum += lhs.values[size_t(i) * lhsStride(p) + l] * rhs.values[size_t(j) * p.k + l];
      double scale = p.tensorScales ? scales.values[0] * rowScales.values[0]
                                    : scales.values[j] * rowScales.values[i];
      return sum * scale + (p.hasBias ? bias.values[j] : 0);
    };
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < outputs(p); ++j) {
        double value = compute(i, j);
        if (p.gated)
          value *= compute(i, j + outputs(p)) / (1 + std::exp(-value));
        expected[size_t(i) * outStride(p) + j] = value;
      }
  }
};

void runBytes(TestKernels &kernels, const std::string &name, const ByteProduct &p,
              ByteCase &product, simt::Schedule::Order order) {
  std::vector<HostTensor *> tensors = {&product.lhs, &product.rhs, &product.rowScales,
                                       &product.scales};
  if (p.hasBias)
    tensors.push_back(&product.bias);
  tensors.push_back(&product.out);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
}

void expectByteReferences(const char *templateName,
                          const std::map<std::string, ByteProduct> &products, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  bool isGemv = std::string(templateName) == "gemv_bytes";
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, product] : products)
    kernels[name] = getParameters(product, isGemv);
  auto compiled = TestKernels::compile(getTemplate(templateName), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, p] : products) {
    SCOPED_TRACE(name);
    ByteCase product(p);
    runBytes(*compiled, name, p, product, static_cast<simt::Schedule::Order>(count++ % 3));
    EXPECT_LT(distance(product.out.values, product.expected), p.out == kF32 ? 3e-6 : 8e-3);
  }
}

std::map<std::string, ByteProduct> makeByteGemvs() {
  return {
      {"one", {}},
      {"rows_1", {.m = 1, .n = 70, .k = 1056, .hasBias = true}},
      {"rows_8", {.m = 8, .n = 33, .k = 2048}},
      {"unaligned", {.m = 5, .n = 13, .k = 77}},
      {"padded", {.m = 3, .n = 24, .k = 64, .padding = 3}},
      {"gated", {.out = "__nv_bfloat16", .m = 2, .n = 36, .k = 96, .hasBias = true, .gated = true}},
      {"large_sums", {.m = 1, .n = 2, .k = 131071}},
      {"e4m3", {.element = kE4M3, .m = 4, .n = 40, .k = 528}},
      {"e4m3_gated", {.element = kE4M3, .m = 8, .n = 64, .k = 160, .gated = true}},
      {"e4m3_unaligned", {.element = kE4M3, .m = 7, .n = 9, .k = 45, .hasBias = true}},
      {"e5m2_e4m3",
       {.element = kE5M2, .rhs = kE4M3, .m = 3, .n = 24, .k = 96, .tensorScales = true}},
      {"e4m3_e5m2",
       {.element = kE4M3, .rhs = kE5M2, .m = 5, .n = 20, .k = 81, .tensorScales = true}},
  };
}

std::map<std::string, ByteProduct> makeByteGemms() {
  std::map<std::string, ByteProduct> result = {
      {"one", {}},
      {"aligned", {.m = 72, .n = 136, .k = 96, .hasBias = true}},
      {"partial", {.out = "__half", .m = 20, .n = 71, .k = 112}},
      {"unaligned", {.m = 70, .n = 67, .k = 45}},
      {"padded", {.m = 12, .n = 20, .k = 64, .padding = 8}},
      {"large_sums", {.m = 9, .n = 2, .k = 131071}},
      {"many_tiles", {.m = 128 * 10 + 3, .n = 128 * 14 + 8, .k = 64}},
      {"e4m3", {.element = kE4M3, .out = "__nv_bfloat16", .m = 72, .n = 136, .k = 192}},
      {"e4m3_unaligned", {.element = kE4M3, .m = 33, .n = 30, .k = 77, .hasBias = true}},
      {"e4m3_tensor", {.element = kE4M3, .m = 40, .n = 24, .k = 96, .tensorScales = true}},
      {"e5m2_e4m3",
       {.element = kE5M2, .rhs = kE4M3, .m = 72, .n = 40, .k = 96, .tensorScales = true}},
      {"e4m3_e5m2",
       {.element = kE4M3, .rhs = kE5M2, .m = 33, .n = 30, .k = 45, .tensorScales = true}},
  };
  for (int tile : {64, 128}) {
    ByteProduct p = {.m = 150, .n = 136, .k = 96};
    p.tile = tile;
    result["tile_" + std::to_string(tile)] = p;
  }
  return result;
}

/// Without those that take long to watch.
std::map<std::string, ByteProduct> small(std::map<std::string, ByteProduct> products) {
  std::erase_if(products,
                [](const auto &each) { return each.second.n > 1000 || each.second.k > 4096; });
  return products;
}
} // namespace

TEST(ByteGemv, IsAProductAndItsEpilogue) {
  expectByteReferences("gemv_bytes", makeByteGemvs(), false);
}
TEST(ByteGemv, TouchesOnlyWhatItMay) {
  expectByteReferences("gemv_bytes", small(makeByteGemvs()), true);
}

// A row's numbers do not depend on which others are computed with it.
TEST(ByteGemv, HasTheSameBitsForEveryNumberOfRows) {
  SINTER_SKIP_WITHOUT_KERNELS();
  ByteProduct p = {.element = kE4M3, .n = 50, .k = 1120};
  std::map<std::string, Parameters> kernels;
  for (int m = 1; m <= 8; ++m) {
    p.m = m;
    kernels["rows_" + std::to_string(m)] = getParameters(p, /*isGemv=*/true);
  }
  auto compiled = TestKernels::compile(getTemplate("gemv_bytes"), kernels, /*checked=*/false);
  ASSERT_TRUE(compiled) << compiled.error().message();
  ByteCase all(p);
  runBytes(*compiled, "rows_8", p, all, simt::Schedule::Order::Forward);
  for (int m = 1; m < 8; ++m) {
    SCOPED_TRACE(m);
    ByteCase part = all;
    p.m = m;
    part.lhs.values.resize(size_t(m) * p.k);
    part.rowScales.values.resize(m);
    part.out = HostTensor(kF32, size_t(m) * p.n);
    runBytes(*compiled, "rows_" + std::to_string(m), p, part, simt::Schedule::Order::Forward);
    for (size_t i = 0; i < part.out.values.size(); ++i)
      ASSERT_EQ(part.out.values[i], all.out.values[i]) << i;
  }
}

TEST(ByteGemm, IsAProductAndItsEpilogue) {
  expectByteReferences("gemm_bytes", makeByteGemms(), false);
}
TEST(ByteGemm, TouchesOnlyWhatItMay) {
  expectByteReferences("gemm_bytes", small(makeByteGemms()), true);
}
