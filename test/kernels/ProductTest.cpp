#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
constexpr const char *kBf16 = "__nv_bfloat16", *kF16 = "__half", *kF32 = "float";

struct Product {
  std::string element = kF32, out = kF32;
  int m = 1, n = 1, k = 1;
  bool lhsTransposed = false, rhsTransposed = false, plain = false;
  /// Steps of the epilogue: bias, add, multiply, gelu, gelu_tanh, silu, relu.
  std::vector<std::string> steps;
  int padding = 0; ///< elements between the end of a row and the next one
};

Product product(const char *element, int m, int n, int k, bool rhsTransposed,
                std::vector<std::string> steps = {}) {
  Product result;
  result.element = result.out = element;
  result.m = m;
  result.n = n;
  result.k = k;
  result.rhsTransposed = rhsTransposed;
  result.steps = std::move(steps);
  return result;
}

long long lhsStride(const Product &p) { return (p.lhsTransposed ? p.m : p.k) + p.padding; }
long long rhsStride(const Product &p) { return (p.rhsTransposed ? p.k : p.n) + p.padding; }
long long outStride(const Product &p) { return p.n + p.padding; }

Parameters getParameters(const Product &p, bool isGemv) {
  Parameters result = {{"Element", p.element},
                       {"Out", p.out},
                       {"m", std::to_string(p.m)},
                       {"n", std::to_string(p.n)},
                       {"k", std::to_string(p.k)},
                       {"lhsStride", std::to_string(lhsStride(p))},
                       {"rhsStride", std::to_string(rhsStride(p))},
                       {"outStride", std::to_string(outStride(p))},
                       {"rhsTransposed", p.rhsTransposed ? "true" : "false"}};
  if (!isGemv) {
    result["lhsTransposed"] = p.lhsTransposed ? "true" : "false";
    result["plain"] = p.plain ? "true" : "false";
  }
  const std::map<std::string, std::string> names = {
      {"bias", "Bias<float>"},   {"add", "Add<float, " + std::to_string(p.n) + ">"},
      {"gelu", "Gelu"},          {"multiply", "Multiply<float, " + std::to_string(p.n) + ">"},
      {"gelu_tanh", "GeluTanh"}, {"silu", "Silu"},
      {"relu", "Relu"}};
  std::string epilogue;
  int operands = 0;
  for (const std::string &step : p.steps) {
    epilogue += (epilogue.empty() ? "sinter::" : ", sinter::") + names.at(step);
    if (names.at(step).find('<') != std::string::npos)
      result["Operand" + std::to_string(operands++)] = kF32;
  }
  result["Epilogue"] = "sinter::Epilogue<" + epilogue + ">";
  return result;
}

double apply(const std::string &step, double x, double operand) {
  if (step == "bias" || step == "add")
    return x + operand;
  if (step == "multiply")
    return x * operand;
  if (step == "gelu")
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (step == "gelu_tanh")
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (step == "silu")
    return x / (1 + std::exp(-x));
  return std::max(x, 0.0);
}

void expectReference(TestKernels &kernels, const std::string &name, const Product &p,
                     simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  std::mt19937 engine(3);
  double deviation = 1 / std::sqrt(double(p.k));
  HostTensor lhs = HostTensor::random(p.element, lhsStride(p) * (p.lhsTransposed ? p.k : p.m),
                                      engine, deviation);
  HostTensor rhs =
      HostTensor::random(p.element, rhsStride(p) * (p.rhsTransposed ? p.n : p.k), engine);
  HostTensor out(p.out, outStride(p) * p.m);
  // What lies between rows must not change.
  std::fill(out.values.begin(), out.values.end(), 123);
  std::vector<HostTensor> operands;
  for (const std::string &step : p.steps)
    if (step == "bias" || step == "add" || step == "multiply")
      operands.push_back(
          HostTensor::random(kF32, step == "bias" ? p.n : size_t(p.m) * p.n, engine));

  std::vector<double> expected = out.values;
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int l = 0; l < p.k; ++l)
        sum += lhs.values[p.lhsTransposed ? l * lhsStride(p) + i : i * lhsStride(p) + l] *
               rhs.values[p.rhsTransposed ? j * rhsStride(p) + l : l * rhsStride(p) + j];
      size_t next = 0;
      for (const std::string &step : p.steps) {
        bool isBias = step == "bias", reads = isBias || step == "add" || step == "multiply";
        sum = apply(step, sum, reads ? operands[next].values[isBias ? j : i * p.n + j] : 0);
        next += reads;
      }
      expected[i * outStride(p) + j] = sum;
    }

  std::vector<HostTensor *> tensors = {&lhs, &rhs};
  for (HostTensor &operand : operands)
    tensors.push_back(&operand);
  tensors.push_back(&out);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  double tolerance = p.out == kF32 ? 3e-6 : p.out == kF16 ? 1e-3 : 8e-3;
  EXPECT_LT(distance(out.values, expected), tolerance);
}

void expectReferences(const char *templateName, const std::map<std::string, Product> &products,
                      bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, product] : products)
    kernels[name] = getParameters(product, std::string(templateName) == "gemv");
  auto compiled = TestKernels::compile(getTemplate(templateName), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, product] : products)
    expectReference(*compiled, name, product, static_cast<simt::Schedule::Order>(count++ % 3));
}

std::map<std::string, Product> makeGemvs() {
  std::map<std::string, Product> result = {
      {"one", product(kF32, 1, 1, 1, true)},
      {"one_plain", product(kF32, 1, 1, 1, false)},
      {"bf16", product(kBf16, 1, 70, 512, true)},
      {"bf16_partial_steps", product(kBf16, 2, 9, 328, true, {"bias"})},
      {"f16_rows", product(kF16, 8, 30, 264, true, {"bias", "gelu_tanh", "add"})},
      {"f32_unaligned", product(kF32, 5, 13, 77, true, {"silu", "multiply"})},
      {"f32_no_splits", product(kF32, 3, 4300, 8, true, {"relu"})},
      {"f32_two_splits", product(kF32, 1, 1500, 8, true, {"gelu"})},
      {"bf16_plain", product(kBf16, 1, 72, 300, false)},
      {"bf16_plain_rows", product(kBf16, 8, 40, 130, false, {"bias", "gelu", "add"})},
      {"f32_plain", product(kF32, 4, 36, 65, false, {"multiply"})},
      {"f32_plain_unaligned", product(kF32, 2, 35, 65, false, {"bias"})},
      {"f16_plain", product(kF16, 3, 8, 3, false)},
  };
  result["bf16_into_f32"] = product(kBf16, 1, 40, 256, true);
  result["bf16_into_f32"].out = kF32;
  result["padded"] = product(kBf16, 2, 24, 64, true, {"add"});
  result["padded"].padding = 8;
  return result;
}

std::map<std::string, Product> makeGemms() {
  std::map<std::string, Product> result;
  for (bool lhsTransposed : {false, true})
    for (bool rhsTransposed : {false, true}) {
      std::string stored = std::string(lhsTransposed ? "_t" : "_n") + (rhsTransposed ? "t" : "n");
      auto add = [&](const std::string &name, Product p) {
        p.lhsTransposed = lhsTransposed;
        result[name + stored] = p;
      };
      add("bf16", product(kBf16, 72, 136, 104, rhsTransposed, {"bias", "gelu"}));
      add("f32", product(kF32, 70, 67, 45, rhsTransposed, {"add"}));
    }
  result["f16_partial_chunks"] = product(kF16, 33, 21, 43, true);
  result["f16_partial_chunks"].padding = 5; // 48 elements a row
  result["bf16_unaligned"] = product(kBf16, 20, 30, 13, false, {"relu"});
  result["bf16_into_f32"] = product(kBf16, 65, 64, 32, true, {"silu", "multiply"});
  result["bf16_into_f32"].out = kF32;
  result["bf16_plain"] = product(kBf16, 64, 64, 40, true);
  result["bf16_plain"].plain = true;
  result["one"] = product(kF32, 1, 1, 1, false);
  result["one_step"] = product(kBf16, 8, 8, 8, true);
  // Large tiles, in bands of eight and a lower one.
  result["bf16_large"] = product(kBf16, 128 * 10 + 3, 128 * 12 + 8, 40, true);
  result["f32_large"] = product(kF32, 128 * 10 + 3, 128 * 12 + 5, 17, true);
  return result;
}
} // namespace

TEST(Gemv, IsAProductAndItsEpilogue) { expectReferences("gemv", makeGemvs(), false); }

TEST(Gemv, TouchesOnlyWhatItMay) {
  auto products = makeGemvs();
  for (const char *large : {"f32_no_splits", "f32_two_splits"})
    products.erase(large);
  expectReferences("gemv", products, true);
}

TEST(Gemm, IsAProductAndItsEpilogue) { expectReferences("gemm", makeGemms(), false); }

TEST(Gemm, TouchesOnlyWhatItMay) {
  auto products = makeGemms();
  for (const char *large : {"bf16_large", "f32_large"})
    products.erase(large);
  expectReferences("gemm", products, true);
}
