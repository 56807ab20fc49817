#include "compiler/Analysis/Bias.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/OpOrder.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Global/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_MERGEMATMULSPASS
#include "compiler/Global/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// What the parts are all slices of, one behind the other along `dim` and nothing left over, or
/// null.
static Value findWhole(ArrayRef<Value> parts, unsigned dim) {
  Value whole;
  int64_t end = 0;
  for (Value part : parts) {
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || (whole && slice.getOperand() != whole))
      return nullptr;
    whole = slice.getOperand();
    for (auto [i, offset] : llvm::enumerate(slice.getOffsets()))
      if (offset != (i == dim ? end : 0))
        return nullptr;
    end += slice.getType().getDimSize(dim);
  }
  SmallVector<int64_t> joined(cast<RankedTensorType>(parts.front().getType()).getShape());
  joined[dim] = end;
  return cast<RankedTensorType>(whole.getType()).getShape() == ArrayRef(joined) ? whole : nullptr;
}

/// The parts side by side along `dim`.
static Value join(OpBuilder &builder, Location loc, RankedTensorType type, ArrayRef<Value> parts,
                  unsigned dim) {
  if (Value whole = findWhole(parts, dim))
    return whole;
  // Each part of a weight was rounded by itself.
  bool casts = llvm::all_of(parts, [](Value part) { return part.getDefiningOp<CastOp>(); });
  if (casts) {
    SmallVector<Value> sources;
    for (Value part : parts)
      sources.push_back(part.getDefiningOp<CastOp>().getOperand());
    if (Value whole = findWhole(sources, dim))
      return CastOp::create(builder, loc, type, whole);
  }
  return ConcatOp::create(builder, loc, type, parts, dim);
}

namespace {
/// A product that may be merged, with its bias where it has one.
struct Product {
  MatmulOp matmul;
  AddOp biased; ///< matmul + broadcast(bias), or null
  Value bias;   ///< [n]

  /// What the rest of the graph uses.
  Value getResult() { return biased ? biased.getResult() : matmul.getResult(); }
};

struct MergeMatmulsPass : sinter::impl::MergeMatmulsPassBase<MergeMatmulsPass> {
  using MergeMatmulsPassBase::MergeMatmulsPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        mergeIn(function, CostModel(target));
  }

private:
  void mergeIn(func::FuncOp function, const CostModel &costs) {
    llvm::DenseSet<Value> constants = findWeightValues(function);
    llvm::DenseSet<Value> parameters = findParameterValues(function);
    // By left-hand side, and whether the product is done again: that must not be done at once.
    // Within it, by what the weight is and how the result is used.
    llvm::MapVector<std::pair<Value, unsigned>,
                    llvm::MapVector<std::tuple<int64_t, unsigned, Type, int64_t, Type, unsigned>,
                                    SmallVector<Product>>>
        groups;
    for (auto matmul : function.getOps<MatmulOp>()) {
      if (matmul.getTransposeLhs() || !constants.contains(matmul.getRhs()) ||
          !hasScalesOfColumns(matmul))
        continue;
      // A state that the product reads as it lies in memory would have to be copied in every step;
      // one that is packed for it is copied anyway.
      bool isCopied = TargetAttr::lookup(function).readsPackedRhs() && !makesPanels(matmul);
      if (!isCopied && !parameters.contains(matmul.getRhs()) && isa<BlockArgument>(matmul.getRhs()))
        continue;
      Product product = withBias(matmul, constants);
      bool again = matmul->hasAttr(SinterDialect::kRecompute);
      int64_t group = matmul.getScales() ? matmul.getGroup() : 0;
      Type scaleType = group ? getElementTypeOrSelf(matmul.getScales()) : Type();
      groups[{matmul.getLhs(), again}]
            [{classifyUse(product), matmul.getTransposeRhs(), getElementTypeOrSelf(matmul.getRhs()),
              group, scaleType, bool(matmul.getMinima())}]
                .push_back(product);
    }
    bool changed = false;
    for (auto &[key, classes] : groups) {
      for (auto &[use, products] : classes)
        if (products.size() > 1) {
          merge(function, products, costs);
          changed = true;
        }
      if (classes.size() > 1)
        remark::missed(key.first.getLoc(), remark::RemarkOpts::name("NotMerged")
                                               .category("sinter-global")
                                               .function(function.getName()))
            << llvm::formatv("{0} products of one left-hand side stay apart: their results are "
                             "used differently",
                             classes.size())
                   .str();
    }
    if (changed)
      orderByNeed(function.front());
  }

  /// Whether each column has scales of its own, or needs none.
  static bool hasScalesOfColumns(MatmulOp matmul) {
    if (!matmul.getScales())
      return true;
    auto type = cast<RankedTensorType>(matmul.getScales().getType());
    return type.getDimSize(matmul.getTransposeRhs() ? 0 : 1) == matmul.getN();
  }

  /// A product with its bias, where that is constant.
  static Product withBias(MatmulOp matmul, const llvm::DenseSet<Value> &constants) {
    std::optional<Bias> bias = findBias(matmul.getResult());
    if (!bias || !constants.contains(bias->spread.getOperand()))
      return {matmul, nullptr, nullptr};
    return {matmul, bias->add, bias->spread.getOperand()};
  }

  /// 0 for results that are only rearranged and rounded, the width for those that are computed on:
  /// their epilogues want a product of their own unless they meet, element by element.
  int64_t classifyUse(Product product) {
    return isComputedOn(product.getResult()) ? product.matmul.getN() : 0;
  }

  static bool isComputedOn(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      if (isa<CastOp>(user))
        return isComputedOn(user->getResult(0));
      FusionRole role = getRole(user);
      return role == FusionRole::Elementwise || role == FusionRole::RowReduction;
    });
  }

  void merge(func::FuncOp function, ArrayRef<Product> products, const CostModel &costs) {
    // Behind the last one every operand is defined; users that stand before it are sorted later.
    Operation *last = products.back().matmul;
    for (Product product : products)
      if (last->isBeforeInBlock(product.getResult().getDefiningOp()))
        last = product.getResult().getDefiningOp();
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    Operation *behind = last->getNextNode();
    MatmulOp first = products.front().matmul;
    Location loc = first.getLoc();
    double apart = 0;
    int64_t columns = 0;
    SmallVector<Value> weights, scales, minima, biases;
    for (Product product : products) {
      apart += costs.getCost(product.matmul).ns;
      columns += product.matmul.getN();
      weights.push_back(product.matmul.getRhs());
      scales.push_back(product.matmul.getScales());
      minima.push_back(product.matmul.getMinima());
      biases.push_back(product.bias);
    }
    RankedTensorType weightType = first.getRhs().getType(), resultType = first.getType();
    bool transposed = first.getTransposeRhs();
    SmallVector<int64_t> sizes{first.getK(), columns};
    if (transposed)
      std::swap(sizes[0], sizes[1]);
    unsigned dim = transposed ? 0 : 1;
    Value weight =
        join(builder, loc, RankedTensorType::get(sizes, weightType.getElementType()), weights, dim);
    Value scale, minimum;
    if (first.getScales()) {
      sizes[1 - dim] /= first.getGroup();
      auto joinParts = [&](ArrayRef<Value> parts) {
        auto type = cast<RankedTensorType>(parts.front().getType());
        return join(builder, loc, type.clone(sizes), parts, dim);
      };
      scale = joinParts(scales);
      if (first.getMinima())
        minimum = joinParts(minima);
    }
    SmallVector<int64_t> shape(resultType.getShape());
    shape.back() = columns;
    auto merged = RankedTensorType::get(shape, resultType.getElementType());
    auto matmul = MatmulOp::create(builder, loc, merged, first.getLhs(), weight, scale, minimum,
                                   first.getRowScales(), transposed);
    matmul.setTf32(first.getTf32()); // a module has it of all products or of none
    Value result = addBias(builder, loc, matmul.getResult(), products);

    if (Attribute again = first->getAttr(SinterDialect::kRecompute))
      for (Operation *op = last->getNextNode(); op != behind; op = op->getNextNode())
        op->setAttr(SinterDialect::kRecompute, again);

    SmallVector<int64_t> offsets(shape.size(), 0);
    for (Product product : products) {
      auto slice = SliceOp::create(builder, loc, product.matmul.getType(), result, offsets);
      offsets.back() += product.matmul.getN();
      product.getResult().replaceAllUsesWith(slice);
    }
    remark::passed(
        loc,
        remark::RemarkOpts::name("Merged").category("sinter-global").function(function.getName()))
        << llvm::formatv("{0} products of one left-hand side as one of {1} columns: {2} together, "
                         "{3} apart",
                         products.size(), columns, formatNs(costs.getCost(matmul).ns),
                         formatNs(apart))
               .str()
        << remark::metric(kGainNs, apart - costs.getCost(matmul).ns);
    for (Product product : products) {
      if (product.biased)
        product.biased->erase();
      product.matmul->erase();
    }
  }

  /// The product with all biases added, zeros where there is none.
  Value addBias(OpBuilder &builder, Location loc, Value product, ArrayRef<Product> products) {
    if (llvm::none_of(products, [](const Product &part) { return part.bias; }))
      return product;
    auto type = cast<RankedTensorType>(product.getType());
    auto vectorOf = [&](int64_t n) { return RankedTensorType::get({n}, type.getElementType()); };
    SmallVector<Value> biases;
    for (Product part : products)
      biases.push_back(part.bias
                           ? part.bias
                           : ConstantOp::create(builder, loc, vectorOf(part.matmul.getN()), 0.0));
    Value bias = join(builder, loc, vectorOf(type.getShape().back()), biases, /*dim=*/0);
    bias = BroadcastOp::create(builder, loc, type, bias, ArrayRef<int64_t>{type.getRank() - 1});
    return AddOp::create(builder, loc, product, bias);
  }
};
} // namespace
