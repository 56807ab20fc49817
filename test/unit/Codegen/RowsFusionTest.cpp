//===- RowsFusionTest.cpp - Rotations, caches, random fusions ----------------===//

#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
/// Slots of different lengths; the last one's chunk does not fit into its cache altogether.
ReferenceTensor makeRagged(unsigned index, RankedTensorType type) {
  if (!type.getElementType().isInteger(32))
    return makeNormal(type, index);
  ReferenceTensor numbers(type);
  for (int64_t i = 0; i < numbers.getNumElements(); ++i)
    numbers[i] = index % 2 == 0 ? 3 * i : 4 - i; // start, count
  numbers[numbers.getNumElements() - 1] = index % 2 == 0 ? 18 : 4;
  return numbers;
}

std::string makeAppend(const std::string &type, const std::string &layout) {
  std::string cache = "tensor<3x20x2x24x" + type + ", " + layout + ">";
  return R"(
func.func private @kernel(%start: tensor<3xi32>, %count: tensor<3xi32>, %qkv: tensor<3x4x192xf32>, %cos: tensor<32x8xf32>, %sin: tensor<32x8xf32>, %kc: )" +
         cache + ", %vc: " + cache + ") -> (tensor<3x4x4x24xf32>, " + cache + ", " + cache +
         R"() attributes {sinter.kernel = "rows"} {
  %q0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 0>} : (tensor<3x4x192xf32>) -> tensor<3x4x96xf32>
  %q1 = sinter.reshape %q0 : (tensor<3x4x96xf32>) -> tensor<3x4x4x24xf32>
  %q = sinter.rotary %q1, %cos, %sin, %start : (tensor<3x4x4x24xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<3xi32>) -> tensor<3x4x4x24xf32>
  %k0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 96>} : (tensor<3x4x192xf32>) -> tensor<3x4x48xf32>
  %k1 = sinter.reshape %k0 : (tensor<3x4x48xf32>) -> tensor<3x4x2x24xf32>
  %k = sinter.rotary %k1, %cos, %sin, %start : (tensor<3x4x2x24xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<3xi32>) -> tensor<3x4x2x24xf32>
  %v0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 144>} : (tensor<3x4x192xf32>) -> tensor<3x4x48xf32>
  %v = sinter.reshape %v0 : (tensor<3x4x48xf32>) -> tensor<3x4x2x24xf32>
  %kr = sinter.cache_append %kc, %k, %start, %count : ()" +
         cache + ", tensor<3x4x2x24xf32>, tensor<3xi32>, tensor<3xi32>) -> " + cache + R"(
  %vr = sinter.cache_append %vc, %v, %start, %count : ()" +
         cache + ", tensor<3x4x2x24xf32>, tensor<3xi32>, tensor<3xi32>) -> " + cache + R"(
  return %q, %kr, %vr : tensor<3x4x4x24xf32>, )" +
         cache + ", " + cache + "\n}";
}
} // namespace

TEST(RowsFusion, RotationsAndCaches) {
  for (const char *layout :
       {"#sinter.key_panels<width = 16, interleave = 1>", "#sinter.head_major"})
    expectSameAsReference(makeAppend("f32", layout), 2e-7, {}, makeRagged);
  for (const char *layout :
       {"#sinter.key_panels<width = 16, interleave = 2>", "#sinter.head_major"})
    expectSameAsReference(makeAppend("bf16", layout), 4e-3, {}, makeRagged);
}

TEST(RowsFusion, InterleavedRotation) {
  expectSameAsReference(R"(
func.func private @kernel(%start: tensor<2xi32>, %x: tensor<2x3x2x20xf32>, %cos: tensor<5x8xf32>, %sin: tensor<5x8xf32>) -> tensor<2x3x2x20xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rotary %x, %cos, %sin, %start {interleaved} : (tensor<2x3x2x20xf32>, tensor<5x8xf32>, tensor<5x8xf32>, tensor<2xi32>) -> tensor<2x3x2x20xf32>
  return %0 : tensor<2x3x2x20xf32>
})",
                        2e-7, {}, makeRagged);
}

TEST(RowsFusion, NormThenRotation) {
  expectSameAsReference(R"(
func.func private @kernel(%start: tensor<2xi32>, %x: tensor<2x3x96xf32>, %w: tensor<48xf32>, %cos: tensor<50x24xf32>, %sin: tensor<50x24xf32>) -> tensor<2x3x2x48xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reshape %x : (tensor<2x3x96xf32>) -> tensor<2x3x2x48xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-6} : (tensor<2x3x2x48xf32>, tensor<48xf32>) -> tensor<2x3x2x48xf32>
  %2 = sinter.rotary %1, %cos, %sin, %start : (tensor<2x3x2x48xf32>, tensor<50x24xf32>, tensor<50x24xf32>, tensor<2xi32>) -> tensor<2x3x2x48xf32>
  %3 = sinter.cast %2 : (tensor<2x3x2x48xf32>) -> tensor<2x3x2x48xbf16>
  return %3 : tensor<2x3x2x48xbf16>
})",
                        4e-3, {}, makeRagged);
}

// Chains of ops chosen at random, values kept small; every value can be used again.
TEST(RowsFusion, RandomOps) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    unsigned widths[] = {1, 3, 17, 48, 63, 64, 65, 130};
    unsigned width = widths[below(8)], rows = 1 + below(4);
    std::string type = llvm::formatv("tensor<{0}x{1}xf32>", rows, width);
    std::string perRow = llvm::formatv("tensor<{0}xf32>", rows);
    std::vector<std::string> values{"%x", "%y"};
    std::string body;
    unsigned next = 0;
    auto add = [&](const std::string &op, const std::string &signature) {
      std::string name = "%" + std::to_string(next++);
      body += "  " + name + " = sinter." + op + " : " + signature + "\n";
      return name;
    };
    auto any = [&] { return values[below(values.size())]; };
    std::string one = "(" + type + ") -> " + type, two = "(" + type + ", " + type + ") -> " + type;
    for (unsigned step = 0; step < 10; ++step) {
      const char *unary[] = {"neg", "sigmoid", "tanh", "gelu", "silu", "relu"};
      const char *binary[] = {"add", "sub", "mul", "maximum", "minimum"};
      const char *reductions[] = {"mean", "max"};
      switch (below(5)) {
      case 0:
      case 1:
        values.push_back(add(unary[below(6)] + (" " + any()), one));
        break;
      case 2:
        values.push_back(
            add("tanh " + add(binary[below(5)] + (" " + any() + ", " + any()), two), one));
        break;
      case 3: {
        std::string reduced = add(std::string("reduce ") + reductions[below(2)] + " " + any(),
                                  "(" + type + ") -> " + perRow);
        values.push_back(
            add("broadcast " + reduced + " {dims = array<i64: 0>}", "(" + perRow + ") -> " + type));
        break;
      }
      case 4: {
        if (width == 1)
          break;
        unsigned cut = 1 + below(width - 1);
        std::string left = llvm::formatv("tensor<{0}x{1}xf32>", rows, cut);
        std::string right = llvm::formatv("tensor<{0}x{1}xf32>", rows, width - cut);
        std::string a =
            add("slice " + any() + " {offsets = array<i64: 0, 0>}", "(" + type + ") -> " + left);
        std::string b =
            add("slice " + any() + " {offsets = array<i64: 0, " + std::to_string(cut) + ">}",
                "(" + type + ") -> " + right);
        values.push_back(add("concat " + b + ", " + a + " {dim = 1}",
                             "(" + right + ", " + left + ") -> " + type));
        break;
      }
      }
    }
    std::string last = values.back(), other = any();
    expectSameAsReference("func.func private @kernel(%x: " + type + ", %y: " + type + ") -> (" +
                              type + ", " + type + ") attributes {sinter.kernel = \"rows\"} {\n" +
                              body + "  return " + last + ", " + other + " : " + type + ", " +
                              type + "\n}",
                          2e-6);
  }
}
