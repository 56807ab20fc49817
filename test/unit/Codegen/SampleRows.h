//===- SampleRows.h - Rows to draw from -------------------------*- C++ -*-===//
#pragma once

#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>
#include <random>

namespace sinter::test {

/// A kernel that draws from so many rows of so many logits.
inline std::string makeSample(int64_t slots, int64_t vocabulary) {
  return llvm::formatv(R"(
func.func private @kernel(%l: tensor<{0}x{1}xf32>, %t: tensor<{0}xf32>, %k: tensor<{0}xi32>, %p: tensor<{0}xf32>, %m: tensor<{0}xf32>, %s: tensor<{0}x2xi32>, %b: tensor<{0}xi32>, %c: tensor<{0}xi32>) -> tensor<{0}xi32> attributes {{sinter.kernel = "sampling"} {{
  %0 = sinter.sample %l, %t, %k, %p, %m, %s, %b, %c : (tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xi32>, tensor<{0}xf32>, tensor<{0}xf32>, tensor<{0}x2xi32>, tensor<{0}xi32>, tensor<{0}xi32>) -> tensor<{0}xi32>
  return %0 : tensor<{0}xi32>
})",
                       slots, vocabulary);
}

/// The operands of a sample, in their order.
enum Operand { kLogits, kTemperature, kTopK, kTopP, kMinP, kSeed, kStart, kCount };

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A logit of a row of some kind.
inline double makeLogit(int kind, int64_t id, std::mt19937 &engine) {
  double normal = static_cast<float>(std::normal_distribution<double>(0, 3)(engine));
  switch (kind) {
  case 1: // many ties
    return std::round(normal / 2);
  case 2: // zeros of both signs are one number
    return id % 2 == 0 ? 0.0 : -0.0;
  case 3: // masked
    return id % 3 == 0 ? -kInfinite : normal;
  case 4:
    return id % 4 == 0 ? kNaN : normal;
  case 5:
    return kNaN;
  case 6:
    return -kInfinite;
  case 7:
    return id % 5 == 1 ? kInfinite : normal;
  case 8: // from end to end of f32
    return static_cast<float>(normal * 5e36);
  case 9: // all negative
    return -std::abs(normal) - 20;
  default:
    return normal;
  }
}

/// Rows of all kinds, sampled in all ways.
inline MakeArgument withRows(int64_t vocabulary, unsigned seed) {
  return [=](unsigned index, mlir::RankedTensorType type) {
    std::mt19937 engine(seed * 16 + index);
    auto oneOf = [&](std::initializer_list<double> values) {
      return values.begin()[engine() % values.size()];
    };
    ReferenceTensor tensor(type);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
      auto size = static_cast<double>(vocabulary);
      switch (index) {
      case kLogits:
        tensor[i] = makeLogit(static_cast<int>(i / vocabulary % 11), i % vocabulary, engine);
        break;
      case kTemperature:
        tensor[i] = static_cast<float>(oneOf({0, 1e-30, 0.01, 0.5, 1, 1, 2.5, 100, 1e30}));
        break;
      case kTopK:
        tensor[i] = oneOf({0, 0, 1, 2, 5, 40, size - 1, size, size + 1});
        break;
      case kTopP:
        tensor[i] = static_cast<float>(oneOf({1e-9, 0.1, 0.5, 0.9, 0.999, 1, 1}));
        break;
      case kMinP:
        tensor[i] = static_cast<float>(oneOf({0, 0, 0, 1e-9, 0.05, 0.3, 1}));
        break;
      default:
        tensor[i] = static_cast<int32_t>(engine());
      }
    }
    return tensor;
  };
}

} // namespace sinter::test
