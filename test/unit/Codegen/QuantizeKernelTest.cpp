// Rows as integers of 8 bits, alone and behind what makes the rows.

#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sinter::jit;
using namespace sinter::test;

namespace {

/// A kernel that quantizes `rows` of the body, made of %x and %w.
std::string quantize(int64_t width, llvm::StringRef type, llvm::StringRef body,
                     llvm::StringRef rows) {
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<2x3x{0}x{1}>, %w: tensor<{0}xf32>)
        -> (tensor<2x3x{0}xi8>, tensor<2x3x1xf32>) attributes {{sinter.kernel = "rows"} {{
      {2}
      %q, %s = sinter.quantize {3} : (tensor<2x3x{0}x{1}>) -> (tensor<2x3x{0}xi8>, tensor<2x3x1xf32>)
      return %q, %s : tensor<2x3x{0}xi8>, tensor<2x3x1xf32>
    })",
                       width, type, body, rows)
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
    for (int64_t bits : {0, 256})
      expectSameAsReference(quantize(width, "f32", "", "%x"), 2e-7, getHostTarget(bits), makeRows);
}

// Of so few bits quotients are halves, which the last bit of the scale rounds up or down.
TEST(QuantizeKernel, NarrowRows) {
  for (int64_t bits : {0, 256})
    expectSameAsReference(quantize(1000, "bf16", "", "%x"), 5e-3, getHostTarget(bits), makeRows);
}

// The numbers before they are rounded differ in their last bits from the reference's: a few of
// 6000 integers may be the next ones.
TEST(QuantizeKernel, BehindANorm) {
  for (int64_t bits : {0, 256})
    expectSameAsReference(
        quantize(1000, "f32",
                 "%n = sinter.rms_norm %x, %w {eps = 1.0e-5} : "
                 "(tensor<2x3x1000xf32>, tensor<1000xf32>) -> tensor<2x3x1000xf32>",
                 "%n"),
        2e-3, getHostTarget(bits), makeRows);
}

} // namespace
