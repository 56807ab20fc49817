// Products by codes of four bits, which stand for sixteen values.

#include "compiler/Analysis/KernelLayouts.h"
#include "runtime/Weights/IntegerFormat.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sinter::jit;
using namespace sinter::test;

namespace {

/// A kernel that multiplies [m, k], numbers or bytes with a scale a row, by codes [k, n] in panels,
/// with a scale for `group` of a column.
std::string codeProduct(int64_t m, int64_t k, int64_t n, int64_t group, sinter::PanelsAttr panels,
                        bool ofBytes) {
  std::string x = llvm::formatv("tensor<{0}x{1}x{2}>", m, k, ofBytes ? "i8" : "f32");
  std::string rows = llvm::formatv("tensor<{0}x1xf32>", m);
  return llvm::formatv(R"(
    #codes = {5}
    #scales = #sinter.panels<width = {4}, interleave = 1, depth = 1>
    func.func private @kernel(%x: {6}, %w: tensor<{1}x{2}xi8, #codes>,
                              %s: tensor<{3}x{2}xbf16, #scales> {7}) -> tensor<{0}x{2}xf32>
        attributes {{sinter.kernel = "gemm"} {{
      %0 = sinter.matmul %x, %w, %s {8}
        : ({6}, tensor<{1}x{2}xi8, #codes>, tensor<{3}x{2}xbf16, #scales> {9}) -> tensor<{0}x{2}xf32>
      return %0 : tensor<{0}x{2}xf32>
    })",
                       m, k, n, k / group, panels.getWidth(), mlir::Attribute(panels), x,
                       ofBytes ? ", %r: " + rows : "", ofBytes ? "rows %r" : "",
                       ofBytes ? ", " + rows : "")
      .str();
}

// Of e2m1, and of so wide a range that sums of two products do not fit 16 bits.
TEST(GemmOfCodes, IsThatOfTheirValues) {
  sinter::CodeValues wide = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};
  for (sinter::TargetAttr target : getHostTargets())
    for (const sinter::CodeValues &values : {sinter::twiceE2M1, wide}) {
      auto ofValues = mlir::DenseI8ArrayAttr::get(&getContext(), values);
      sinter::PanelsAttr panels = sinter::getCodePanels(ofValues, target);
      ASSERT_TRUE(panels);
      auto make = [&](unsigned index, mlir::RankedTensorType type) {
        if (!type.getElementType().isInteger())
          return makeNormal(type, index);
        sinter::ReferenceTensor tensor(type);
        for (int64_t i = 0; i < tensor.getNumElements(); ++i)
          tensor[i] = index == 1 ? values[(i * 37 + i / 7) % 16] : i % 5 == 0 ? 127 : -128;
        return tensor;
      };
      for (auto [k, group] : {std::pair<int64_t, int64_t>{96, 32}, {1056, 32}, {80, 16}})
        for (int64_t m : {1, 3, 5, 33})
          for (bool ofBytes : {false, true})
            if (!ofBytes || k == 96)
              expectSameAsReference(codeProduct(m, k, 72, group, panels, ofBytes), 2e-6, target,
                                    make);
      // All of the largest have the largest sums.
      auto makeLargest = [&](unsigned index, mlir::RankedTensorType type) {
        sinter::ReferenceTensor tensor(type);
        llvm::fill(tensor.data(), index == 1 ? *llvm::max_element(values) : -1);
        return tensor;
      };
      expectSameAsReference(codeProduct(1, 64, 64, 32, panels, false), 2e-6, target, makeLargest);
    }
}

} // namespace
