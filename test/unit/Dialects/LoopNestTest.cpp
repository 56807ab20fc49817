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
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace sinter;

namespace {

constexpr const char *kOps = R"(
!m = tensor<4x6xf64>
!v = tensor<6xf64>
!r = tensor<4xf64>
!s = tensor<f64>
!ids = tensor<4xi32>
func.func @elementwise(%x: !m, %y: !m) -> !m {
  %0 = sinter.add %x, %y : (!m, !m) -> !m
  %1 = sinter.where_finite %0, %x, %y : (!m, !m, !m) -> !m
  %2 = sinter.silu %1 : (!m) -> !m
  return %2 : !m
}
func.func @products(%x: tensor<2x4x6xf64>, %w: tensor<6x8xf64>, %wt: tensor<8x6xf64>, %a: tensor<4x6xf64>,
                    %b: tensor<4x8xf64>, %bt: tensor<8x4xf64>) {
  %0 = sinter.matmul %x, %w : (tensor<2x4x6xf64>, tensor<6x8xf64>) -> tensor<2x4x8xf64>
  %1 = sinter.matmul %x, %wt {transpose_rhs} : (tensor<2x4x6xf64>, tensor<8x6xf64>) -> tensor<2x4x8xf64>
  %2 = sinter.matmul %a, %b {transpose_lhs} : (tensor<4x6xf64>, tensor<4x8xf64>) -> tensor<6x8xf64>
  %3 = sinter.matmul %a, %bt {transpose_lhs, transpose_rhs} : (tensor<4x6xf64>, tensor<8x4xf64>) -> tensor<6x8xf64>
  return
}
func.func @rows(%x: !m, %w: !v, %g: !m, %ids: !ids, %dl: !r, %x3: tensor<4x2x6xf64>, %x3w: tensor<6x10xf64>) {
  %0 = sinter.reduce sum %x : (!m) -> !r
  %1 = sinter.reduce max %x : (!m) -> !r
  %2 = sinter.reduce mean %x : (!m) -> !r
  %3 = sinter.column_sum %x : (!m) -> !v
  %4 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (!m, !v) -> !m
  %5 = sinter.layer_norm %x, %w, %w {eps = 1.0e-5} : (!m, !v, !v) -> !m
  %6 = sinter.layer_norm %x, %w {eps = 1.0e-5} : (!m, !v) -> !m
  %7 = sinter.cross_entropy %x, %ids : (!m, !ids) -> !r
  %8 = sinter.cross_entropy_grad %x, %ids, %dl : (!m, !ids, !r) -> !m
  %9:2 = sinter.rms_norm_grad %x3, %w, %x3 {eps = 1.0e-5} : (tensor<4x2x6xf64>, !v, tensor<4x2x6xf64>) -> (tensor<4x2x6xf64>, tensor<2x6xf64>)
  %10:3 = sinter.layer_norm_grad %x, %w, %g {eps = 1.0e-5} : (!m, !v, !m) -> (!m, tensor<2x6xf64>, tensor<2x6xf64>)
  %11:2 = sinter.rms_norm_grad %w, %w, %w {eps = 1.0e-5} : (!v, !v, !v) -> (!v, tensor<1x6xf64>)
  %12 = sinter.linear_cross_entropy %x, %x3w, %ids {chunk = 3 : i64} : (!m, tensor<6x10xf64>, !ids) -> !r
  return
}
func.func @attention(%q: tensor<2x3x8x4xf64>, %k: tensor<2x5x4x4xf64>, %v: tensor<2x5x4x4xf64>, %start: tensor<2xi32>,
                     %first: tensor<2x3xi32>, %slopes: tensor<8xf64>, %lse: tensor<2x3x8xf64>, %seed: tensor<2xi32>,
                     %cos: tensor<9x2xf64>, %rows: tensor<2x3x4x4xf64>) {
  %0:2 = sinter.attention %q, %k, %v, %start, %first, %slopes {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2xi32>, tensor<2x3xi32>, tensor<8xf64>) -> (tensor<2x3x8x4xf64>, tensor<2x3x8xf64>)
  %1 = sinter.attention %q, %k, %v, %seed {scale = 0.5, dropout = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2xi32>) -> tensor<2x3x8x4xf64>
  %2:3 = sinter.attention_grad %q, %k, %v, %q, %lse, %lse, %slopes {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1, 0>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2x3x8x4xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<8xf64>) -> (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>)
  %3 = sinter.rotary %q, %cos, %cos, %start : (tensor<2x3x8x4xf64>, tensor<9x2xf64>, tensor<9x2xf64>, tensor<2xi32>) -> tensor<2x3x8x4xf64>
  %4 = sinter.cache_append %k, %rows, %start, %start : (tensor<2x5x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x5x4x4xf64>
  return
}
func.func @moves(%x: !m, %r: tensor<2x4x12xf64>, %h: tensor<2x4x4x3xf64>, %start: tensor<2xi32>, %ids: tensor<4x2xi32>,
                 %into: tensor<4x6xf64>, %g: tensor<4x2x6xf64>, %p: tensor<4x2x6xf64>, %seed: tensor<2xi32>) {
  %0 = sinter.constant dense<1.0> : !m
  %1 = sinter.broadcast %x {dims = array<i64: 0, 2>} : (!m) -> tensor<4x2x6xf64>
  %2 = sinter.reshape %r : (tensor<2x4x12xf64>) -> tensor<2x4x4x3xf64>
  %3 = sinter.reshape %h : (tensor<2x4x4x3xf64>) -> tensor<8x12xf64>
  %4 = sinter.reshape %x : (!m) -> tensor<4x6x1xf64>
  %5 = sinter.transpose %h {permutation = array<i64: 2, 0, 3, 1>} : (tensor<2x4x4x3xf64>) -> tensor<4x2x3x4xf64>
  %6 = sinter.slice %x {offsets = array<i64: 0, 2>} : (!m) -> tensor<4x4xf64>
  %7 = sinter.concat %x, %x {dim = 1 : i64} : (!m, !m) -> tensor<4x12xf64>
  %8 = sinter.copy %x : (!m) -> !m
  %9 = sinter.positions %start : (tensor<2xi32>) -> tensor<2x3xi32>
  %10 = sinter.one_hot %ids : (tensor<4x2xi32>) -> tensor<4x2x6xf64>
  %11 = sinter.pick %p, %ids : (tensor<4x2x6xf64>, tensor<4x2xi32>) -> tensor<4x2xf64>
  %12 = sinter.embedding %x, %ids : (!m, tensor<4x2xi32>) -> tensor<4x2x6xf64>
  %13 = sinter.last_row %r, %start : (tensor<2x4x12xf64>, tensor<2xi32>) -> tensor<2x12xf64>
  %14 = sinter.embedding_grad %ids, %g {rows = 4 : i64} : (tensor<4x2xi32>, tensor<4x2x6xf64>) -> tensor<4x6xf64>
  %15 = sinter.embedding_grad %ids, %g, %into {rows = 4 : i64} : (tensor<4x2xi32>, tensor<4x2x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %16 = sinter.dropout %x, %seed {probability = 0.5, stream = 3 : i64} : (!m, tensor<2xi32>) -> !m
  %17 = sinter.cast %x : (!m) -> tensor<4x6xf32>
  %18 = sinter.stochastic_round %17, %seed, %seed : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x6xbf16>
  %20 = sinter.embedding %x, %ids {transpose_table} : (!m, tensor<4x2xi32>) -> tensor<4x2x4xf64>
  return
}
func.func @draws(%l: tensor<4x6xf32>, %f: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<4x2xi32>) {
  %0 = sinter.sample %l, %f, %i, %f, %s, %i, %i : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4x2xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}
func.func @updates(%p: !m, %s: !s, %r: !r, %w: tensor<4x6xf32>, %n: tensor<4x6xbf16>, %f: tensor<f32>, %seed: tensor<2xi32>) {
  %0:4 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1} : (!m, !m, !m, !m, !s, !s, !s, !s) -> (!m, !m, !m, !m)
  %1:2 = sinter.sgd %p, %p, %s, %s, %p {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1} : (!m, !m, !s, !s, !m) -> (!m, !m)
  %4:3 = sinter.adamw %w, %w, %n, %n, %f, %f, %f, %f, %seed, %seed {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x6xf32>, tensor<4x6xbf16>, tensor<4x6xbf16>)
  %2 = sinter.square_sum %p : (!m) -> !r
  %3 = sinter.square_sum %p, %r : (!m, !r) -> !r
  return
}
)";

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
    module = parseSourceString<ModuleOp>(kOps, &context);
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
    SmallVector<ReferenceTensor> operands;
    for (Type type : op->getOperandTypes())
      operands.push_back(makeRandom(cast<RankedTensorType>(type), random));
    SmallVector<ReferenceTensor> whole = cast<ReferenceOpInterface>(op).evaluate(operands);
    LoopNest nest = shardable.getLoopNest();
    ASSERT_EQ(nest.maps.size(), op->getNumOperands() + op->getNumResults());
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
  EXPECT_GT(compared, 80u) << "loops that are split";
}

TEST_F(LoopNests, EveryOpOfAGraphHasOne) {
  ASSERT_TRUE(module);
  std::set<std::string> tested;
  module->walk([&](Operation *op) { tested.insert(op->getName().getStringRef().str()); });
  // What comes later than the splitting.
  const std::set<std::string> without = {"sinter.call_kernel", "sinter.fusion", "sinter.pack",
                                         "sinter.yield"};
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "sinter")
      continue;
    std::string text = name.getStringRef().str();
    EXPECT_EQ(name.hasInterface<ShardableOpInterface>(), !without.contains(text)) << text;
    if (!without.contains(text) && !name.hasInterface<ElementwiseOpInterface>())
      EXPECT_TRUE(tested.contains(text)) << text;
  }
}

} // namespace
