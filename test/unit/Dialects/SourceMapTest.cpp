//===- SourceMapTest.cpp - Where moved elements come from -------------------===//
//
// Every op that moves elements is computed by its reference, on an operand of which all elements
// differ; each element of the result is the one that the op's map names.
//
//===----------------------------------------------------------------------===//

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace mlir;
using namespace sinter;

namespace {

constexpr const char *kMoves = R"(
#panels = #sinter.panels<width = 4, interleave = 1, depth = 2>
func.func @moves(%x: tensor<2x3x4xf32>, %row: tensor<3xf32>, %number: tensor<f32>,
                 %matrix: tensor<3x4xf32>) {
  %0 = sinter.broadcast %row {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3x4xf32>
  %1 = sinter.broadcast %number {dims = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
  %2 = sinter.broadcast %matrix {dims = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
  %3 = sinter.reshape %x : (tensor<2x3x4xf32>) -> tensor<4x6xf32>
  %4 = sinter.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x1x12x1xf32>
  %5 = sinter.reshape %matrix : (tensor<3x4xf32>) -> tensor<1x12xf32>
  %6 = sinter.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %7 = sinter.slice %x {offsets = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<1x3x2xf32>
  %8 = sinter.pack %matrix : (tensor<3x4xf32>) -> tensor<3x4xf32, #panels>
  return
}
)";

class SourceMaps : public testing::Test {
protected:
  SourceMaps() {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(kMoves, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(SourceMaps, NameTheElementsOfTheReference) {
  ASSERT_TRUE(module);
  std::set<std::string> tested;
  module->walk([&](MoveOpInterface move) {
    Operation *op = move;
    tested.insert(op->getName().getStringRef().str());
    ReferenceTensor operand(cast<RankedTensorType>(op->getOperand(0).getType()));
    std::iota(operand.data().begin(), operand.data().end(), 1.0);
    ReferenceTensor result = cast<ReferenceOpInterface>(op).evaluate(operand).front();
    SmallVector<int64_t> strides = computeStrides(result.getShape());
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      EXPECT_EQ(result[i], operand.at(move.getSourceMap().compose(delinearize(i, strides))))
          << op->getName().getStringRef().str() << ", element " << i;
  });
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<MoveOpInterface>())
      EXPECT_TRUE(tested.contains(name.getStringRef().str())) << name.getStringRef().str();
}

TEST_F(SourceMaps, OnlyBroadcastsRepeat) {
  ASSERT_TRUE(module);
  module->walk([&](MoveOpInterface move) {
    EXPECT_EQ(move.repeatsElements(), isa<BroadcastOp>(move))
        << move->getName().getStringRef().str();
  });
}

} // namespace
