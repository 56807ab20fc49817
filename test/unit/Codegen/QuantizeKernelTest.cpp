// Rows as numbers of 8 bits, alone, behind what makes the rows, and into caches.

#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sinter::jit;
using namespace sinter::test;

namespace {

/// A kernel that quantizes `rows` of the body, made of %x and %w.
std::string quantize(int64_t width, llvm::StringRef type, llvm::StringRef body,
                     llvm::StringRef rows, llvm::StringRef rounded = "i8") {
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<2x3x{0}x{1}>, %w: tensor<{0}xf32>)
        -> (tensor<2x3x{0}x{4}>, tensor<2x3x1xf32>) attributes {{sinter.kernel = "rows"} {{
      {2}
      %q, %s = sinter.quantize {3} : (tensor<2x3x{0}x{1}>) -> (tensor<2x3x{0}x{4}>, tensor<2x3x1xf32>)
      return %q, %s : tensor<2x3x{0}x{4}>, tensor<2x3x1xf32>
    })",
                       width, type, body, rows, rounded)
      .str();
}

/// Rows of normal numbers, of zeros, and of one number that is far larger than the others.
sinter::ReferenceTensor makeRows(unsigned index, mlir::RankedTensorType type) {
  sinter::ReferenceTensor tensor = makeNormal(type, index);
  int64_t width = type.getShape().back();
  if (type.getRank() == 3) {
    for (int64_t i = 0; i < width; ++i)
      tensor[width + i] = 0;
    tensor[2 * width] = 9984;
  }
  return tensor;
}

TEST(QuantizeKernel, Rows) {
  for (int64_t width : {1, 3, 17, 64, 65, 1000})
    for (sinter::TargetAttr target : getHostTargets())
      expectSameAsReference(quantize(width, "f32", "", "%x"), 2e-7, target, makeRows);
}

TEST(QuantizeKernel, RowsOfE4M3) {
  for (int64_t width : {1, 3, 17, 64, 65, 1000})
    for (sinter::TargetAttr target : getHostTargets())
      expectSameAsReference(quantize(width, "f32", "", "%x", "f8E4M3FN"), 2e-7, target, makeRows);
}

// Of so few bits quotients are halves, which the last bit of the scale rounds up or down.
TEST(QuantizeKernel, NarrowRows) {
  for (sinter::TargetAttr target : getHostTargets())
    expectSameAsReference(quantize(1000, "bf16", "", "%x"), 5e-3, target, makeRows);
}

// The numbers before they are rounded differ in their last bits from the reference's: a few of
// 6000 integers may be the next ones.
TEST(QuantizeKernel, BehindANorm) {
  for (sinter::TargetAttr target : getHostTargets())
    expectSameAsReference(
        quantize(1000, "f32",
                 "%n = sinter.rms_norm %x, %w {eps = 1.0e-5} : "
                 "(tensor<2x3x1000xf32>, tensor<1000xf32>) -> tensor<2x3x1000xf32>",
                 "%n"),
        2e-3, target, makeRows);
}

// Rotated, quantized and written with their scales in one kernel. Numbers of many sizes in a row
// become normal and subnormal ones of e4m3; the last slot's chunk does not fit into its cache.
TEST(QuantizeKernel, IntoCaches) {
  constexpr const char *kernel = R"(
    func.func private @kernel(%x: tensor<3x4x2x24xf32>, %cos: tensor<40x8xf32>, %sin: tensor<40x8xf32>,
        %start: tensor<3xi32>, %count: tensor<3xi32>, %c: {0}, %cs: {1}) -> ({0}, {1})
        attributes {{sinter.kernel = "rows"} {{
      %k = sinter.rotary %x, %cos, %sin, %start
        : (tensor<3x4x2x24xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<3xi32>) -> tensor<3x4x2x24xf32>
      %q, %s = sinter.quantize %k : (tensor<3x4x2x24xf32>) -> (tensor<3x4x2x24x{2}>, tensor<3x4x2x1xf32>)
      %r = sinter.cache_append %c, %q, %start, %count
        : ({0}, tensor<3x4x2x24x{2}>, tensor<3xi32>, tensor<3xi32>) -> {0}
      %rs = sinter.cache_append %cs, %s, %start, %count
        : ({1}, tensor<3x4x2x1xf32>, tensor<3xi32>, tensor<3xi32>) -> {1}
      return %r, %rs : {0}, {1}
    })";
  auto make = [](unsigned index, mlir::RankedTensorType type) {
    sinter::ReferenceTensor tensor = makeNormal(type, index);
    if (index == 0)
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor[i] *= std::exp2(-(i % 24));
    if (index == 3 || index == 4)
      for (int64_t b = 0; b < 3; ++b)
        tensor[b] = index == 3 ? 15 * b : 4 - b % 2;
    if (type.getElementType().isInteger(8))
      for (double &value : tensor.data())
        value = std::nearbyint(value);
    tensor.round();
    return tensor;
  };
  for (const char *type : {"i8", "f8E4M3FN"})
    for (const char *layout :
         {"#sinter.key_panels<width = 64, interleave = 1>", "#sinter.head_major"})
      for (sinter::TargetAttr target : getHostTargets()) {
        std::string cache = llvm::formatv("tensor<3x32x2x24x{0}, {1}>", type, layout);
        // A rotation's sum may fall on the other side of a tie.
        expectSameAsReference(
            llvm::formatv(kernel, cache, "tensor<3x32x2x1xf32, #sinter.head_major>", type).str(),
            1e-3, target, make);
      }
}

} // namespace
