#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/Base/Float8.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cstring>

using namespace sinter::jit;
using namespace sinter::test;

namespace {

/// Panels of `width` columns of operands of a type.
std::string panelsOf(llvm::StringRef element, int64_t width) {
  return llvm::formatv("#sinter.panels<width = {0}, {1}>", width,
                       element == "f32" ? "interleave = 1, depth = 16"
                                        : "interleave = 2, depth = 32")
      .str();
}

/// A kernel that multiplies [m, k] by [k, n] in panels of `width`, both of type `element`.
std::string product(int64_t m, int64_t k, int64_t n, llvm::StringRef element = "f32",
                    int64_t width = 64) {
  std::string layout = panelsOf(element, width);
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}, {4}>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %w
        : (tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}, {4}>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, element, layout)
      .str();
}

/// A kernel that multiplies [k, m] transposed, of layout `lhs` (", ..." or nothing), by [k, n], in
/// panels of `width`, dense where it is 0.
std::string transposedProduct(int64_t m, int64_t k, int64_t n, llvm::StringRef element,
                              llvm::StringRef lhs, int64_t width = 64) {
  std::string rhs = width == 0 ? "" : ", " + panelsOf(element, width);
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{1}x{0}x{3}{4}>, %g: tensor<{1}x{2}x{3}{5}>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %g {{transpose_lhs}
        : (tensor<{1}x{0}x{3}{4}>, tensor<{1}x{2}x{3}{5}>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, element, lhs, rhs)
      .str();
}

/// A kernel that multiplies [m, k] by a dense [k, n], or by [n, k] transposed.
std::string denseProduct(int64_t m, int64_t k, int64_t n, bool transposed) {
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: tensor<{3}x{4}xf32>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %w {5}
        : (tensor<{0}x{1}xf32>, tensor<{3}x{4}xf32>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, transposed ? n : k, transposed ? k : n,
                       transposed ? "{transpose_rhs}" : "")
      .str();
}

/// What weights may be besides numbers.
constexpr const char *kE4M3 = "f8E4M3FN", *kIntegers[] = {"i8", "i4"},
                     *kNarrow[] = {"i8", "i4", kE4M3};

/// The panels of integers, or e4m3, for a target.
sinter::PanelsAttr panelsOf(llvm::StringRef element, sinter::TargetAttr target) {
  return sinter::getIntegerPanels(mlir::parseType(element, &getContext()), target);
}

sinter::PanelsAttr makePanels(int64_t width, int64_t interleave, int64_t depth) {
  return sinter::PanelsAttr::get(&getContext(), width, interleave, depth);
}

/// A kernel that multiplies [m, k] by integers, or e4m3, [k, n] in panels, with a scale for
/// `group` of a column.
std::string scaledProduct(int64_t m, int64_t k, int64_t n, llvm::StringRef element, int64_t group,
                          sinter::PanelsAttr panels, llvm::StringRef scales = "f32") {
  return llvm::formatv(R"(
    #integers = {6}
    #panels = #sinter.panels<width = {5}, interleave = 1, depth = 1>
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %q: tensor<{1}x{2}x{3}, #integers>,
                              %s: tensor<{4}x{2}x{7}, #panels>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %q, %s
        : (tensor<{0}x{1}xf32>, tensor<{1}x{2}x{3}, #integers>, tensor<{4}x{2}x{7}, #panels>)
        -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, element, k / group, panels.getWidth(), mlir::Attribute(panels),
                       scales)
      .str();
}

/// The same with minima.
std::string minimaProduct(int64_t m, int64_t k, int64_t n, llvm::StringRef element, int64_t group,
                          sinter::PanelsAttr panels) {
  return llvm::formatv(R"(
    #integers = #sinter.panels<width = {5}, interleave = {6}, depth = {7}>
    #panels = #sinter.panels<width = {5}, interleave = 1, depth = 1>
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %q: tensor<{1}x{2}x{3}, #integers>,
                              %s: tensor<{4}x{2}xf32, #panels>, %m: tensor<{4}x{2}xf32, #panels>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %q, %s minima %m
        : (tensor<{0}x{1}xf32>, tensor<{1}x{2}x{3}, #integers>, tensor<{4}x{2}xf32, #panels>,
           tensor<{4}x{2}xf32, #panels>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, element, k / group, panels.getWidth(), panels.getInterleave(),
                       panels.getDepth())
      .str();
}

/// A kernel that multiplies rows of bytes [m, k] by bytes [k, n] in panels of this layout.
std::string byteProduct(int64_t m, int64_t k, int64_t n, int64_t width, int64_t interleave) {
  return llvm::formatv(R"(
    #panels = #sinter.panels<width = {3}, interleave = {4}, depth = {4}>
    #scales = #sinter.panels<width = {3}, interleave = 1, depth = 1>
    func.func private @kernel(%x: tensor<{0}x{1}xi8>, %w: tensor<{1}x{2}xi8, #panels>,
                              %s: tensor<1x{2}xf32, #scales>, %r: tensor<{0}x1xf32>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %w, %s rows %r
        : (tensor<{0}x{1}xi8>, tensor<{1}x{2}xi8, #panels>, tensor<1x{2}xf32, #scales>,
           tensor<{0}x1xf32>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, width, interleave)
      .str();
}

/// The largest bytes, whose pairs overflow 16 bits.
sinter::ReferenceTensor makeExtremes(unsigned index, mlir::RankedTensorType type) {
  if (!type.getElementType().isInteger())
    return makeNormal(type, index);
  sinter::ReferenceTensor tensor(type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor[i] = index == 0 && i % 3 == 0 ? 127 : -128;
  return tensor;
}

/// Every integer of a type or of its codes, or e4m3 but NaN, others in each row, and normal
/// numbers.
sinter::ReferenceTensor makeScaled(unsigned index, mlir::RankedTensorType type) {
  if (type.getElementTypeBitWidth() > 8)
    return makeNormal(type, index);
  sinter::ReferenceTensor tensor(type);
  int64_t count = int64_t(1) << type.getElementTypeBitWidth();
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    int64_t code = (i * 37 + i / 7) % count;
    if (type.getElementType().isInteger())
      tensor[i] = static_cast<double>(code - count / 2);
    else
      tensor[i] = (code & 0x7f) == 0x7f ? 0 : sinter::e4m3ToFloat(static_cast<uint8_t>(code));
  }
  return tensor;
}

struct Shape {
  int64_t m, k, n;
};

void PrintTo(const Shape &shape, std::ostream *out) {
  *out << "m=" << shape.m << ",k=" << shape.k << ",n=" << shape.n;
}

class GemmShapes : public testing::TestWithParam<Shape> {};

/// As wide as the target's own panels, and wider ones.
std::array<int64_t, 2> widthsFor(sinter::TargetAttr target) {
  return {sinter::getPanels(mlir::Float32Type::get(&getContext()), target).getWidth(), 64};
}

/// Pairs of bf16 are added before they meet the sum, where the processor has instructions on them.
double toleranceOfBf16(sinter::TargetAttr target) {
  return target.getVectorBits() > 256 ? 1e-5 : 1e-6;
}

TEST_P(GemmShapes, F32) {
  auto [m, k, n] = GetParam();
  for (sinter::TargetAttr target : getHostTargets())
    for (int64_t width : widthsFor(target))
      expectSameAsReference(product(m, k, n, "f32", width), 1e-6, target);
}

TEST_P(GemmShapes, Bf16) {
  auto [m, k, n] = GetParam();
  for (sinter::TargetAttr target : getHostTargets())
    for (int64_t width : widthsFor(target))
      expectSameAsReference(product(m, k, n, "bf16", width), toleranceOfBf16(target), target);
}

TEST_P(GemmShapes, DenseF32) {
  auto [m, k, n] = GetParam();
  for (sinter::TargetAttr target : getHostTargets())
    for (bool transposed : {false, true})
      expectSameAsReference(denseProduct(m, k, n, transposed), 1e-6, target);
}

TEST_P(GemmShapes, TransposedF32) {
  auto [m, k, n] = GetParam();
  for (sinter::TargetAttr target : getHostTargets())
    expectSameAsReference(transposedProduct(m, k, n, "f32", ""), 1e-6, target);
  expectSameAsReference(transposedProduct(m, k, n, "f32", "", /*width=*/0), 1e-6);
}

// Rows are copied tile by tile where all of them are more than half of an L2 cache (here of up to 2
// MiB): of blocks that are all whole, and of which the last one is not; for columns in panels, and
// for those that are copied, too.
TEST(GemmTransposed, OfRowsThatAreCopied) {
  for (sinter::TargetAttr target : getHostTargets())
    for (int64_t m : {1056, 1025})
      for (int64_t width : {widthsFor(target).front(), int64_t(0)})
        expectSameAsReference(transposedProduct(m, 300, 72, "f32", "", width), 1e-6, target);
}

// More rows than a tile of registers has, up to a block: their tiles pass over several blocks of k
// of each strip, the last of them a piece.
TEST(GemmOfFewRows, StripAfterStrip) {
  for (sinter::TargetAttr target : getHostTargets()) {
    int64_t width = widthsFor(target).front();
    for (int64_t m : {8, 23, 61})
      expectSameAsReference(product(m, 811, 150, "f32", width), 1e-6, target);
    for (int64_t m : {8, 20})
      expectSameAsReference(product(m, 813, 150, "bf16", width), toleranceOfBf16(target), target);
  }
}

TEST_P(GemmShapes, TransposedBf16) {
  auto [m, k, n] = GetParam();
  llvm::StringRef panels = ", #sinter.panels<width = 64, interleave = 2, depth = 32>";
  for (sinter::TargetAttr target : getHostTargets())
    expectSameAsReference(transposedProduct(m, k, n, "bf16", panels), toleranceOfBf16(target),
                          target);
}

INSTANTIATE_TEST_SUITE_P(Gemm, GemmShapes,
                         testing::Values(Shape{1, 64, 64}, Shape{1, 1, 1}, Shape{1, 33, 100},
                                         Shape{2, 7, 65}, Shape{3, 288, 96}, Shape{4, 31, 17},
                                         Shape{5, 48, 128}, Shape{6, 17, 63}, Shape{7, 64, 192},
                                         Shape{8, 20, 70}, Shape{13, 96, 130}, Shape{64, 172, 80},
                                         Shape{100, 3000, 72}, Shape{300, 24, 65}));

/// So many rows of so many k that a matrix unit takes them in blocks of k.
TEST(Gemm, BlocksOfKOfBf16) {
  for (sinter::TargetAttr target : getHostTargets())
    for (int64_t width : widthsFor(target))
      expectSameAsReference(product(270, 3400, 40, "bf16", width), toleranceOfBf16(target), target);
}

class ScaledShapes : public testing::TestWithParam<Shape> {};

// One scale a column, or one for each group of it. Of 3072 numbers f32 rounds 1e-6 of the sum away.
TEST_P(ScaledShapes, Integers) {
  auto [m, k, n] = GetParam();
  for (const char *element : kIntegers)
    for (int64_t group : {int64_t(32), k}) {
      for (sinter::TargetAttr target : getHostTargets())
        expectSameAsReference(scaledProduct(m, k, n, element, group, panelsOf(element, target)),
                              2e-6, target, makeScaled);
    }
}

INSTANTIATE_TEST_SUITE_P(Gemm, ScaledShapes,
                         testing::Values(Shape{1, 64, 64}, Shape{1, 32, 1}, Shape{1, 288, 100},
                                         Shape{2, 96, 65}, Shape{2, 64, 1200}, Shape{5, 32, 33},
                                         Shape{8, 64, 192}, Shape{13, 96, 130},
                                         Shape{100, 3072, 72}, Shape{300, 32, 65}));

// Minima of groups that are vectors, several of them, and parts of one.
TEST_P(ScaledShapes, Minima) {
  auto [m, k, n] = GetParam();
  for (const char *element : kIntegers)
    for (int64_t group : {int64_t(8), int64_t(32), k}) {
      for (sinter::TargetAttr target : getHostTargets())
        expectSameAsReference(minimaProduct(m, k, n, element, group, panelsOf(element, target)),
                              2e-6, target, makeScaled);
    }
}

/// Normal numbers of which a few are as much larger, and integers as above.
sinter::ReferenceTensor makeOutliers(unsigned index, mlir::RankedTensorType type, double size) {
  sinter::ReferenceTensor tensor = makeScaled(index, type);
  if (index == 0)
    for (int64_t i = 5; i < tensor.getNumElements(); i += 61)
      tensor[i] *= size;
  return tensor;
}

// What is large makes the numbers of its segment coarser, in the same proportion to the sum.
TEST(FewRows, OutliersStayWithinTheBound) {
  for (const char *element : kIntegers)
    for (sinter::TargetAttr target : getHostTargets())
      for (double size : {1e2, 1e6})
        for (int64_t group : {int64_t(32), int64_t(768)})
          expectSameAsReference(
              scaledProduct(1, 768, 64, element, group, panelsOf(element, target)), 1e-6, target,
              [&](unsigned index, mlir::RankedTensorType type) {
                return makeOutliers(index, type, size);
              });
}

// Numbers near either end of f32's exponents, and none but zeros.
TEST(AnyRows, TakeNumbersOfAnySize) {
  for (const char *element : kIntegers)
    for (sinter::TargetAttr target : getHostTargets())
      for (double size : {0.0, 1e-30, 1e30})
        for (int64_t m : {1, 5, 33})
          expectSameAsReference(scaledProduct(m, 64, 64, element, 32, panelsOf(element, target)),
                                1e-6, target, [&](unsigned index, mlir::RankedTensorType type) {
                                  sinter::ReferenceTensor tensor = makeScaled(index, type);
                                  for (double &value : tensor.data())
                                    value *= index == 0 ? size : 1;
                                  tensor.round();
                                  return tensor;
                                });
}

// Segments of groups of several sizes, some of which words straddle, and strips of several.
TEST(AnyRows, TakeGroupsOfAnySize) {
  for (const char *element : kIntegers)
    for (sinter::TargetAttr target : getHostTargets())
      for (auto [k, group] : {std::pair<int64_t, int64_t>{48, 16},
                              {48, 8},
                              {60, 20},
                              {128, 64},
                              {80, 40},
                              {24, 6},
                              {22, 22},
                              {15, 5}})
        for (int64_t m : {3, 5, 33})
          expectSameAsReference(scaledProduct(m, k, 40, element, group, panelsOf(element, target)),
                                2e-6, target, makeScaled);
}

// As files have them: a number beside few rows, in strips and in fixed point.
TEST(AnyRows, TakeScalesOf16Bits) {
  for (const char *element : kNarrow)
    for (const char *scales : {"f16", "bf16"})
      for (sinter::TargetAttr target : getHostTargets())
        for (int64_t m : {1, 3, 33})
          expectSameAsReference(
              scaledProduct(m, 96, 72, element, 32, panelsOf(element, target), scales), 2e-6,
              target, makeScaled);
}

// Blocks of 128, groups that words straddle, one of all of an odd k, and strips of several; rows
// near either end of f32's exponents.
TEST(AnyRows, TakeNumbersOfE4M3) {
  struct Case {
    int64_t m, k, n, group;
    double size;
  };
  for (sinter::TargetAttr target : getHostTargets())
    for (auto [m, k, n, group, size] : {Case{1, 384, 100, 128, 1},
                                        {1, 64, 64, 32, 1e-30},
                                        {1, 64, 64, 32, 1e30},
                                        {2, 60, 33, 20, 1},
                                        {3, 257, 65, 257, 1},
                                        {3, 15, 40, 5, 1e-6},
                                        {5, 256, 33, 128, 1e30},
                                        {13, 96, 130, 8, 1},
                                        {70, 1040, 72, 16, 1}})
      expectSameAsReference(scaledProduct(m, k, n, kE4M3, group, panelsOf(kE4M3, target)), 2e-6,
                            target, [&](unsigned index, mlir::RankedTensorType type) {
                              sinter::ReferenceTensor tensor = makeScaled(index, type);
                              for (double &value : tensor.data())
                                value *= index == 0 ? size : 1;
                              tensor.round();
                              return tensor;
                            });
}

/// Runs a kernel on numbers of which one is `number`; returns the first result.
double runKernel(const std::string &text, float number, sinter::TargetAttr target) {
  KernelJit jit(getContext(), text, target);
  EXPECT_EQ(jit.getError(), "");
  std::vector<GuardedStorage> storage;
  llvm::SmallVector<void *> slices;
  auto add = [&](mlir::Type type, unsigned index, bool isResult) {
    auto tensorType = mlir::cast<mlir::RankedTensorType>(type);
    GuardedStorage &memory = storage.emplace_back(tensorType);
    if (!isResult) {
      sinter::ReferenceTensor tensor = makeScaled(index, tensorType);
      if (index == 0)
        tensor[40] = number;
      memory.write(tensor);
    }
    slices.push_back(memory.data());
  };
  for (auto [i, type] : llvm::enumerate(jit.getKernel().getArgumentTypes()))
    add(type, static_cast<unsigned>(i), /*isResult=*/false);
  add(jit.getKernel().getResultTypes().front(), 0, /*isResult=*/true);
  jit.run(slices, 0, jit.getGrid());
  return storage.back().read()[0];
}

/// The same of a product of so many rows by integers, or e4m3.
double runWith(float number, llvm::StringRef element, sinter::TargetAttr target, int64_t rows = 1) {
  return runKernel(scaledProduct(rows, 64, 32, element, 32, panelsOf(element, target)), number,
                   target);
}

TEST(FewRows, GiveNoNumberWhereOneIsNotFinite) {
  for (const char *element : kNarrow)
    for (sinter::TargetAttr target : getHostTargets()) {
      EXPECT_TRUE(std::isfinite(runWith(1, element, target)));
      EXPECT_TRUE(std::isnan(runWith(NAN, element, target)));
      double ofInfinity = runWith(-INFINITY, element, target);
      EXPECT_TRUE(element == kE4M3 ? std::isinf(ofInfinity) : std::isnan(ofInfinity));
    }
}

TEST(FewRows, HaveTheSameBitsInAnyProduct) {
  for (const char *element : kNarrow)
    for (sinter::TargetAttr target : getHostTargets())
      for (int64_t rows : {2, 3})
        EXPECT_EQ(runWith(0.3f, element, target), runWith(0.3f, element, target, rows));
}

// Whether integers are widened in registers or to a strip beside them.
TEST(ManyRows, HaveTheSameBitsInAnyProduct) {
  for (const char *element : kNarrow)
    for (sinter::TargetAttr target : getHostTargets())
      for (int64_t rows : {5, 14, 70})
        EXPECT_EQ(runWith(0.3f, element, target, 4), runWith(0.3f, element, target, rows));
}

// Pairs, tiles of them or numbers widened to f32, of whole steps of k and a rest.
TEST(ManyRows, OfBf16HaveTheSameBitsInAnyProduct) {
  auto run = [](int64_t rows, int64_t width, sinter::TargetAttr target) {
    return runKernel(product(rows, 76, 32, "bf16", width), 0.3f, target);
  };
  for (sinter::TargetAttr target : getHostTargets())
    for (int64_t rows : {5, 14, 17, 70}) {
      int64_t width = widthsFor(target).front();
      EXPECT_EQ(run(4, width, target), run(rows, width, target)) << rows;
    }
}

// Two sets of columns, of which strips lie one behind another, and more k than one has room for.
TEST(ManyRows, GateAndUpOfIntegers) {
  for (const char *element : kIntegers)
    for (sinter::TargetAttr target : getHostTargets()) {
      sinter::PanelsAttr panels = panelsOf(element, target);
      expectSameAsReference(llvm::formatv(R"(
    #integers = #sinter.panels<width = {1}, interleave = {2}, depth = {3}>
    #panels = #sinter.panels<width = {1}, interleave = 1, depth = 1>
    func.func private @kernel(%x: tensor<90x320xf32>, %q: tensor<320x256x{0}, #integers>,
                              %s: tensor<10x256xf32, #panels>, %m: tensor<10x256xf32, #panels>)
        -> tensor<90x128xf32> attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %q, %s minima %m
        : (tensor<90x320xf32>, tensor<320x256x{0}, #integers>, tensor<10x256xf32, #panels>,
           tensor<10x256xf32, #panels>) -> tensor<90x256xf32>
      %g = sinter.slice %p {{offsets = array<i64: 0, 0>} : (tensor<90x256xf32>) -> tensor<90x128xf32>
      %u = sinter.slice %p {{offsets = array<i64: 0, 128>}
        : (tensor<90x256xf32>) -> tensor<90x128xf32>
      %0 = sinter.silu %g : (tensor<90x128xf32>) -> tensor<90x128xf32>
      %1 = sinter.mul %0, %u : (tensor<90x128xf32>, tensor<90x128xf32>) -> tensor<90x128xf32>
      return %1 : tensor<90x128xf32>
    })",
                                          element, panels.getWidth(), panels.getInterleave(),
                                          panels.getDepth())
                                .str(),
                            2e-6, target, makeScaled);
    }
}

class ByteShapes : public testing::TestWithParam<Shape> {};

// Sums are exact: what is rounded are the sum as f32, and its products with two scales.
TEST_P(ByteShapes, Rows) {
  auto [m, k, n] = GetParam();
  for (sinter::TargetAttr target : getHostTargets()) {
    sinter::PanelsAttr panels = sinter::getBytePanels(&getContext(), target);
    std::string text = byteProduct(m, k, n, panels.getWidth(), panels.getInterleave());
    expectSameAsReference(text, 2e-7, target, makeScaled);
    expectSameAsReference(text, 2e-7, target, makeExtremes);
  }
}

// A k that is no word, one that is no vector, several blocks of k, and of rows.
INSTANTIATE_TEST_SUITE_P(Gemm, ByteShapes,
                         testing::Values(Shape{1, 64, 64}, Shape{1, 1, 1}, Shape{1, 770, 100},
                                         Shape{2, 67, 65}, Shape{5, 32, 33}, Shape{8, 130, 192},
                                         Shape{13, 96, 130}, Shape{15, 5003, 33},
                                         Shape{300, 70, 65}, Shape{270, 6700, 33}));

TEST(GemmKernel, RefusesBytesInPanelsOfOtherInstructions) {
  expectError(byteProduct(1, 64, 64, 32, 2), "with interleave 4 and depth 4, got",
              "cpu:cooperlake");
  expectError(byteProduct(1, 64, 64, 32, 4), "with interleave 2 and depth 2, got", "cpu:x86-64-v4");
}

TEST(GemmKernel, RefusesMinimaOfOtherPanels) {
  std::string text = minimaProduct(1, 64, 64, "i8", 32, makePanels(32, 4, 32));
  size_t at = text.rfind("tensor<2x64xf32, #panels>");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 25, "tensor<2x64xf32>");
  at = text.find("%m: tensor<2x64xf32, #panels>");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 29, "%m: tensor<2x64xf32>");
  expectError(text,
              "expected an input of scales of each column, of at most 32 bits, in panels as wide");
}

TEST(GemmKernel, RefusesMinimaOfE4M3) {
  expectError(minimaProduct(1, 64, 64, kE4M3, 32, makePanels(32, 4, 32)),
              "expected no minima of e4m3");
}

TEST(GemmKernel, RefusesScalesOfOtherPanels) {
  std::string text = scaledProduct(1, 64, 64, "i8", 32, makePanels(32, 4, 32));
  size_t at = text.find("tensor<2x64xf32, #panels>");
  for (; at != std::string::npos; at = text.find("tensor<2x64xf32, #panels>"))
    text.replace(at, 25, "tensor<2x64xf32>");
  expectError(text,
              "expected an input of scales of each column, of at most 32 bits, in panels as wide");
}

TEST(GemmKernel, RefusesHalvesThatAreNoVectors) {
  expectError(scaledProduct(1, 64, 64, "i4", 32, makePanels(64, 4, 32)),
              "expected rhs [k, n] in panels of whole vectors");
}

TEST(GemmKernel, RefusesWeightsInPanelsOfBytes) {
  expectError(scaledProduct(1, 64, 64, "i8", 32, makePanels(32, 4, 4)),
              "with interleave 4 and depth 32, got");
  expectError(scaledProduct(1, 64, 64, "i4", 32, makePanels(32, 2, 32)),
              "with interleave 4 and depth 32, got", "cpu:x86-64-v4");
}

/// The body of a kernel after a product %p of the given result types.
std::string withEpilogue(llvm::StringRef arguments, llvm::StringRef result, llvm::StringRef body,
                         int64_t n = 100) {
  return llvm::formatv(R"(
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func private @kernel(%x: tensor<10x40xf32>, %w: tensor<40x{3}xf32, #panels>{0})
        -> {1} attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %w
        : (tensor<10x40xf32>, tensor<40x{3}xf32, #panels>) -> tensor<10x{3}xf32>
      {2}
    })",
                       arguments, result, body, n)
      .str();
}

TEST(GemmEpilogue, BiasGeluResidual) {
  expectSameAsReference(
      withEpilogue(", %b: tensor<100xf32>, %r: tensor<10x100xf32>", "tensor<10x100xf32>", R"(
    %0 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<100xf32>) -> tensor<10x100xf32>
    %1 = sinter.add %p, %0 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %2 = sinter.gelu %1 {tanh} : (tensor<10x100xf32>) -> tensor<10x100xf32>
    %3 = sinter.add %2, %r : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    return %3 : tensor<10x100xf32>)"),
      1e-6);
}

TEST(GemmEpilogue, ReshapesToHeads) {
  expectSameAsReference(withEpilogue(", %b: tensor<100xf32>", "tensor<2x5x4x25xf32>", R"(
    %0 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<100xf32>) -> tensor<10x100xf32>
    %1 = sinter.mul %p, %0 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %2 = sinter.reshape %1 : (tensor<10x100xf32>) -> tensor<2x5x4x25xf32>
    return %2 : tensor<2x5x4x25xf32>)"),
                        1e-6);
}

TEST(GemmEpilogue, OneNumberARow) {
  expectSameAsReference(withEpilogue(", %s: tensor<10xf32>", "tensor<10x100xf32>", R"(
    %0 = sinter.broadcast %s {dims = array<i64: 0>} : (tensor<10xf32>) -> tensor<10x100xf32>
    %1 = sinter.mul %p, %0 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    return %1 : tensor<10x100xf32>)"),
                        1e-6);
}

TEST(GemmEpilogue, OneRowABatch) {
  expectSameAsReference(withEpilogue(", %s: tensor<2x100xf32>", "tensor<2x5x100xf32>", R"(
    %0 = sinter.broadcast %s {dims = array<i64: 0, 2>} : (tensor<2x100xf32>) -> tensor<2x5x100xf32>
    %1 = sinter.reshape %p : (tensor<10x100xf32>) -> tensor<2x5x100xf32>
    %2 = sinter.add %1, %0 : (tensor<2x5x100xf32>, tensor<2x5x100xf32>) -> tensor<2x5x100xf32>
    return %2 : tensor<2x5x100xf32>)"),
                        1e-6);
}

TEST(GemmEpilogue, ConstantsAndRounding) {
  expectSameAsReference(withEpilogue(", %r: tensor<10x100xbf16>", "tensor<10x100xbf16>", R"(
    %c = sinter.constant dense<0.5> : tensor<10x100xf32>
    %0 = sinter.mul %p, %c : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %1 = sinter.cast %0 : (tensor<10x100xf32>) -> tensor<10x100xbf16>
    %2 = sinter.add %1, %r : (tensor<10x100xbf16>, tensor<10x100xbf16>) -> tensor<10x100xbf16>
    return %2 : tensor<10x100xbf16>)"),
                        1e-3);
}

TEST(GemmEpilogue, TwoResults) {
  expectSameAsReference(
      withEpilogue(", %r: tensor<10x100xf32>", "(tensor<10x100xf32>, tensor<10x100xbf16>)", R"(
    %0 = sinter.add %p, %r : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %1 = sinter.cast %0 : (tensor<10x100xf32>) -> tensor<10x100xbf16>
    return %0, %1 : tensor<10x100xf32>, tensor<10x100xbf16>)"),
      1e-3);
}

// The backward pass of an activation: the product times a function of what was saved.
TEST(GemmEpilogue, DerivativeOfSavedRows) {
  expectSameAsReference(withEpilogue(", %h: tensor<10x100xf32>", "tensor<2x5x100xf32>", R"(
    %c = sinter.constant dense<1.0> : tensor<10x100xf32>
    %0 = sinter.tanh %h : (tensor<10x100xf32>) -> tensor<10x100xf32>
    %1 = sinter.mul %0, %0 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %2 = sinter.sub %c, %1 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %3 = sinter.mul %p, %2 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %4 = sinter.reshape %3 : (tensor<10x100xf32>) -> tensor<2x5x100xf32>
    return %4 : tensor<2x5x100xf32>)"),
                        1e-6);
}

// What the forward pass keeps, and what it goes on with.
TEST(GemmEpilogue, ActivationAndWhatItWasComputedFrom) {
  expectSameAsReference(
      withEpilogue(", %b: tensor<100xf32>", "(tensor<10x100xf32>, tensor<2x5x100xbf16>)", R"(
    %0 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<100xf32>) -> tensor<10x100xf32>
    %1 = sinter.add %p, %0 : (tensor<10x100xf32>, tensor<10x100xf32>) -> tensor<10x100xf32>
    %2 = sinter.gelu %1 {tanh} : (tensor<10x100xf32>) -> tensor<10x100xf32>
    %3 = sinter.reshape %2 : (tensor<10x100xf32>) -> tensor<2x5x100xf32>
    %4 = sinter.cast %3 : (tensor<2x5x100xf32>) -> tensor<2x5x100xbf16>
    return %1, %4 : tensor<10x100xf32>, tensor<2x5x100xbf16>)"),
      2e-3);
}

// A gradient that grows where it is: the sum is written over the addend, in several blocks of k.
TEST(GemmEpilogue, SumOverItsAddend) {
  std::string text = R"(
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func private @kernel(%x: tensor<3000x70xf32>, %g: tensor<3000x100xf32, #panels>,
        %old: tensor<70x100xf32>) -> tensor<70x100xf32> attributes {sinter.kernel = "gemm"} {
      %p = sinter.matmul %x, %g {transpose_lhs}
        : (tensor<3000x70xf32>, tensor<3000x100xf32, #panels>) -> tensor<70x100xf32>
      %0 = sinter.add %old, %p
        : (tensor<70x100xf32>, tensor<70x100xf32>) -> tensor<70x100xf32>
      return %0 : tensor<70x100xf32>
    })";
  expectSameAsReference(text, 1e-6);
  KernelJit jit(getContext(), text, getHostTarget());
  ASSERT_EQ(jit.getError(), "");
  EXPECT_EQ(sinter::findReusableArguments(jit.getKernel().front()), llvm::SmallVector<int64_t>{2});
  std::vector<GuardedStorage> storage;
  llvm::SmallVector<void *> slices;
  for (auto [i, type] : llvm::enumerate(jit.getKernel().getArgumentTypes())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    storage.emplace_back(tensor).write(makeNormal(tensor, i));
    slices.push_back(storage.back().data());
  }
  storage.emplace_back(storage[2].getType());
  slices.push_back(storage.back().data());
  jit.run(slices, 0, jit.getGrid());
  slices.back() = slices[2];
  jit.run(slices, 0, jit.getGrid());
  EXPECT_EQ(memcmp(storage[2].data(), storage[3].data(), storage[3].size()), 0);
}

TEST(GemmEpilogue, GateAndUp) {
  expectSameAsReference(withEpilogue("", "tensor<10x128xf32>", R"(
    %g = sinter.slice %p {offsets = array<i64: 0, 0>} : (tensor<10x256xf32>) -> tensor<10x128xf32>
    %u = sinter.slice %p {offsets = array<i64: 0, 128>} : (tensor<10x256xf32>) -> tensor<10x128xf32>
    %0 = sinter.silu %g : (tensor<10x128xf32>) -> tensor<10x128xf32>
    %1 = sinter.mul %0, %u : (tensor<10x128xf32>, tensor<10x128xf32>) -> tensor<10x128xf32>
    return %1 : tensor<10x128xf32>)",
                                     256),
                        1e-6);
}

TEST(GemmErrors, GateAndUpNotInPanels) {
  expectError(withEpilogue("", "tensor<10x50xf32>", R"(
    %g = sinter.slice %p {offsets = array<i64: 0, 0>} : (tensor<10x100xf32>) -> tensor<10x50xf32>
    %u = sinter.slice %p {offsets = array<i64: 0, 50>} : (tensor<10x100xf32>) -> tensor<10x50xf32>
    %1 = sinter.mul %g, %u : (tensor<10x50xf32>, tensor<10x50xf32>) -> tensor<10x50xf32>
    return %1 : tensor<10x50xf32>)"),
              "expected the product to be sliced at multiples of 64 columns, got 0");
}

TEST(GemmErrors, TransposedResult) {
  expectError(withEpilogue("", "tensor<100x10xf32>", R"(
    %0 = sinter.transpose %p {permutation = array<i64: 1, 0>}
      : (tensor<10x100xf32>) -> tensor<100x10xf32>
    return %0 : tensor<100x10xf32>)"),
              "expected an elementwise, broadcast");
}

TEST(GemmErrors, RowReduction) {
  expectError(withEpilogue("", "tensor<10xf32>", R"(
    %0 = sinter.reduce sum %p : (tensor<10x100xf32>) -> tensor<10xf32>
    return %0 : tensor<10xf32>)"),
              "expected an elementwise, broadcast");
}

TEST(GemmErrors, OtherPanels) {
  expectError(R"(
    #panels = #sinter.panels<width = 48, interleave = 1, depth = 16>
    func.func private @kernel(%x: tensor<1x16xf32>, %w: tensor<16x64xf32, #panels>)
        -> tensor<1x64xf32> attributes {sinter.kernel = "gemm"} {
      %p = sinter.matmul %x, %w
        : (tensor<1x16xf32>, tensor<16x64xf32, #panels>) -> tensor<1x64xf32>
      return %p : tensor<1x64xf32>
    })",
              "expected rhs [k, n] in panels of whole vectors, several of which are 64 columns");
}

TEST(GemmErrors, TransposedLhsOfDensePairs) {
  expectError(transposedProduct(8, 16, 64, "bf16", ""),
              "expected a transposed lhs of f32 or in panels");
}

TEST(GemmErrors, PanelsOfLhsWithoutPairs) {
  expectError(transposedProduct(8, 16, 64, "bf16",
                                ", #sinter.panels<width = 64, interleave = 1, depth = 32>"),
              "expected a packed lhs to be an input with interleave 2");
}

TEST(GemmErrors, NoMatmul) {
  expectError(R"(
    func.func private @kernel(%x: tensor<1x16xf32>) -> tensor<1x16xf32>
        attributes {sinter.kernel = "gemm"} {
      return %x : tensor<1x16xf32>
    })",
              "expected a matmul in a GEMM kernel");
}

TEST(GemmOperands, ColumnsOfAnInput) {
  expectSameAsReference(R"(
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func private @kernel(%x: tensor<2x4x90xf32>, %w: tensor<30x70xf32, #panels>)
        -> tensor<2x4x70xf32> attributes {sinter.kernel = "gemm"} {
      %s = sinter.slice %x {offsets = array<i64: 0, 0, 60>}
        : (tensor<2x4x90xf32>) -> tensor<2x4x30xf32>
      %p = sinter.matmul %s, %w
        : (tensor<2x4x30xf32>, tensor<30x70xf32, #panels>) -> tensor<2x4x70xf32>
      return %p : tensor<2x4x70xf32>
    })",
                        1e-6);
}

TEST(GemmOperands, TransposedColumnsOfAnInput) {
  expectSameAsReference(R"(
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func private @kernel(%x: tensor<2x15x90xf32>, %g: tensor<30x70xf32, #panels>)
        -> tensor<40x70xf32> attributes {sinter.kernel = "gemm"} {
      %r = sinter.reshape %x : (tensor<2x15x90xf32>) -> tensor<30x90xf32>
      %s = sinter.slice %r {offsets = array<i64: 0, 50>}
        : (tensor<30x90xf32>) -> tensor<30x40xf32>
      %p = sinter.matmul %s, %g {transpose_lhs}
        : (tensor<30x40xf32>, tensor<30x70xf32, #panels>) -> tensor<40x70xf32>
      return %p : tensor<40x70xf32>
    })",
                        1e-6);
}

TEST(GemmOperands, BothTransposed) {
  expectSameAsReference(R"(
    func.func private @kernel(%x: tensor<30x9xf32>, %w: tensor<70x30xf32>)
        -> tensor<9x70xf32> attributes {sinter.kernel = "gemm"} {
      %p = sinter.matmul %x, %w {transpose_lhs, transpose_rhs}
        : (tensor<30x9xf32>, tensor<70x30xf32>) -> tensor<9x70xf32>
      return %p : tensor<9x70xf32>
    })",
                        1e-6);
}

TEST(GemmOperands, DenseWeights) {
  expectSameAsReference(R"(
    func.func private @kernel(%x: tensor<9x30xbf16>, %w: tensor<30x70xbf16>)
        -> tensor<9x70xf32> attributes {sinter.kernel = "gemm"} {
      %p = sinter.matmul %x, %w : (tensor<9x30xbf16>, tensor<30x70xbf16>) -> tensor<9x70xf32>
      return %p : tensor<9x70xf32>
    })",
                        1e-6);
}

TEST(GemmOperands, DenseTransposedWeights) {
  expectSameAsReference(R"(
    func.func private @kernel(%x: tensor<9x30xf32>, %w: tensor<70x30xf32>)
        -> tensor<9x70xf32> attributes {sinter.kernel = "gemm"} {
      %p = sinter.matmul %x, %w {transpose_rhs}
        : (tensor<9x30xf32>, tensor<70x30xf32>) -> tensor<9x70xf32>
      return %p : tensor<9x70xf32>
    })",
                        1e-6);
}

} // namespace
