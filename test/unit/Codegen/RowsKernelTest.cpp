//===- RowsKernelTest.cpp - Rows kernels against their definition ------------===//

#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <numbers>
#include <regex>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {
/// A kernel's text with $names replaced.
std::string fill(std::string text,
                 std::initializer_list<std::pair<const char *, std::string>> values) {
  for (auto &[name, value] : values)
    text = std::regex_replace(text, std::regex("\\$" + std::string(name) + "(?![A-Z])"), value);
  return text;
}

std::string n(int64_t number) { return std::to_string(number); }

constexpr int64_t kWidths[] = {1, 3, 17, 48, 63, 64, 65, 1000};

constexpr const char *kUnary = R"(
func.func private @kernel(%x: tensor<3x65x$TYPE>) -> tensor<3x65x$TYPE> attributes {sinter.kernel = "rows"} {
  %0 = sinter.$OP %x $ATTRIBUTES : (tensor<3x65x$TYPE>) -> tensor<3x65x$TYPE>
  return %0 : tensor<3x65x$TYPE>
})";

constexpr const char *kBinary = R"(
func.func private @kernel(%x: tensor<5x33xf32>, %y: tensor<5x33xf32>) -> tensor<5x33xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.$OP %x, %y : (tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
  return %0 : tensor<5x33xf32>
})";

constexpr const char *kRmsNorm = R"(
func.func private @kernel(%x: tensor<4x$Nx$TYPE>, %w: tensor<$Nxf32>) -> tensor<4x$Nx$TYPE> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<4x$Nx$TYPE>, tensor<$Nxf32>) -> tensor<4x$Nx$TYPE>
  return %0 : tensor<4x$Nx$TYPE>
})";

constexpr const char *kSoftmax = R"(
func.func private @kernel(%x: tensor<3x$Nxf32>) -> tensor<3x$Nxf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reduce max %x : (tensor<3x$Nxf32>) -> tensor<3xf32>
  %1 = sinter.broadcast %0 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x$Nxf32>
  %2 = sinter.sub %x, %1 : (tensor<3x$Nxf32>, tensor<3x$Nxf32>) -> tensor<3x$Nxf32>
  %3 = sinter.exp %2 : (tensor<3x$Nxf32>) -> tensor<3x$Nxf32>
  %4 = sinter.reduce sum %3 : (tensor<3x$Nxf32>) -> tensor<3xf32>
  %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x$Nxf32>
  %6 = sinter.div %3, %5 : (tensor<3x$Nxf32>, tensor<3x$Nxf32>) -> tensor<3x$Nxf32>
  return %6 : tensor<3x$Nxf32>
})";

constexpr const char *kAdamW = R"(
func.func private @kernel(%p: tensor<$SHAPExf32>, %g: tensor<$SHAPExf32>, %m: tensor<$SHAPExf32>, %v: tensor<$SHAPExf32>,
                          %s: tensor<f32>, %r: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>)
    -> (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>) attributes {sinter.kernel = "rows"} {
  %0:4 = sinter.adamw %p, %g, %m, %v, %s, %r, %c, %d {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExf32>
})";

constexpr const char *kNarrowAdamW = R"(
func.func private @kernel(%p: tensor<$SHAPExf32>, %g: tensor<$SHAPExf32>, %m: tensor<$SHAPExbf16>, %v: tensor<$SHAPExbf16>,
                          %s: tensor<f32>, %r: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>, %w: tensor<2xi32>, %t: tensor<2xi32>)
    -> (tensor<$SHAPExf32>, tensor<$SHAPExbf16>, tensor<$SHAPExbf16>, tensor<$SHAPExf32>) attributes {sinter.kernel = "rows"} {
  %0:4 = sinter.adamw %p, %g, %m, %v, %s, %r, %c, %d, %w, %t {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<$SHAPExbf16>, tensor<$SHAPExbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<$SHAPExf32>, tensor<$SHAPExbf16>, tensor<$SHAPExbf16>, tensor<$SHAPExf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<$SHAPExf32>, tensor<$SHAPExbf16>, tensor<$SHAPExbf16>, tensor<$SHAPExf32>
})";

constexpr const char *kNarrowSgd = R"(
func.func private @kernel(%p: tensor<$SHAPExf32>, %g: tensor<$SHAPExf32>, %s: tensor<f32>, %r: tensor<f32>, %v: tensor<$SHAPExbf16>)
    -> (tensor<$SHAPExf32>, tensor<$SHAPExbf16>) attributes {sinter.kernel = "rows"} {
  %0:2 = sinter.sgd %p, %g, %s, %r, %v {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<f32>, tensor<f32>, tensor<$SHAPExbf16>) -> (tensor<$SHAPExf32>, tensor<$SHAPExbf16>)
  return %0#0, %0#1 : tensor<$SHAPExf32>, tensor<$SHAPExbf16>
})";

constexpr const char *kSgd = R"(
func.func private @kernel(%p: tensor<$SHAPExf32>, %g: tensor<$SHAPExf32>, %s: tensor<f32>, %r: tensor<f32>, %v: tensor<$SHAPExf32>)
    -> (tensor<$SHAPExf32>, tensor<$SHAPExf32>) attributes {sinter.kernel = "rows"} {
  %0:2 = sinter.sgd %p, %g, %s, %r, %v {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<$SHAPExf32>, tensor<$SHAPExf32>, tensor<f32>, tensor<f32>, tensor<$SHAPExf32>) -> (tensor<$SHAPExf32>, tensor<$SHAPExf32>)
  return %0#0, %0#1 : tensor<$SHAPExf32>, tensor<$SHAPExf32>
})";

constexpr const char *kSquareSum = R"(
func.func private @kernel(%x: tensor<7x$Nxf32>, %s: tensor<7xf32>) -> tensor<7xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.square_sum %x, %s : (tensor<7x$Nxf32>, tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
})";

/// Values over the whole range that activations meet.
MakeArgument spread(double low, double high) {
  return [=](unsigned, RankedTensorType type) {
    ReferenceTensor tensor(type);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor[i] = static_cast<float>(low + (high - low) * i /
                                               std::max<int64_t>(1, tensor.getNumElements() - 1));
    tensor.round();
    return tensor;
  };
}
} // namespace

TEST(RowsKernel, UnaryOps) {
  for (const char *op : {"neg", "exp", "tanh", "sigmoid", "relu", "silu", "gelu"})
    for (double range : {0.01, 1.0, 20.0})
      expectSameAsReference(fill(kUnary, {{"OP", op}, {"ATTRIBUTES", ""}, {"TYPE", "f32"}}), 4e-7,
                            {}, spread(-range, range));
  for (const char *op : {"gelu", "gelu_derivative"})
    for (double range : {0.01, 1.0, 20.0})
      expectSameAsReference(fill(kUnary, {{"OP", op}, {"ATTRIBUTES", "{tanh}"}, {"TYPE", "f32"}}),
                            4e-7, {}, spread(-range, range));
  expectSameAsReference(
      fill(kUnary, {{"OP", "softcap"}, {"ATTRIBUTES", "{cap = 30.0}"}, {"TYPE", "f32"}}), 4e-7, {},
      spread(-100, 100));
  expectSameAsReference(fill(kUnary, {{"OP", "rsqrt"}, {"ATTRIBUTES", ""}, {"TYPE", "f32"}}), 2e-7,
                        {}, spread(1e-3, 100));
}

TEST(RowsKernel, SixteenBitTypes) {
  for (const char *type : {"bf16", "f16"})
    for (const char *op : {"gelu", "silu", "neg"})
      expectSameAsReference(fill(kUnary, {{"OP", op}, {"ATTRIBUTES", ""}, {"TYPE", type}}), 2e-3);
}

TEST(RowsKernel, ExpFromEndToEnd) {
  std::string text = fill(kUnary, {{"OP", "exp"}, {"ATTRIBUTES", ""}, {"TYPE", "f32"}});
  KernelJit jit(getContext(), text, getHostTarget());
  ASSERT_EQ(jit.getError(), "");
  std::vector<float> x(195), y(195);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = -86.5f + 175.0f * i / x.size();
  x[0] = -HUGE_VALF;
  x[1] = -1e30f;
  x[2] = HUGE_VALF;
  x[3] = NAN;
  x[4] = 88.7f;
  x[5] = 89.0f;
  void *slices[] = {x.data(), y.data()};
  jit.run(slices, 0, jit.getGrid());
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], HUGE_VALF);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[5], HUGE_VALF);
  for (size_t i = 4; i < x.size(); ++i)
    if (i != 5)
      EXPECT_NEAR(y[i] / std::exp(double(x[i])), 1.0, 2.4e-7) << x[i];
}

// Its power of two goes from 0 to infinity.
TEST(RowsKernel, GeluFromEndToEnd) {
  std::string text = fill(kUnary, {{"OP", "gelu"}, {"ATTRIBUTES", "{tanh}"}, {"TYPE", "f32"}});
  KernelJit jit(getContext(), text, getHostTarget());
  ASSERT_EQ(jit.getError(), "");
  std::vector<float> x(195), y(195);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = -13.0f + 26.0f * i / x.size();
  x[0] = -1e30f;
  x[1] = 1e30f;
  x[2] = HUGE_VALF;
  x[3] = NAN;
  void *slices[] = {x.data(), y.data()};
  jit.run(slices, 0, jit.getGrid());
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 1e30f);
  EXPECT_EQ(y[2], HUGE_VALF);
  EXPECT_TRUE(std::isnan(y[3]));
  for (size_t i = 4; i < x.size(); ++i) {
    double u = std::sqrt(2 / std::numbers::pi) * (x[i] + 0.044715 * std::pow(double(x[i]), 3));
    double gelu = x[i] / (1 + std::exp(-2 * u));
    // The exponent is rounded, up to 100 of it.
    EXPECT_NEAR(y[i], gelu, 1.5e-7 * (1 + std::abs(2 * u)) * std::abs(gelu) + 1e-37) << x[i];
  }
}

TEST(RowsKernel, BinaryOps) {
  for (const char *op : {"add", "sub", "mul", "div", "maximum", "minimum"})
    expectSameAsReference(fill(kBinary, {{"OP", op}}), 1e-7);
}

TEST(RowsKernel, OptimizersInPlace) {
  // The scale is positive and finite, or a NaN that must leave everything as it was.
  for (double scale : {0.5, std::nan("")})
    for (const char *shape : {"65", "5x33", "3x64"}) {
      auto make = [&](unsigned index, RankedTensorType type) {
        ReferenceTensor tensor = makeNormal(type, index);
        for (double &value : tensor.data())
          value = type.getElementType().isInteger(32) ? 1e9 * (value > 0 ? 1 : -2) + index
                  : type.getRank() > 0                ? (index == 3 ? value * value : value)
                  : index == 4                        ? scale
                                                      : 0.25;
        tensor.round();
        return tensor;
      };
      expectSameAsReference(fill(kAdamW, {{"SHAPE", shape}}), 4e-7, {}, make);
      // Where f32's last bit decides how a state is rounded, the reference may have another one.
      expectSameAsReference(fill(kNarrowAdamW, {{"SHAPE", shape}}), 4e-4, {}, make);
    }
  expectSameAsReference(fill(kSgd, {{"SHAPE", "5x33"}}), 4e-7);
  expectSameAsReference(fill(kNarrowSgd, {{"SHAPE", "5x33"}}), 4e-4);
  for (int64_t width : {1, 33, 1000})
    expectSameAsReference(fill(kSquareSum, {{"N", n(width)}}), 4e-7);
}

TEST(RowsKernel, RowsOfAllWidths) {
  for (int64_t width : kWidths) {
    expectSameAsReference(fill(kRmsNorm, {{"N", n(width)}, {"TYPE", "f32"}}), 4e-7);
    expectSameAsReference(fill(kSoftmax, {{"N", n(width)}}), 4e-7);
  }
  for (int64_t width : {17, 64, 65})
    expectSameAsReference(fill(kRmsNorm, {{"N", n(width)}, {"TYPE", "bf16"}}), 4e-3);
}

TEST(RowsKernel, NarrowVectors) {
  for (int64_t width : {3, 65})
    for (int64_t bits : {128, 256}) {
      expectSameAsReference(fill(kRmsNorm, {{"N", n(width)}, {"TYPE", "bf16"}}), 4e-3,
                            getHostTarget(bits));
      expectSameAsReference(fill(kSoftmax, {{"N", n(width)}}), 4e-7, getHostTarget(bits));
    }
}

TEST(RowsKernel, SpeedPassesOnlySpeedUp) {
  for (int64_t width : {1, 65})
    expectSameAsReference(fill(kSoftmax, {{"N", n(width)}}), 4e-7, {}, {}, /*speedPasses=*/false);
}

TEST(RowsKernel, LayerNorm) {
  for (const char *bias : {"", ", %b"})
    expectSameAsReference(fill(R"(
func.func private @kernel(%x: tensor<2x3x200xf32>, %w: tensor<200xbf16>, %b: tensor<200xbf16>) -> tensor<2x3x200xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.layer_norm %x, %w $BIAS {eps = 1.0e-5} : (tensor<2x3x200xf32>, tensor<200xbf16> $TYPE) -> tensor<2x3x200xf32>
  return %0 : tensor<2x3x200xf32>
})",
                               {{"BIAS", bias}, {"TYPE", *bias ? ", tensor<200xbf16>" : ""}}),
                          4e-7);
}

// As many as matrices of experts are.
TEST(RowsKernel, ManyParts) {
  constexpr int count = 120;
  std::string arguments, operands, types;
  for (int i = 0; i < count; ++i) {
    std::string separator = i == 0 ? "" : ", ", name = "%x" + std::to_string(i);
    std::string type = "tensor<" + std::to_string(1 + i % 2) + "x4xf32>";
    arguments += separator + name + ": " + type;
    operands += separator + name;
    types += separator + type;
  }
  expectSameAsReference(llvm::formatv(R"(
func.func private @kernel({0}) -> tensor<180x4xbf16> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.concat {1} {{dim = 0} : ({2}) -> tensor<180x4xf32>
  %1 = sinter.cast %0 : (tensor<180x4xf32>) -> tensor<180x4xbf16>
  return %1 : tensor<180x4xbf16>
})",
                                      arguments, operands, types)
                            .str(),
                        4e-3);
}

// Of few long rows, parts are work items on a GPU: what rows of a window become, and a number
// beside them.
TEST(RowsKernel, FewLongRows) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<1x1024xf32>, %window: tensor<3x1024xf32>, %w: tensor<1x2048xf32>, %n: tensor<1xf32>) -> (tensor<1xf32>, tensor<1x1024xf32>, tensor<1x3x1024xf32>, tensor<1x2048xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.exp %n : (tensor<1xf32>) -> tensor<1xf32>
  %1 = sinter.concat %window, %x {dim = 0} : (tensor<3x1024xf32>, tensor<1x1024xf32>) -> tensor<4x1024xf32>
  %2 = sinter.slice %1 {offsets = array<i64: 1, 0>} : (tensor<4x1024xf32>) -> tensor<3x1024xf32>
  %3 = sinter.reshape %2 : (tensor<3x1024xf32>) -> tensor<1x3x1024xf32>
  %4 = sinter.slice %w {offsets = array<i64: 0, 1024>} : (tensor<1x2048xf32>) -> tensor<1x1024xf32>
  %5 = sinter.mul %x, %4 : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %6 = sinter.mul %w, %w : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
  return %0, %5, %3, %6 : tensor<1xf32>, tensor<1x1024xf32>, tensor<1x3x1024xf32>, tensor<1x2048xf32>
})",
                        4e-7);
}

TEST(RowsKernel, IndexOps) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<4x6x10xf32>, %y: tensor<4x6x7xf32>, %z: tensor<17xf32>) -> tensor<6x4x17xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.concat %y, %x {dim = 2} : (tensor<4x6x7xf32>, tensor<4x6x10xf32>) -> tensor<4x6x17xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x6x17xf32>) -> tensor<6x4x17xf32>
  %2 = sinter.broadcast %z {dims = array<i64: 2>} : (tensor<17xf32>) -> tensor<6x4x17xf32>
  %3 = sinter.mul %1, %2 : (tensor<6x4x17xf32>, tensor<6x4x17xf32>) -> tensor<6x4x17xf32>
  return %3 : tensor<6x4x17xf32>
})",
                        1e-7);
  // Along rows, with a boundary inside; the operand's columns become rows.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<3x20xf32>, %y: tensor<20x2xf32>) -> tensor<5x10xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.transpose %y {permutation = array<i64: 1, 0>} : (tensor<20x2xf32>) -> tensor<2x20xf32>
  %1 = sinter.concat %x, %0 {dim = 0} : (tensor<3x20xf32>, tensor<2x20xf32>) -> tensor<5x20xf32>
  %2 = sinter.slice %1 {offsets = array<i64: 0, 5>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  return %2 : tensor<5x10xf32>
})",
                        1e-7);
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<6x35xf32>) -> tensor<14x15xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reshape %x : (tensor<6x35xf32>) -> tensor<14x15xf32>
  %1 = sinter.neg %0 : (tensor<14x15xf32>) -> tensor<14x15xf32>
  return %1 : tensor<14x15xf32>
})",
                        1e-7);
}

// In squares of 16 or 8, beside which rows and columns are left.
TEST(RowsKernel, TurnedMatrices) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (auto [rows, columns] : {std::pair(35, 42), {16, 32}, {7, 50}})
      expectSameAsReference(fill(R"(
func.func private @kernel(%x: tensor<$Mx$Nx$TYPE>, %y: tensor<$Nx$Mxf32>, %z: tensor<$Nxf32>) -> tensor<$Nx$Mxbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<$Mx$Nx$TYPE>) -> tensor<$Nx$Mx$TYPE>
  %1 = sinter.cast %0 : (tensor<$Nx$Mx$TYPE>) -> tensor<$Nx$Mxf32>
  %2 = sinter.add %1, %y : (tensor<$Nx$Mxf32>, tensor<$Nx$Mxf32>) -> tensor<$Nx$Mxf32>
  %3 = sinter.broadcast %z {dims = array<i64: 0>} : (tensor<$Nxf32>) -> tensor<$Nx$Mxf32>
  %4 = sinter.mul %2, %3 : (tensor<$Nx$Mxf32>, tensor<$Nx$Mxf32>) -> tensor<$Nx$Mxf32>
  %5 = sinter.cast %4 : (tensor<$Nx$Mxf32>) -> tensor<$Nx$Mxbf16>
  return %5 : tensor<$Nx$Mxbf16>
})",
                                 {{"M", n(rows)}, {"N", n(columns)}, {"TYPE", type}}),
                            4e-3);
}

TEST(RowsKernel, TurnedMatricesOfSeveral) {
  for (int64_t columns : {32, 48, 20})
    expectSameAsReference(fill(R"(
func.func private @kernel(%x: tensor<3x19x$Nxf32>) -> tensor<3x$Nx19xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<3x19x$Nxf32>) -> tensor<3x$Nx19xf32>
  %1 = sinter.cast %0 : (tensor<3x$Nx19xf32>) -> tensor<3x$Nx19xbf16>
  return %1 : tensor<3x$Nx19xbf16>
})",
                               {{"N", n(columns)}}),
                          4e-3);
}

TEST(RowsKernel, NormsOfHeadsInsideARow) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<2x3x128xf32>, %w: tensor<32xf32>) -> tensor<2x3x128xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reshape %x : (tensor<2x3x128xf32>) -> tensor<2x3x4x32xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-6} : (tensor<2x3x4x32xf32>, tensor<32xf32>) -> tensor<2x3x4x32xf32>
  %2 = sinter.reshape %1 : (tensor<2x3x4x32xf32>) -> tensor<2x3x128xf32>
  return %2 : tensor<2x3x128xf32>
})",
                        4e-7);
}

TEST(RowsKernel, SeveralResults) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<2x5x70xf32>, %y: tensor<2x5x70xf32>, %w: tensor<70xf32>) -> (tensor<2x5x70xf32>, tensor<2x5x70xbf16>, tensor<2x5xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %y : (tensor<2x5x70xf32>, tensor<2x5x70xf32>) -> tensor<2x5x70xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<2x5x70xf32>, tensor<70xf32>) -> tensor<2x5x70xf32>
  %2 = sinter.cast %1 : (tensor<2x5x70xf32>) -> tensor<2x5x70xbf16>
  %3 = sinter.reduce mean %1 : (tensor<2x5x70xf32>) -> tensor<2x5xf32>
  return %0, %2, %3 : tensor<2x5x70xf32>, tensor<2x5x70xbf16>, tensor<2x5xf32>
})",
                        4e-3);
}

TEST(RowsKernel, GathersStayInsideTheirTables) {
  auto make = [](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor ids(type);
    for (int64_t i = 0; i < ids.getNumElements(); ++i)
      ids[i] = i % 3 == 0 ? i : i % 3 == 1 ? -7 : 1 << 30;
    return ids;
  };
  expectSameAsReference(R"(
func.func private @kernel(%t: tensor<11x40xbf16>, %i: tensor<2x6xi32>) -> tensor<2x6x40xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.embedding %t, %i : (tensor<11x40xbf16>, tensor<2x6xi32>) -> tensor<2x6x40xbf16>
  %1 = sinter.cast %0 : (tensor<2x6x40xbf16>) -> tensor<2x6x40xf32>
  return %1 : tensor<2x6x40xf32>
})",
                        1e-7, {}, make);
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<3x6x40xf32>, %n: tensor<3xi32>, %w: tensor<40xf32>) -> tensor<3x40xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.last_row %x, %n : (tensor<3x6x40xf32>, tensor<3xi32>) -> tensor<3x40xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-6} : (tensor<3x40xf32>, tensor<40xf32>) -> tensor<3x40xf32>
  return %1 : tensor<3x40xf32>
})",
                        4e-7, {}, make);
}

// The table of a product: its columns are the rows. Widths with a last word that is half a pair,
// and with lanes of the last vector that are off; a norm, whose row is kept.
TEST(RowsKernel, GathersFromPanels) {
  auto make = [](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor ids(type);
    for (int64_t i = 0; i < ids.getNumElements(); ++i)
      ids[i] = i % 3 == 0 ? 25 * i : i % 3 == 1 ? -7 : 1 << 30;
    return ids;
  };
  for (int64_t width : {1, 33, 40, 70})
    for (const char *type : {"f32", "bf16"}) {
      bool pairs = type[0] == 'b';
      std::string text = fill(R"(
func.func private @kernel(%t: tensor<$Nx130x$TYPE, #sinter.panels<width = 64, interleave = $PAIR, depth = $DEPTH>>, %i: tensor<2x3xi32>, %w: tensor<$Nxf32>)
    -> (tensor<2x3x$Nxf32>, tensor<2x3x$Nxf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.embedding %t, %i {transpose_table} : (tensor<$Nx130x$TYPE, #sinter.panels<width = 64, interleave = $PAIR, depth = $DEPTH>>, tensor<2x3xi32>) -> tensor<2x3x$Nx$TYPE>
  %1 = sinter.cast %0 : (tensor<2x3x$Nx$TYPE>) -> tensor<2x3x$Nxf32>
  %2 = sinter.rms_norm %1, %w {eps = 1.0e-6} : (tensor<2x3x$Nxf32>, tensor<$Nxf32>) -> tensor<2x3x$Nxf32>
  return %1, %2 : tensor<2x3x$Nxf32>, tensor<2x3x$Nxf32>
})",
                              {{"N", n(width)},
                               {"TYPE", type},
                               {"PAIR", n(pairs ? 2 : 1)},
                               {"DEPTH", n(pairs ? 32 : 16)}});
      expectSameAsReference(text, 4e-7, {}, make);
    }
}

// Of a table's rows from 60 on; dense, and from panels.
TEST(RowsKernel, GathersFromAPartOfATable) {
  auto make = [](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor integers(type);
    for (int64_t i = 0; i < integers.getNumElements(); ++i)
      integers[i] = integers.getNumElements() == 1 ? 60 : 59 + 26 * i; // two of six are outside
    return integers;
  };
  for (int64_t width : {1, 40, 70})
    for (const char *type : {"f32", "bf16"})
      for (bool panels : {false, true}) {
        bool pairs = type[0] == 'b';
        std::string text = fill(R"(
func.func private @kernel(%t: tensor<$TABLE>, %i: tensor<2x3xi32>, %s: tensor<1xi32>) -> tensor<2x3x$Nxf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.embedding %t, %i, %s $HOW : (tensor<$TABLE>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x$Nx$TYPE>
  %1 = sinter.cast %0 : (tensor<2x3x$Nx$TYPE>) -> tensor<2x3x$Nxf32>
  return %1 : tensor<2x3x$Nxf32>
})",
                                {{"TABLE", panels ? "$Nx130x$TYPE, #sinter.panels<width = 64, "
                                                    "interleave = $PAIR, depth = $DEPTH>"
                                                  : "130x$Nx$TYPE"},
                                 {"HOW", panels ? "{transpose_table}" : ""}});
        text = fill(text, {{"N", n(width)},
                           {"TYPE", type},
                           {"PAIR", n(pairs ? 2 : 1)},
                           {"DEPTH", n(pairs ? 32 : 16)}});
        if (type[1] == '3') // a cast of nothing
          text = std::regex_replace(text, std::regex("  %1 = [^\n]*\n  return %1"), "  return %0");
        expectSameAsReference(text, 0, {}, make);
      }
}

// Groups of them with a scale, of any type, and a minimum each; from panels, too.
TEST(RowsKernel, GathersIntegers) {
  auto make = [](unsigned index, RankedTensorType type) {
    if (isa<FloatType>(type.getElementType()))
      return makeNormal(type, index);
    bool ids = type.getElementType().isInteger(32);
    int64_t most = type.getElementType().isInteger(4) ? 8 : 128;
    ReferenceTensor integers(type);
    for (int64_t i = 0; i < integers.getNumElements(); ++i)
      integers[i] = ids ? 25 * i : (i * 37 + i / 11) % (2 * most) - most;
    return integers;
  };
  struct Table {
    const char *type, *panels; ///< of a product's, or none
  };
  const Table tables[] = {{"i8", ""},
                          {"i4", ""},
                          {"i8", ", #sinter.panels<width = 16, interleave = 2, depth = 32>"},
                          {"i8", ", #sinter.panels<width = 64, interleave = 4, depth = 32>"},
                          {"i4", ", #sinter.panels<width = 16, interleave = 4, depth = 32>"},
                          {"i4", ", #sinter.panels<width = 64, interleave = 4, depth = 32>"}};
  auto expectGathered = [&](const Table &table, const char *scales) {
    bool packed = *table.panels != 0;
    std::string text = fill(R"(
func.func private @kernel(%t: tensor<$SHAPEx$TYPE$PANELS>, %i: tensor<2x3xi32>, %s: tensor<130x3x$SCALES>, %m: tensor<130x3xf32>)
    -> tensor<2x3x96xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.embedding %t, %i $TRANSPOSED : (tensor<$SHAPEx$TYPE$PANELS>, tensor<2x3xi32>) -> tensor<2x3x96x$TYPE>
  %1 = sinter.cast %0 : (tensor<2x3x96x$TYPE>) -> tensor<2x3x96xf32>
  %2 = sinter.reshape %1 : (tensor<2x3x96xf32>) -> tensor<2x3x3x32xf32>
  %narrow = sinter.embedding %s, %i : (tensor<130x3x$SCALES>, tensor<2x3xi32>) -> tensor<2x3x3x$SCALES>
  %3 = sinter.cast %narrow : (tensor<2x3x3x$SCALES>) -> tensor<2x3x3xf32>
  %4 = sinter.broadcast %3 {dims = array<i64: 0, 1, 2>} : (tensor<2x3x3xf32>) -> tensor<2x3x3x32xf32>
  %5 = sinter.mul %2, %4 : (tensor<2x3x3x32xf32>, tensor<2x3x3x32xf32>) -> tensor<2x3x3x32xf32>
  %6 = sinter.embedding %m, %i : (tensor<130x3xf32>, tensor<2x3xi32>) -> tensor<2x3x3xf32>
  %7 = sinter.broadcast %6 {dims = array<i64: 0, 1, 2>} : (tensor<2x3x3xf32>) -> tensor<2x3x3x32xf32>
  %8 = sinter.add %5, %7 : (tensor<2x3x3x32xf32>, tensor<2x3x3x32xf32>) -> tensor<2x3x3x32xf32>
  %9 = sinter.reshape %8 : (tensor<2x3x3x32xf32>) -> tensor<2x3x96xf32>
  return %9 : tensor<2x3x96xf32>
})",
                            {{"SHAPE", packed ? "96x130" : "130x96"},
                             {"TYPE", table.type},
                             {"PANELS", table.panels},
                             {"SCALES", scales},
                             {"TRANSPOSED", packed ? "{transpose_table}" : ""}});
    if (std::string_view(scales) == "f32") // a cast of nothing
      text = std::regex_replace(std::regex_replace(text, std::regex("  %3 = [^\n]*\n"), ""),
                                std::regex("%narrow"), "%3");
    expectSameAsReference(text, 1e-6, {}, make);
  };
  for (const Table &table : tables)
    for (const char *scales : {"f32", "f16", "bf16"})
      expectGathered(table, scales);
}

TEST(RowsKernel, LearnedPositions) {
  auto make = [](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor start(type);
    start[0] = 4;
    return start;
  };
  expectSameAsReference(R"(
func.func private @kernel(%t: tensor<16x24xf32>, %s: tensor<2xi32>) -> (tensor<2x6x24xf32>, tensor<2x6xi32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.positions %s : (tensor<2xi32>) -> tensor<2x6xi32>
  %1 = sinter.embedding %t, %0 : (tensor<16x24xf32>, tensor<2x6xi32>) -> tensor<2x6x24xf32>
  return %1, %0 : tensor<2x6x24xf32>, tensor<2x6xi32>
})",
                        1e-7, {}, make);
}

TEST(RowsKernel, WhatCannotBeGeneratedIsSaid) {
  expectError(R"(
func.func private @kernel(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.matmul %x, %y : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
})",
              "expected an op that a rows kernel can compute");
  expectError(R"(
func.func private @kernel(%x: tensor<2xf64>) -> tensor<2xf64> attributes {sinter.kernel = "rows"} {
  %0 = sinter.tanh %x : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
})",
              "expected a function of f32");
}
