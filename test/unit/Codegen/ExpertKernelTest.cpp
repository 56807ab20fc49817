//===- ExpertKernelTest.cpp - Choosing experts, and their products ----------===//

#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/Weights/IntegerFormat.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace sinter::jit;
using namespace sinter::test;

namespace {

using Bounds = std::vector<int64_t>;

/// Normal numbers, integers of 8 and 4 bits, and these offsets.
MakeArgument withOffsets(Bounds offsets) {
  return [offsets](unsigned index, mlir::RankedTensorType type) {
    if (mlir::isa<mlir::FloatType>(type.getElementType()))
      return makeNormal(type, 17 + index);
    sinter::ReferenceTensor values(type);
    if (llvm::ArrayRef<int8_t> codes = sinter::getCodeValues(type); !codes.empty()) {
      for (int64_t i = 0; i < values.getNumElements(); ++i)
        values[i] = codes[(i * 2654435761 >> 7) % codes.size()];
      return values;
    }
    if (int64_t bits = type.getElementTypeBitWidth(); bits < 32) {
      int64_t half = int64_t(1) << (bits - 1);
      for (int64_t i = 0; i < values.getNumElements(); ++i)
        values[i] = static_cast<double>((i * 2654435761 >> 7) % (2 * half) - half);
      return values;
    }
    for (auto [value, offset] : llvm::zip_equal(values.data(), offsets))
      value = static_cast<double>(offset);
    return values;
  };
}

/// A kernel that multiplies [m, k] by `groups` matrices, [k, n] or transposed, of a layout (", ..."
/// or nothing).
std::string product(int64_t m, int64_t k, int64_t n, int64_t groups, bool transposed,
                    llvm::StringRef element = "f32", llvm::StringRef layout = "") {
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}x{6}>, %w: tensor<{3}x{4}x{5}x{6}{7}>,
                              %o: tensor<{8}xi32>) -> tensor<{0}x{2}xf32>
        attributes {{sinter.kernel = "grouped_gemm"} {{
      %0 = sinter.grouped_matmul %x, %w, %o {9}
        : (tensor<{0}x{1}x{6}>, tensor<{3}x{4}x{5}x{6}{7}>, tensor<{8}xi32>) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, groups, transposed ? n : k, transposed ? k : n, element, layout,
                       groups + 1, transposed ? "{transpose_rhs}" : "")
      .str();
}

/// The same of panels of this machine.
std::string packedProduct(int64_t m, int64_t k, int64_t n, int64_t groups,
                          llvm::StringRef element) {
  mlir::MLIRContext &context = getContext();
  mlir::Type type = element == "f32" ? mlir::Type(mlir::Float32Type::get(&context))
                                     : mlir::Type(mlir::BFloat16Type::get(&context));
  sinter::PanelsAttr panels = sinter::getPanels(type, getHostTarget());
  std::string layout = llvm::formatv(", #sinter.panels<width = {0}, interleave = {1}, depth = {2}>",
                                     panels.getWidth(), panels.getInterleave(), panels.getDepth());
  return product(m, k, n, groups, /*transposed=*/false, element, layout);
}

/// The same by integers in panels of this machine, of which `group` along k share a scale, of f16,
/// and maybe a minimum; of 8 bits maybe in codes of four that stand for `values`.
std::string integerProduct(int64_t m, int64_t k, int64_t n, int64_t groups, int64_t bits,
                           int64_t group, bool hasMinima,
                           std::optional<sinter::CodeValues> values = std::nullopt) {
  sinter::PanelsAttr panels =
      sinter::getIntegerPanels(mlir::IntegerType::get(&getContext(), bits), getHostTarget());
  if (values)
    panels =
        sinter::getCodePanels(mlir::DenseI8ArrayAttr::get(&getContext(), *values), getHostTarget());
  constexpr const char *kLayout = ", #sinter.panels<width = {0}, interleave = {1}, depth = {2}>";
  std::string w =
      llvm::formatv("tensor<{0}x{1}x{2}xi{3}, {4}>", groups, k, n, bits, mlir::Attribute(panels));
  auto ofGroups = [&](const char *element) {
    return llvm::formatv("tensor<{0}x{1}x{2}x{3}{4}>", groups, k / group, n, element,
                         llvm::formatv(kLayout, panels.getWidth(), 1, 1).str())
        .str();
  };
  std::string minima = ofGroups("f32"), scales = ofGroups("f16");
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: {3}, %o: tensor<{4}xi32>,
                              %s: {5} {6}) -> tensor<{0}x{2}xf32>
        attributes {{sinter.kernel = "grouped_gemm"} {{
      %0 = sinter.grouped_matmul %x, %w, %o scales %s {7}
        : (tensor<{0}x{1}xf32>, {3}, tensor<{4}xi32>, {5} {8}) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, w, groups + 1, scales, hasMinima ? ", %z: " + minima : "",
                       hasMinima ? "minima %z" : "", hasMinima ? ", " + minima : "")
      .str();
}

std::string outer(int64_t m, int64_t a, int64_t b, int64_t groups, llvm::StringRef element) {
  return llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}x{5}>, %y: tensor<{0}x{2}x{5}>,
                              %o: tensor<{4}xi32>) -> tensor<{3}x{1}x{2}xf32>
        attributes {{sinter.kernel = "grouped_gemm"} {{
      %0 = sinter.grouped_outer %x, %y, %o
        : (tensor<{0}x{1}x{5}>, tensor<{0}x{2}x{5}>, tensor<{4}xi32>) -> tensor<{3}x{1}x{2}xf32>
      return %0 : tensor<{3}x{1}x{2}xf32>
    })",
                       m, a, b, groups, groups + 1, element)
      .str();
}

// Groups without rows, of one, of a tile and more, of more than a block.
const std::pair<int64_t, Bounds> kGroups[] = {
    {1, {0, 0, 1, 1}},
    {7, {0, 0, 0, 7}},
    {23, {0, 5, 11, 23}},
    {131, {0, 2, 129, 131}},
};

TEST(GroupedMatmul, OfPanels) {
  for (const auto &[m, offsets] : kGroups)
    for (llvm::StringRef element : {"f32", "bf16"})
      for (auto [k, n] : {std::pair(64, 96), {77, 32}})
        expectSameAsReference(packedProduct(m, k, n, 3, element), 1e-5, {}, withOffsets(offsets));
}

// Sums of two products by these do not fit 16 bits.
constexpr sinter::CodeValues kWideValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

TEST(GroupedMatmul, OfIntegers) {
  const std::tuple<int64_t, int64_t, int64_t> shapes[] = {
      {64, 96, 32}, {48, 32, 16}, {72, 32, 72}, {40, 352, 8}};
  for (auto [of, shape] : llvm::zip_equal(kGroups, shapes)) {
    auto [m, offsets] = of;
    auto [k, n, group] = shape;
    for (int64_t bits : {8, 4})
      expectSameAsReference(integerProduct(m, k, n, 3, bits, group, group <= 16), 1e-6, {},
                            withOffsets(offsets));
    for (const sinter::CodeValues &values : {sinter::twiceE2M1, kWideValues})
      expectSameAsReference(integerProduct(m, k, n, 3, 8, group, group <= 16, values), 1e-6, {},
                            withOffsets(offsets));
  }
}

// What is kept of rows is of parts of k.
TEST(GroupedMatmul, OfIntegersAndLongRows) {
  for (auto [bits, k, group] : {std::tuple(8, 16640, 16640), {4, 4736, 128}})
    expectSameAsReference(integerProduct(5, k, 32, 2, bits, group, true), 1e-6, {},
                          withOffsets({0, 1, 5}));
}

TEST(GroupedMatmul, OfLongRows) {
  expectSameAsReference(packedProduct(3, 2500, 32, 2, "f32"), 1e-5, {}, withOffsets({0, 2, 3}));
}

TEST(GroupedMatmul, OfDenseMatrices) {
  for (const auto &[m, offsets] : kGroups)
    for (bool transposed : {false, true})
      for (auto [k, n] : {std::pair(77, 70), {300, 5}})
        expectSameAsReference(product(m, k, n, 3, transposed), 1e-5, {}, withOffsets(offsets));
  expectSameAsReference(product(23, 40, 24, 3, true, "bf16"), 1e-5, {},
                        withOffsets({0, 5, 11, 23}));
}

/// What a product by two matrices computes where the first has all rows but those from `second` on.
sinter::ReferenceTensor multiply(int64_t m, int64_t second, const std::string &text) {
  KernelJit jit(getContext(), text, getHostTarget());
  EXPECT_EQ(jit.getError(), "");
  std::vector<GuardedStorage> storage;
  llvm::SmallVector<void *> slices;
  auto make = withOffsets({0, second, m});
  mlir::FunctionType type = jit.getKernel().getFunctionType();
  for (auto [i, argument] : llvm::enumerate(type.getInputs())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(argument);
    sinter::ReferenceTensor values = make(i, tensor);
    // Both matrices are the same, and their scales.
    if (i == 1 || i > 2)
      for (int64_t j = 0; j < values.getNumElements() / 2; ++j)
        values[values.getNumElements() / 2 + j] = values[j];
    storage.emplace_back(tensor).write(values);
  }
  storage.emplace_back(mlir::cast<mlir::RankedTensorType>(type.getResult(0)));
  for (GuardedStorage &memory : storage)
    slices.push_back(memory.data());
  jit.run(slices, 0, jit.getGrid());
  return storage.back().read();
}

TEST(GroupedMatmul, GivesARowTheSameBitsBesideAnyOthers) {
  constexpr int64_t m = 45;
  for (const std::string &text :
       {packedProduct(m, 100, 32, 2, "f32"), packedProduct(m, 100, 32, 2, "bf16"),
        packedProduct(m, 101, 32, 2, "bf16"), product(m, 100, 32, 2, /*transposed=*/true),
        integerProduct(m, 96, 32, 2, 8, 32, /*hasMinima=*/false),
        integerProduct(m, 96, 32, 2, 4, 32, /*hasMinima=*/true)}) {
    sinter::ReferenceTensor together = multiply(m, m, text);
    for (int64_t second : {0, 1, 5, 13, 33})
      EXPECT_EQ(multiply(m, second, text).data(), together.data()) << second;
  }
}

TEST(GroupedMatmul, StaysInsideOfItsTensors) {
  expectSameAsReference(product(12, 32, 64, 3, true), 1e-5, {},
                        withOffsets({-5, 900, 900, 1 << 30}));
}

TEST(GroupedMatmul, IsRefused) {
  expectError(product(4, 32, 64, 3, true, "f64"), "expected operands of f32 or bf16, got 'f64'");
  expectError(product(4, 32, 64, 3, false, "f32",
                      ", #sinter.panels<width = 64, interleave = 1, depth = 16>"),
              "expected rhs [g, k, n] in whole panels of the target's, or dense, got");
  expectError(product(4, 32, 40, 3, false, "f32",
                      ", #sinter.panels<width = 32, interleave = 1, depth = 16>"),
              "expected rhs [g, k, n] in whole panels");
}

TEST(GroupedMatmul, OfIntegersIsRefused) {
  std::string ofGroupsOf2 = integerProduct(4, 32, 64, 3, 4, 2, false);
  sinter::TargetAttr target = getHostTarget();
  auto refuse = [&](llvm::StringRef text, llvm::StringRef message) {
    expectError(text, message, ("cpu:" + target.getChip()).str());
  };
  auto change = [](std::string text, llvm::StringRef from, llvm::StringRef to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  };
  refuse(ofGroupsOf2, "expected groups of whole words of 4 integers, got groups of 2");
  refuse(change(ofGroupsOf2, "depth = 32", "depth = 16"),
         "expected integers [g, k, n] in whole panels of the target's, got");
  refuse(change(ofGroupsOf2, "f16", "f64"), "expected scales and minima of at most 32 bits");
}

TEST(GroupedOuter, OfRows) {
  for (const auto &[m, offsets] : kGroups)
    for (llvm::StringRef element : {"f32", "bf16"})
      for (auto [a, b] : {std::pair(7, 70), {20, 5}})
        expectSameAsReference(outer(m, a, b, 3, element), 1e-5, {}, withOffsets(offsets));
}

TEST(GroupedOuter, OfManyRows) {
  expectSameAsReference(outer(500, 7, 40, 2, "f32"), 1e-5, {}, withOffsets({0, 490, 500}));
}

constexpr const char *kTopK = R"(
  func.func private @kernel(%x: tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>)
      attributes {sinter.kernel = "routing"} {
    %0:2 = sinter.top_k %x : (tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>)
    return %0#0, %0#1 : tensor<6x4xf32>, tensor<6x4xi32>
  })";

TEST(TopK, OrdersTies) {
  constexpr double large = 0x1p120;
  expectSameAsReference(kTopK, 0, {}, [&](unsigned, mlir::RankedTensorType type) {
    sinter::ReferenceTensor x = makeNormal(type, 3);
    for (int64_t j = 0; j < 9; ++j) {
      x[j] = 1; // all alike
      x[9 + j] = j % 2 ? 0.0 : -0.0;
      x[18 + j] = j % 3 ? -2 : 5;
    }
    for (int64_t j : {2, 4, 5})
      x[27 + j] = large;
    for (int64_t j = 0; j < 8; ++j)
      x[36 + j] = -large;
    return x;
  });
}

TEST(TopK, PutsNanLast) {
  KernelJit jit(getContext(), kTopK, getHostTarget());
  ASSERT_EQ(jit.getError(), "");
  std::vector<GuardedStorage> storage;
  mlir::FunctionType type = jit.getKernel().getFunctionType();
  for (mlir::Type each : {type.getInput(0), type.getResult(0), type.getResult(1)})
    storage.emplace_back(mlir::cast<mlir::RankedTensorType>(each));
  sinter::ReferenceTensor x(storage[0].getType());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double &element : x.data())
    element = std::numeric_limits<double>::quiet_NaN();
  x[3] = -infinity;
  x[7] = infinity;
  storage[0].write(x);
  jit.run({storage[0].data(), storage[1].data(), storage[2].data()}, 0, jit.getGrid());
  sinter::ReferenceTensor indices = storage[2].read();
  EXPECT_EQ(indices.data().take_front(8), llvm::ArrayRef<double>({7, 3, 0, 1, 0, 1, 2, 3}));
}

TEST(TopK, OfSixteenBits) {
  expectSameAsReference(R"(
    func.func private @kernel(%x: tensor<3x70xbf16>) -> (tensor<3x70xbf16>, tensor<3x70xi32>)
        attributes {sinter.kernel = "routing"} {
      %0:2 = sinter.top_k %x : (tensor<3x70xbf16>) -> (tensor<3x70xbf16>, tensor<3x70xi32>)
      return %0#0, %0#1 : tensor<3x70xbf16>, tensor<3x70xi32>
    })",
                        0);
}

TEST(Route, OrdersAssignments) {
  for (int64_t experts : {1, 3, 9})
    expectSameAsReference(llvm::formatv(R"(
    func.func private @kernel(%ids: tensor<20x2xi32>)
        -> (tensor<40xi32>, tensor<40xi32>, tensor<20x2xi32>, tensor<{0}xi32>)
        attributes {{sinter.kernel = "routing"} {{
      %0:4 = sinter.route %ids : (tensor<20x2xi32>)
        -> (tensor<40xi32>, tensor<40xi32>, tensor<20x2xi32>, tensor<{0}xi32>)
      return %0#0, %0#1, %0#2, %0#3
        : tensor<40xi32>, tensor<40xi32>, tensor<20x2xi32>, tensor<{0}xi32>
    })",
                                        experts + 1)
                              .str(),
                          0, {}, [](unsigned, mlir::RankedTensorType type) {
                            sinter::ReferenceTensor ids(type);
                            for (int64_t i = 0; i < ids.getNumElements(); ++i)
                              ids[i] = static_cast<double>(i * 7 % 11 - 1); // some are no expert's
                            return ids;
                          });
}

} // namespace
