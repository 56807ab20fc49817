// GEMVs whose columns are heads: rotated, and written to rows of their own or into
// caches (heads.cuh).
#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct Part {
  std::string type;
  int heads;
  bool rotates;
  int maxSequence; ///< 0 for rows of its own
};

struct HeadsCase {
  std::string element = kBf16;
  int slots = 1, tokens = 1, k = 64;
  int size = 16, rotated = 16;
  bool interleaved = false, rhsTransposed = true, biased = false, normalized = false;
  int positions = 40;
  std::vector<Part> parts;
  std::vector<int> start, count; ///< of each slot

  int rows() const { return slots * tokens; }
  int columns() const {
    int heads = 0;
    for (const Part &part : parts)
      heads += part.heads;
    return heads * size;
  }
};

Parameters getParameters(const HeadsCase &c) {
  auto text = [](auto value) { return std::to_string(value); };
  auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string heads = "sinter::Heads<" + text(c.size) + ", " + text(c.rotated) + ", " +
                      flag(c.interleaved) + ", " + text(c.tokens) + ", " + text(c.positions);
  for (const Part &part : c.parts)
    heads += ", sinter::HeadPart<" + part.type + ", " + text(part.heads) + ", " +
             flag(part.rotates) + ", " + text(part.maxSequence) + ">";
  Parameters result = {{"Element", c.element},
                       {"Out", c.parts[0].type},
                       {"m", text(c.rows())},
                       {"n", text(c.columns())},
                       {"k", text(c.k)},
                       {"rhsTransposed", flag(c.rhsTransposed)},
                       {"rhsIsConstant", flag(c.biased)},
                       {"Heads", heads + ">"}};
  if (c.biased) {
    result["Epilogue"] = "sinter::Epilogue<sinter::Bias<float>>";
    result["Operand0"] = kF32;
  }
  if (c.normalized) {
    result["Input"] = result["NormWeight"] = kF32;
    result["normEps"] = "1e-3";
  }
  return result;
}

void expectHeadsReference(TestKernels &kernels, const std::string &name, const HeadsCase &c,
                          simt::Schedule::Order order) {
  SCOPED_TRACE(name);
  std::mt19937 engine(5);
  const int m = c.rows(), n = c.columns(), k = c.k;
  HostTensor lhs = HostTensor::random(c.normalized ? kF32 : c.element, size_t(m) * k, engine);
  HostTensor rhs = HostTensor::random(c.element, size_t(n) * k, engine, 1 / std::sqrt(double(k)));
  HostTensor weight = HostTensor::random(kF32, k, engine),
             bias = HostTensor::random(kF32, n, engine);
  HostTensor cos(kF32, size_t(c.positions) * (c.rotated / 2)), sin = cos;
  for (size_t i = 0; i < cos.values.size(); ++i) {
    cos.values[i] = cos.round(std::cos(0.37 * double(i)));
    sin.values[i] = sin.round(std::sin(0.37 * double(i)));
  }
  HostTensor start = HostTensor::of("int", c.start), count = HostTensor::of("int", c.count);
  std::vector<HostTensor> outs, expected;
  for (size_t i = 0; i < 3; ++i) {
    // What is not written keeps its value: other positions of a cache, and outs that no part has.
    const Part none{kF32, 1, false, 0}, &part = i < c.parts.size() ? c.parts[i] : none;
    outs.push_back(HostTensor::random(
        part.type, size_t(part.maxSequence ? c.slots * part.maxSequence : m) * part.heads * c.size,
        engine));
  }
  expected = outs;

  HostTensor multiplied = lhs;
  multiplied.type = c.element;
  for (int i = 0; c.normalized && i < m; ++i) {
    double square = 0;
    for (int l = 0; l < k; ++l)
      square += lhs.values[i * k + l] * lhs.values[i * k + l] / k;
    for (int l = 0; l < k; ++l)
      multiplied.values[i * k + l] =
          multiplied.round(lhs.values[i * k + l] / std::sqrt(square + 1e-3) * weight.values[l]);
  }
  auto multiply = [&](int i, int j) {
    double sum = c.biased ? bias.values[j] : 0;
    for (int l = 0; l < k; ++l)
      sum += multiplied.values[i * k + l] * rhs.values[c.rhsTransposed ? j * k + l : l * n + j];
    return sum;
  };
  for (int i = 0; i < m; ++i) {
    const int slot = i / c.tokens, token = i % c.tokens, at = c.start[slot] + token;
    const int position = std::clamp(at, 0, c.positions - 1), half = c.rotated / 2;
    int column = 0;
    for (size_t p = 0; p < c.parts.size(); ++p) {
      const Part &part = c.parts[p];
      for (int j = 0; j < part.heads * c.size; ++j, ++column) {
        const int e = j % c.size;
        double value = multiply(i, column);
        if (part.rotates && e < c.rotated) {
          const bool isFirst = c.interleaved ? e % 2 == 0 : e < half;
          const int partner = (isFirst ? 1 : -1) * (c.interleaved ? 1 : half);
          const int angle = position * half + (c.interleaved ? e / 2 : e % half);
          value = value * cos.values[angle] +
                  (isFirst ? -1 : 1) * multiply(i, column + partner) * sin.values[angle];
        }
        const int width = part.heads * c.size;
        if (part.maxSequence == 0)
          expected[p].values[size_t(i) * width + j] = value;
        else if (token < c.count[slot] && at >= 0 && at < part.maxSequence)
          expected[p].values[(size_t(slot) * part.maxSequence + at) * width + j] = value;
      }
    }
  }

  std::vector<HostTensor *> tensors = {&lhs, &rhs};
  if (c.normalized)
    tensors.push_back(&weight);
  if (c.biased)
    tensors.push_back(&bias);
  for (HostTensor *tensor : {&outs[0], &cos, &sin, &start, &count, &outs[1], &outs[2]})
    tensors.push_back(tensor);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  for (size_t p = 0; p < outs.size(); ++p) {
    double tolerance = outs[p].type == kF32 ? 3e-6 : outs[p].type == kF16 ? 1e-3 : 8e-3;
    EXPECT_LT(distance(outs[p].values, expected[p].values), tolerance) << "part " << p;
  }
}

std::map<std::string, HeadsCase> makeCases() {
  auto attention = [](std::string element, int queries, int keys, int maxSequence) {
    HeadsCase c;
    c.element = element;
    c.parts = {{element, queries, true, 0},
               {element, keys, true, maxSequence},
               {element, keys, false, maxSequence}};
    c.start = {7};
    c.count = {1};
    return c;
  };
  std::map<std::string, HeadsCase> cases = {
      {"grouped", attention(kBf16, 4, 2, 12)},  {"interleaved", attention(kF32, 3, 1, 9)},
      {"partly", attention(kF16, 2, 2, 9)},     {"not_at_all", attention(kF32, 2, 2, 8)},
      {"slots", attention(kBf16, 2, 1, 10)},    {"normed", attention(kBf16, 9, 3, 10)},
      {"plain", attention(kBf16, 2, 2, 10)},    {"plain_partly", attention(kF32, 3, 1, 8)},
      {"only_keys", attention(kBf16, 2, 2, 8)}, {"large", attention(kF32, 70, 30, 8)}};
  cases["interleaved"].interleaved = true;
  cases["partly"].rotated = 6;
  HeadsCase &none = cases["not_at_all"];
  none.rotated = 0;
  none.biased = true;
  for (Part &part : none.parts)
    part.rotates = false;
  // One slot begins before its first position and has one row, one is full, one has none.
  HeadsCase &slots = cases["slots"];
  slots.slots = 3;
  slots.tokens = 2;
  slots.positions = 9; // beyond which the last angles count
  slots.start = {-1, 9, 4};
  slots.count = {2, 2, 0};
  cases["normed"].normalized = true;
  cases["normed"].biased = true;
  cases["normed"].slots = 2;
  cases["normed"].start = {3, 5};
  cases["normed"].count = {1, 1};
  cases["plain"].rhsTransposed = cases["plain_partly"].rhsTransposed = false;
  cases["plain_partly"].rotated = 4;
  cases["plain_partly"].biased = true;
  cases["only_keys"].parts.erase(cases["only_keys"].parts.begin());
  return cases;
}

void expectHeadsReferences(const std::map<std::string, HeadsCase> &cases, bool checked) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> kernels;
  for (const auto &[name, each] : cases)
    kernels[name] = getParameters(each);
  auto compiled = TestKernels::compile(getTemplate("gemv"), kernels, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, each] : cases)
    expectHeadsReference(*compiled, name, each, static_cast<simt::Schedule::Order>(count++ % 3));
}
} // namespace

TEST(Heads, AreRotatedAndWrittenWhereTheyBelong) { expectHeadsReferences(makeCases(), false); }

TEST(Heads, TouchOnlyWhatTheyMay) {
  auto cases = makeCases();
  cases.erase("large");
  expectHeadsReferences(cases, true);
}
