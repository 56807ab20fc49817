#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct Product {
  std::string element = kF32, out = kF32;
  int m = 1, n = 1, k = 1;
  bool lhsTransposed = false, rhsTransposed = false, plain = false;
  /// Steps of the epilogue: bias, add, multiply, gelu, gelu_tanh, silu, relu.
  std::vector<std::string> steps;
  int padding = 0; ///< elements between the end of a row and the next one
  int tile = 0;    ///< of gemm; 0: by its rule
  // Of gemv alone:
  bool gated = false;     ///< the second half of the columns multiplies the first
  int gateSteps = 0;      ///< of a gated one: steps, the last ones, of the first half alone
  std::string norm;       ///< empty, rms_norm, layer_norm or layer_norm_without_bias
  std::string input = ""; ///< elements of lhs where it is normalized
  bool rhsIsConstant = false;
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
int outputs(const Product &p) { return p.gated ? p.n / 2 : p.n; }
long long outStride(const Product &p) { return outputs(p) + p.padding; }

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
    result["tile"] = std::to_string(p.tile);
    result["lhsTransposed"] = p.lhsTransposed ? "true" : "false";
    result["plain"] = p.plain ? "true" : "false";
  } else {
    result["rhsIsConstant"] = p.rhsIsConstant ? "true" : "false";
    if (!p.norm.empty()) {
      result["Input"] = p.input;
      result["NormWeight"] = kF32;
      result["normCenters"] = p.norm == "rms_norm" ? "false" : "true";
      result["normEps"] = "1e-3";
      if (p.norm == "layer_norm")
        result["NormBias"] = kBf16;
    }
  }
  const std::map<std::string, std::string> names = {
      {"bias", "Bias<float>"},   {"add", "Add<float, " + std::to_string(p.n) + ">"},
      {"gelu", "Gelu"},          {"multiply", "Multiply<float, " + std::to_string(p.n) + ">"},
      {"gelu_tanh", "GeluTanh"}, {"silu", "Silu"},
      {"relu", "Relu"}};
  int operands = 0;
  auto chain = [&](size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      text += (text.empty() ? "sinter::" : ", sinter::") + names.at(p.steps[i]);
      if (names.at(p.steps[i]).find('<') != std::string::npos)
        result["Operand" + std::to_string(operands++)] = kF32;
    }
    return "sinter::Epilogue<" + text + ">";
  };
  size_t both = p.steps.size() - size_t(p.gateSteps);
  std::string first = chain(0, both);
  result["Epilogue"] = !p.gated ? first
                                : "sinter::GatedEpilogue<" + first + ", " +
                                      chain(both, p.steps.size()) + ", sinter::Epilogue<>>";
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

/// The rows of a norm as the product reads them, rounded to its elements.
void normalize(const Product &p, HostTensor &lhs, const HostTensor &weight,
               const HostTensor &bias) {
  lhs.type = p.element;
  bool centers = p.norm != "rms_norm", adds = p.norm == "layer_norm";
  for (int i = 0; i < p.m; ++i) {
    double *row = &lhs.values[i * lhsStride(p)], center = 0, square = 0;
    for (int l = 0; centers && l < p.k; ++l)
      center += row[l] / p.k;
    for (int l = 0; l < p.k; ++l)
      square += (row[l] - center) * (row[l] - center) / p.k;
    for (int l = 0; l < p.k; ++l)
      row[l] = lhs.round((row[l] - center) / std::sqrt(square + 1e-3) * weight.values[l] +
                         (adds ? bias.values[l] : 0));
  }
}

void expectReference(TestKernels &kernels, const std::string &name, const Product &p,
                     simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  std::mt19937 engine(3);
  double deviation = p.norm.empty() ? 1 / std::sqrt(double(p.k)) : 1;
  HostTensor lhs =
      HostTensor::random(p.norm.empty() ? p.element : p.input,
                         lhsStride(p) * (p.lhsTransposed ? p.k : p.m), engine, deviation);
  HostTensor rhs = HostTensor::random(p.element, rhsStride(p) * (p.rhsTransposed ? p.n : p.k),
                                      engine, p.norm.empty() ? 1 : 1 / std::sqrt(double(p.k)));
  HostTensor out(p.out, outStride(p) * p.m);
  // What lies between rows must not change.
  std::fill(out.values.begin(), out.values.end(), 123);
  std::vector<HostTensor> operands;
  for (const std::string &step : p.steps)
    if (step == "bias" || step == "add" || step == "multiply")
      operands.push_back(
          HostTensor::random(kF32, step == "bias" ? p.n : size_t(p.m) * p.n, engine));
  HostTensor normWeight = HostTensor::random(kF32, p.k, engine);
  HostTensor normBias = HostTensor::random(kBf16, p.k, engine);

  HostTensor multiplied = lhs;
  if (!p.norm.empty())
    normalize(p, multiplied, normWeight, normBias);
  std::vector<double> expected = out.values;
  for (int i = 0; i < p.m; ++i) {
    auto compute = [&](int j) {
      double sum = 0;
      for (int l = 0; l < p.k; ++l)
        sum += multiplied.values[p.lhsTransposed ? l * lhsStride(p) + i : i * lhsStride(p) + l] *
               rhs.values[p.rhsTransposed ? j * rhsStride(p) + l : l * rhsStride(p) + j];
      size_t next = 0, steps = p.steps.size() - size_t(j >= outputs(p) ? p.gateSteps : 0);
      for (const std::string &step : std::vector(p.steps.begin(), p.steps.begin() + steps)) {
        bool isBias = step == "bias", reads = isBias || step == "add" || step == "multiply";
        sum = apply(step, sum, reads ? operands[next].values[isBias ? j : i * p.n + j] : 0);
        next += reads;
      }
      return sum;
    };
    for (int j = 0; j < outputs(p); ++j)
      expected[i * outStride(p) + j] = compute(j) * (p.gated ? compute(j + outputs(p)) : 1);
  }

  std::vector<HostTensor *> tensors = {&lhs, &rhs};
  if (!p.norm.empty())
    tensors.push_back(&normWeight);
  if (p.norm == "layer_norm")
    tensors.push_back(&normBias);
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
      // One, two and sixteen warps share a sum; two and three groups of columns a block.
      {"f32_rounds", product(kF32, 3, 9000, 8, true, {"relu"})},
      {"f32_rounds_splits", product(kF32, 1, 4400, 512, true, {"gelu"})},
      {"bf16_splits", product(kBf16, 1, 100, 4096, true)},
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
  for (auto &[name, product] : result)
    product.rhsIsConstant = name.find("plain") != std::string::npos;
  return result;
}

/// Products that normalize their rows, that gate, and both, for every number of rows.
std::map<std::string, Product> makeFusedGemvs() {
  std::map<std::string, Product> result;
  auto normed = [&](const std::string &name, Product p, const char *norm, const char *input) {
    p.norm = norm;
    p.input = input;
    result[name] = p;
  };
  auto gated = [](Product p, int gateSteps) {
    p.gated = true;
    p.gateSteps = gateSteps;
    return p;
  };
  const char *norms[] = {"rms_norm", "layer_norm", "layer_norm_without_bias"};
  const char *elements[] = {kBf16, kF32, kF16};
  for (int m = 1; m <= 8; ++m)
    normed("rows_" + std::to_string(m),
           product(elements[m % 3], m, 10 + m, m % 2 ? 136 : 77, true, {"bias"}), norms[m / 3 % 3],
           kF32);
  normed("one", product(kF32, 1, 1, 1, true), "layer_norm", kF32);
  normed("bf16_rows_as_stored", product(kBf16, 2, 9, 264, true), "rms_norm", kBf16);
  normed("padded", product(kBf16, 3, 24, 64, true, {"add"}), "layer_norm", kF32);
  result["padded"].padding = 3;
  normed("plain", product(kBf16, 4, 72, 100, false, {"bias"}), "layer_norm", kF32);
  normed("plain_unaligned", product(kF32, 1, 35, 65, false), "rms_norm", kF32);
  normed("many_rounds", product(kF16, 1, 4300, 24, true), "rms_norm", kF32);
  normed("many_rounds_plain", product(kF32, 1, 32 * 530, 5, false), "rms_norm", kF32);
  normed("gated_many_rounds", gated(product(kF32, 5, 8500, 8, true, {"silu"}), 1), "rms_norm",
         kF32);
  normed("gated_norm", gated(product(kBf16, 1, 352, 128, true, {"silu"}), 1), "rms_norm", kF32);
  result["gated"] = gated(product(kF16, 1, 30, 264, true, {"silu"}), 1);
  result["gated_rows"] = gated(product(kF32, 7, 30, 100, true, {"bias", "gelu_tanh"}), 1);
  result["gated_alone"] = gated(product(kF32, 2, 6, 9, true, {"bias"}), 0);
  result["gated_large"] = gated(product(kBf16, 3, 4300, 16, true, {"gelu"}), 1);
  result["gated_plain"] = gated(product(kBf16, 2, 80, 70, false, {"bias", "silu"}), 1);
  result["gated_plain_unaligned"] = gated(product(kF32, 8, 38, 33, false, {"relu"}), 1);
  for (auto &[name, product] : result)
    product.rhsIsConstant = name.size() % 2 == 0;
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

/// Few of each kind, for every tile that a device may choose.
std::map<std::string, Product> makeTiledGemms() {
  std::map<std::string, Product> result;
  for (int tile : {64, 128}) {
    auto add = [&](const std::string &name, Product p) {
      p.tile = tile;
      result[name + "_" + std::to_string(tile)] = p;
    };
    add("bf16", product(kBf16, 150, 136, 104, true, {"bias", "gelu"}));
    add("bf16_few", product(kBf16, 20, 24, 40, false));
    add("f32", product(kF32, 70, 131, 45, false, {"add"}));
  }
  return result;
}
} // namespace

TEST(Gemv, IsAProductAndItsEpilogue) { expectReferences("gemv", makeGemvs(), false); }

TEST(Gemv, TouchesOnlyWhatItMay) {
  auto products = makeGemvs();
  for (const char *large : {"f32_rounds", "f32_rounds_splits"})
    products.erase(large);
  expectReferences("gemv", products, true);
}

TEST(Gemv, NormalizesItsRowsAndMultipliesItsHalves) {
  expectReferences("gemv", makeFusedGemvs(), false);
}

TEST(Gemv, NormalizesInItsOwnMemory) {
  auto products = makeFusedGemvs();
  std::erase_if(products, [](const auto &each) { return each.second.n > 1000; });
  expectReferences("gemv", products, true);
}

TEST(Gemm, IsAProductAndItsEpilogue) { expectReferences("gemm", makeGemms(), false); }

TEST(Gemm, TouchesOnlyWhatItMay) {
  auto products = makeGemms();
  for (const char *large : {"bf16_large", "f32_large"})
    products.erase(large);
  expectReferences("gemm", products, true);
}

TEST(Gemm, OfEveryTileIsAProduct) {
  for (bool checked : {false, true})
    expectReferences("gemm", makeTiledGemms(), checked);
}
