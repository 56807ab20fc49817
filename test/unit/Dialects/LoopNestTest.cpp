//===- LoopNestTest.cpp - Split over two devices, the same result -----------===//
//
// Every op that says how it may be split is computed whole and in two halves of each of its loops,
// on parts of random operands; put together as the nest says the halves are the whole. In double
// precision sums in another order differ by some 1e-15 of their terms.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/Dialects/ShardableOps.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace sinter;

namespace {

/// Normal numbers, or integers below 5 with some that are negative.
ReferenceTensor makeRandom(RankedTensorType type, std::mt19937_64 &random) {
  ReferenceTensor value(type);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> integer(-1, 4);
  for (double &element : value.data())
    element = type.getElementType().isInteger() ? integer(random) : std::abs(normal(random)) + 0.1;
  return value;
}

/// Calls `visit` with every index of a shape.
void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0, count = ShapedType::getNumElements(shape); i < count; ++i) {
    visit(index);
    for (int64_t dim = index.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

/// A loop of an op split in two.
class Halves {
public:
  Halves(Operation *op, unsigned loop)
      : op(op), nest(cast<ShardableOpInterface>(op).getLoopNest()), loop(loop) {}

  bool exist() const {
    if (nest.loops[loop] == LoopKind::Whole)
      return false;
    auto isEven = [&](Value value, unsigned tensor) {
      auto shape = cast<RankedTensorType>(value.getType()).getShape();
      return llvm::all_of(splitDims(tensor), [&](unsigned dim) { return shape[dim] % 2 == 0; });
    };
    bool even = true;
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      even &= isEven(value, i);
    for (auto [i, value] : llvm::enumerate(op->getResults()))
      even &= isEven(value, op->getNumOperands() + i);
    return even;
  }

  /// The results put together from those of both halves.
  SmallVector<ReferenceTensor> evaluate(ArrayRef<ReferenceTensor> operands) const {
    SmallVector<ReferenceTensor> results;
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<ReferenceTensor> parts;
      for (auto [i, operand] : llvm::enumerate(operands))
        parts.push_back(cut(operand, i, half));
      for (auto [i, part] : llvm::enumerate(evaluateHalf(parts)))
        combine(results, i, part, half);
    }
    return results;
  }

private:
  SmallVector<unsigned> splitDims(unsigned tensor) const {
    SmallVector<unsigned> dims;
    for (auto [dim, expr] : llvm::enumerate(nest.maps[tensor].getResults()))
      if (cast<AffineDimExpr>(expr).getPosition() == loop)
        dims.push_back(dim);
    return dims;
  }

  RankedTensorType halfOf(Type type, unsigned tensor) const {
    auto whole = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(whole.getShape());
    for (unsigned dim : splitDims(tensor))
      shape[dim] /= 2;
    return whole.clone(shape);
  }

  /// An index into a half as one into the whole.
  SmallVector<int64_t> wholeIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> half, unsigned tensor,
                                  int64_t which) const {
    SmallVector<int64_t> whole(index);
    for (unsigned dim : splitDims(tensor))
      whole[dim] += which * half[dim];
    return whole;
  }

  ReferenceTensor cut(const ReferenceTensor &whole, unsigned tensor, int64_t which) const {
    ReferenceTensor part(halfOf(whole.getType(), tensor));
    forEachIndex(part.getShape(), [&](ArrayRef<int64_t> index) {
      part.at(index) = whole.at(wholeIndex(index, part.getShape(), tensor, which));
    });
    return part;
  }

  /// Runs the op on tensors of half the size; it has to be valid.
  SmallVector<ReferenceTensor> evaluateHalf(ArrayRef<ReferenceTensor> operands) const {
    Block block;
    for (const ReferenceTensor &part : operands)
      block.addArgument(part.getType(), op->getLoc());
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    Operation *half = builder.clone(*op);
    half->setOperands(block.getArguments());
    for (auto [i, result] : llvm::enumerate(half->getResults()))
      result.setType(halfOf(result.getType(), op->getNumOperands() + i));
    EXPECT_TRUE(succeeded(verify(half)));
    return cast<ReferenceOpInterface>(half).evaluate(operands);
  }

  void combine(SmallVector<ReferenceTensor> &results, unsigned i, const ReferenceTensor &part,
               int64_t half) const {
    unsigned tensor = op->getNumOperands() + i;
    if (results.size() == i)
      results.push_back(ReferenceTensor(cast<RankedTensorType>(op->getResult(i).getType())));
    forEachIndex(part.getShape(), [&](ArrayRef<int64_t> index) {
      double &to = results[i].at(wholeIndex(index, part.getShape(), tensor, half));
      double value = part.at(index);
      if (nest.loops[loop] != LoopKind::Reduction || half == 0)
        to = value;
      else if (nest.reduction == LoopReduction::Max)
        to = std::max(to, value);
      else
        to = nest.reduction == LoopReduction::Average ? (to + value) / 2 : to + value;
    });
  }

  Operation *op;
  LoopNest nest;
  unsigned loop;
};

class LoopNests : public testing::Test {
protected:
  LoopNests() {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(test::kOps, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LoopNests, HalvesAreTheWhole) {
  ASSERT_TRUE(module);
  std::mt19937_64 random(1);
  unsigned compared = 0;
  module->walk([&](ShardableOpInterface shardable) {
    Operation *op = shardable;
    LoopNest nest = shardable.getLoopNest();
    ASSERT_EQ(nest.maps.size(), op->getNumOperands() + op->getNumResults());
    // A half does not know where it stands; PartitionTest tells it.
    if (nest.placed)
      return;
    SmallVector<ReferenceTensor> operands;
    for (Type type : op->getOperandTypes())
      operands.push_back(makeRandom(cast<RankedTensorType>(type), random));
    SmallVector<ReferenceTensor> whole = cast<ReferenceOpInterface>(op).evaluate(operands);
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
      Halves halves(op, loop);
      if (!halves.exist())
        continue;
      ++compared;
      SmallVector<ReferenceTensor> together = halves.evaluate(operands);
      for (auto [i, expected] : llvm::enumerate(whole))
        for (int64_t j = 0; j < expected.getNumElements(); ++j)
          if (together[i][j] != expected[j]) // infinities are equal
            ASSERT_NEAR(together[i][j], expected[j], 1e-12 * (1 + std::abs(expected[j])))
                << op->getName().getStringRef().str() << ", loop " << loop << ", result " << i;
    }
  });
  EXPECT_GT(compared, 70u) << "loops that are split";
}

TEST_F(LoopNests, EveryOpOfAGraphHasOne) {
  ASSERT_TRUE(module);
  std::set<std::string> tested;
  module->walk([&](Operation *op) { tested.insert(op->getName().getStringRef().str()); });
  // What comes with the splitting and later than it.
  const std::set<std::string> without = {"sinter.call_kernel", "sinter.fusion", "sinter.pack",
                                         "sinter.yield"};
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "sinter")
      continue;
    std::string text = name.getStringRef().str();
    if (name.hasInterface<CollectiveOpInterface>())
      continue;
    EXPECT_EQ(name.hasInterface<ShardableOpInterface>(), !without.contains(text)) << text;
    if (!without.contains(text) && !name.hasInterface<ElementwiseOpInterface>())
      EXPECT_TRUE(tested.contains(text)) << text;
  }
}

} // namespace
