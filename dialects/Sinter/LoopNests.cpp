//===- LoopNests.cpp - What of each op may be split over devices ------------===//
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// Products, rows and columns
//===----------------------------------------------------------------------===//

LoopNest MatmulOp::getLoopNest() {
  if (getTransposeLhs())
    return makeLoopNest(*this, getTransposeRhs() ? "k m, n k -> m n" : "k m, k n -> m n");
  // A part of k or n might end within a block that shares a scale.
  if (getScales())
    return makeLoopNest(*this, getTransposeRhs() ? "... K, N K, A B -> ... N"
                                                 : "... K, K N, A B -> ... N");
  return makeLoopNest(*this, getTransposeRhs() ? "... k, n k -> ... n" : "... k, k n -> ... n");
}

LoopNest ReduceOp::getLoopNest() {
  LoopNest nest = makeLoopNest(*this, "... k -> ...");
  switch (getKind()) {
  case ReductionKind::Sum:
    nest.reduction = LoopReduction::Sum;
    break;
  case ReductionKind::Max:
    nest.reduction = LoopReduction::Max;
    break;
  case ReductionKind::Mean:
    nest.reduction = LoopReduction::Average;
    break;
  }
  return nest;
}

LoopNest ColumnSumOp::getLoopNest() { return makeLoopNest(*this, "... k d -> ... d"); }
LoopNest RmsNormOp::getLoopNest() { return makeLoopNest(*this, "... D, D -> ... D"); }
LoopNest LayerNormOp::getLoopNest() { return makeLoopNest(*this, "... D, D, D -> ... D"); }
LoopNest CrossEntropyOp::getLoopNest() { return makeLoopNest(*this, "n V, n -> n"); }
LoopNest CrossEntropyGradOp::getLoopNest() { return makeLoopNest(*this, "n V, n, n -> n V"); }

LoopNest LinearCrossEntropyOp::getLoopNest() {
  return makeLoopNest(*this, getTransposeWeight() ? "n D, V D, V, n -> n" : "n D, D V, V, n -> n");
}

// A device's rows are whole blocks where the outermost dimension is split.
LoopNest RmsNormGradOp::getLoopNest() {
  bool hasRows = getOperand().getType().getRank() > 1;
  return makeLoopNest(*this, hasRows ? "r * D, D, r * D -> r * D, r D" : "D, D, D -> D, B D");
}

LoopNest LayerNormGradOp::getLoopNest() {
  bool hasRows = getOperand().getType().getRank() > 1;
  return makeLoopNest(*this,
                      hasRows ? "r * D, D, r * D -> r * D, r D, r D" : "D, D, D -> D, B D, B D");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//
//
// Key-value heads are split with the query heads that read them. Queries are not split: where they
// stand follows from their number. Nor is anything with dropout, whose random numbers do.

LoopNest AttentionOp::getLoopNest() {
  return makeLoopNest(*this, getDropout().isZero()
                                 ? "b T h D, b S h D, b S h E, b, b T, h, X -> b T h E, b T h"
                                 : "B T H D, B S H D, B S H E, B, B T, H, X -> B T H E, B T H");
}

LoopNest AttentionGradOp::getLoopNest() {
  return makeLoopNest(*this,
                      getDropout().isZero()
                          ? "b T h D, b S h D, b S h D, b T h D, b T h, b T h, b, b T, h, X -> "
                            "b T h D, b S h D, b S h D"
                          : "B T H D, B S H D, B S H D, B T H D, B T H, B T H, B, B T, H, X -> "
                            "B T H D, B S H D, B S H D");
}

LoopNest RotaryOp::getLoopNest() { return makeLoopNest(*this, "b T h D, P R, P R, b -> b T h D"); }

LoopNest CacheAppendOp::getLoopNest() {
  return makeLoopNest(*this, "b C h d, b T h d, b, b -> b C h d");
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

LoopNest ConstantOp::getLoopNest() { return parseLoopNest(getContext(), "-> *", {getResult()}); }
LoopNest CopyOp::getLoopNest() { return makeElementwiseNest(*this); }

/// A nest with a loop for each of the result's dimensions and these loops for the operand's.
static LoopNest makeMoveNest(Operation *op, ArrayRef<LoopKind> loops, ArrayRef<int64_t> ofOperand,
                             ArrayRef<int64_t> ofResult) {
  auto makeMap = [&](ArrayRef<int64_t> dims) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : dims)
      exprs.push_back(getAffineDimExpr(dim, op->getContext()));
    return AffineMap::get(loops.size(), 0, exprs, op->getContext());
  };
  LoopNest nest;
  nest.loops.assign(loops.begin(), loops.end());
  nest.maps.assign(op->getNumOperands(), makeMap(ofOperand));
  nest.maps.push_back(makeMap(ofResult));
  return nest;
}

static SmallVector<int64_t> countUp(int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

LoopNest BroadcastOp::getLoopNest() {
  int64_t rank = getType().getRank();
  return makeMoveNest(*this, SmallVector<LoopKind>(rank, LoopKind::Parallel), getDims(),
                      countUp(rank));
}

LoopNest TransposeOp::getLoopNest() {
  int64_t rank = getType().getRank();
  return makeMoveNest(*this, SmallVector<LoopKind>(rank, LoopKind::Parallel), countUp(rank),
                      getPermutation());
}

LoopNest SliceOp::getLoopNest() {
  SmallVector<LoopKind> loops;
  for (auto [from, to] : llvm::zip_equal(getOperand().getType().getShape(), getType().getShape()))
    loops.push_back(from == to ? LoopKind::Parallel : LoopKind::Whole);
  SmallVector<int64_t> dims = countUp(getType().getRank());
  return makeMoveNest(*this, loops, dims, dims);
}

LoopNest ConcatOp::getLoopNest() {
  SmallVector<LoopKind> loops(getType().getRank(), LoopKind::Parallel);
  loops[getDim()] = LoopKind::Whole;
  SmallVector<int64_t> dims = countUp(getType().getRank());
  return makeMoveNest(*this, loops, dims, dims);
}

// Dimensions of both sides that hold the same elements form a group; a part of its outermost
// dimension on one side is a part of that on the other ([b, t, h * d] and [b, t, h, d]).
LoopNest ReshapeOp::getLoopNest() {
  ArrayRef<int64_t> from = getOperand().getType().getShape(), to = getType().getShape();
  SmallVector<LoopKind> loops;
  SmallVector<int64_t> ofOperand, ofResult;
  auto addLoop = [&](LoopKind kind, auto &...sides) {
    (sides.push_back(static_cast<int64_t>(loops.size())), ...);
    loops.push_back(kind);
  };
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    addLoop(LoopKind::Parallel, ofOperand, ofResult);
    for (int64_t a = from[i++], b = to[j++]; a != b;)
      if (a < b) {
        a *= from[i++];
        addLoop(LoopKind::Whole, ofOperand);
      } else {
        b *= to[j++];
        addLoop(LoopKind::Whole, ofResult);
      }
  }
  // What is left on one side are dimensions of one element.
  for (; i < from.size(); ++i)
    addLoop(LoopKind::Whole, ofOperand);
  for (; j < to.size(); ++j)
    addLoop(LoopKind::Whole, ofResult);
  return makeMoveNest(*this, loops, ofOperand, ofResult);
}

LoopNest PositionsOp::getLoopNest() { return makeLoopNest(*this, "b -> b T"); }
LoopNest OneHotOp::getLoopNest() { return makeLoopNest(*this, "... -> ... V"); }
LoopNest PickOp::getLoopNest() { return makeLoopNest(*this, "... V, ... -> ..."); }
LoopNest LastRowOp::getLoopNest() { return makeLoopNest(*this, "b T d, b -> b d"); }
LoopNest EmbeddingOp::getLoopNest() {
  return makeLoopNest(*this, getTransposeTable() ? "d V, ... -> ... d" : "V d, ... -> ... d");
}

// What is added to is added once.
LoopNest EmbeddingGradOp::getLoopNest() {
  return makeLoopNest(*this, getInto() ? "*, * d, V d -> V d" : "..., ... d, V d -> V d");
}

LoopNest DropoutOp::getLoopNest() { return makeLoopNest(*this, "*, X -> *"); }
LoopNest StochasticRoundOp::getLoopNest() { return makeLoopNest(*this, "*, X, X -> *"); }

// A slot's draw is a function of what the slot has.
LoopNest SampleOp::getLoopNest() { return makeLoopNest(*this, "b V, b, b, b, b X, b, b -> b"); }

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

// What is rounded at random is not split: the random numbers follow from where an element stands.
LoopNest AdamWOp::getLoopNest() {
  bool rounds = !getRandom().empty();
  SmallVector<Value> tensors(getOperands());
  llvm::append_range(tensors, getResults());
  if (!getCleared())
    tensors.push_back(nullptr);
  return parseLoopNest(getContext(),
                       rounds ? "*, *, *, *, , , , , X, X -> *, *, *, *"
                              : "..., ..., ..., ..., , , , -> ..., ..., ..., ...",
                       tensors);
}

LoopNest SgdOp::getLoopNest() { return makeLoopNest(*this, "..., ..., , , ... -> ..., ..., ..."); }

LoopNest CarryOp::getLoopNest() { return makeLoopNest(*this, "..., ... -> ..., ..."); }

LoopNest SquareSumOp::getLoopNest() {
  return makeLoopNest(*this, getInto() ? "... K, ... -> ..." : "... k, ... -> ...");
}
