//===- LoopNests.cpp - What of each op may be split over devices ------------===//
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// Products, rows and columns
//===----------------------------------------------------------------------===//

LoopNest MatmulOp::getLoopNest() {
  if (hasTensorScales()) {
    int64_t ofRows = cast<RankedTensorType>(getRowScales().getType()).getRank();
    StringRef lhs = getTransposeLhs() ? "k m" : "... k", rhs = getTransposeRhs() ? "n k" : "k n";
    StringRef result = getTransposeLhs() ? "m n" : "... n";
    std::string scales = "A B, A B,"; // and minima, which such a product has none of
    for (int64_t i = 0; i < ofRows; ++i)
      scales += " R" + std::to_string(i);
    return makeLoopNest(*this, (lhs + ", " + rhs + ", " + scales + " -> " + result).str());
  }
  if (getTransposeLhs())
    return makeLoopNest(*this, getTransposeRhs() ? "k m, n k -> m n" : "k m, k n -> m n");
  // Columns go with their scales, and with those of blocks of several, so that no block is cut; one
  // scale of all columns is everybody's. A part of k might end within a group.
  if (getScales()) {
    auto type = cast<RankedTensorType>(getScales().getType());
    std::string n = type.getDimSize(getTransposeRhs() ? 0 : 1) == 1 ? "B" : "n";
    std::string rhs = "K n, ", scales = "G " + n + ", ";
    if (getTransposeRhs()) {
      rhs = "n K, ";
      scales = n + " G, ";
    }
    return makeLoopNest(*this, "... K, " + rhs + scales + scales + "... L -> ... n");
  }
  return makeLoopNest(*this, getTransposeRhs() ? "... k, n k -> ... n" : "... k, k n -> ... n");
}

LoopNest QuantizeOp::getLoopNest() { return makeLoopNest(*this, "... K -> ... K, ... L"); }

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
LoopNest SumPartsOp::getLoopNest() { return makeLoopNest(*this, "K ... -> ..."); }
LoopNest RmsNormOp::getLoopNest() { return makeLoopNest(*this, "... D, D -> ... D"); }
LoopNest LayerNormOp::getLoopNest() { return makeLoopNest(*this, "... D, D, D -> ... D"); }
LoopNest CrossEntropyOp::getLoopNest() { return makeLoopNest(*this, "n V, n -> n"); }
LoopNest CrossEntropyGradOp::getLoopNest() { return makeLoopNest(*this, "n V, n, n -> n V"); }

LoopNest LinearCrossEntropyOp::getLoopNest() {
  return makeLoopNest(*this, getTransposeWeight() ? "n D, V D, V, n -> n" : "n D, D V, V, n -> n");
}

/// The dimensions of a norm's rows. A device's rows are whole blocks, `r`, where the outermost
/// dimension of several is split.
static std::string listRows(RankedTensorType type) {
  ArrayRef<int64_t> outer = type.getShape().drop_back();
  auto several = llvm::find_if(outer, [](int64_t extent) { return extent != 1; });
  std::string rows;
  for (int64_t i = 0; i < several - outer.begin(); ++i)
    rows += ("U" + Twine(i) + " ").str();
  return rows + (several == outer.end() ? "" : "r * ");
}

LoopNest RmsNormGradOp::getLoopNest() {
  std::string rows = listRows(getOperand().getType());
  std::string blocks = StringRef(rows).contains('r') ? "r " : "B ";
  return makeLoopNest(*this, rows + "D, D, " + rows + "D -> " + rows + "D, " + blocks + "D");
}

LoopNest LayerNormGradOp::getLoopNest() {
  std::string rows = listRows(getOperand().getType());
  std::string blocks = StringRef(rows).contains('r') ? "r " : "B ";
  return makeLoopNest(*this, rows + "D, D, " + rows + "D -> " + rows + "D, " + blocks + "D, " +
                                 blocks + "D");
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//
//
// The order of the experts is one of all rows, which are never split.

LoopNest TopKOp::getLoopNest() { return makeLoopNest(*this, "... N -> ... K, ... K"); }
LoopNest RouteOp::getLoopNest() { return makeLoopNest(*this, "T K -> M, M, T K, E"); }
LoopNest DispatchOp::getLoopNest() { return makeLoopNest(*this, "T d, M, T K -> M d"); }
LoopNest CombineOp::getLoopNest() { return makeLoopNest(*this, "M d, T K, M, M, T K -> T d"); }
LoopNest GroupedMatmulOp::getLoopNest() {
  // Columns go with their scales and minima.
  return makeLoopNest(*this, getTransposeRhs() ? "M K, G n K, O, G n S, G n S -> M n"
                                               : "M K, G K n, O, G S n, G S n -> M n");
}
LoopNest GroupedOuterOp::getLoopNest() { return makeLoopNest(*this, "M a, M b, O -> G a b"); }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//
//
// Key-value heads are split with the query heads that read them. Queries may be split, each of
// which reads all keys; but not in the backward pass, where they add to the gradients of keys.

static LoopNest makePlacedNest(LoopNest nest) {
  nest.placed = true;
  return nest;
}

/// The third number of a seed: that of a part's first element, of a tensor of shape `whole`.
/// `loops` are those of its dimensions.
static void placeRandomNumbers(Operation *part, MutableArrayRef<OpOperand> seed,
                               ArrayRef<int64_t> whole, ArrayRef<unsigned> loops, size_t loopCount,
                               PartPlace &place) {
  SmallVector<int64_t> strides(loopCount, 0);
  for (int64_t stride = 1; auto [loop, extent] : llvm::reverse(llvm::zip_equal(loops, whole))) {
    strides[loop] = stride;
    stride *= extent;
  }
  Value number = place.getNumber(strides);
  if (!number)
    return;
  OpBuilder builder(part);
  Value words = seed.front().get();
  seed.front().set(ConcatOp::create(builder, part->getLoc(), typeOf(words).clone({3}),
                                    ValueRange{words, number}, /*dim=*/0));
  part->setAttr("whole", builder.getDenseI64ArrayAttr(whole));
}

/// The loops of an attention, in the order of its nest.
enum AttentionLoop : unsigned { Slot, Query, Head, Width, Key };

/// What the parts of an attention and of its gradients have to know.
template <typename Op>
static void placeAttention(Op whole, Operation *op, size_t loopCount, PartPlace &place) {
  auto part = cast<Op>(op);
  if (!whole.getDropout().isZero()) {
    ArrayRef<int64_t> q = whole.getQuery().getType().getShape();
    placeRandomNumbers(part, part.getSeedMutable(),
                       {q[0], q[2], q[1], whole.getKey().getType().getDimSize(1)},
                       {Slot, Head, Query, Key}, loopCount, place);
  }
}

LoopNest AttentionOp::getLoopNest() {
  return makePlacedNest(makeLoopNest(
      *this, "b t h D, b S h D, b S h E, b, b t, h, X, b S h I, b S h J -> b t h E, b t h"));
}

void AttentionOp::placePart(Operation *op, PartPlace &place) {
  placeAttention(*this, op, getLoopNest().loops.size(), place);
  auto part = cast<AttentionOp>(op);
  if (Value start = place.shift(part.getStart(), part.getQuery().getType().getDimSize(0), Query);
      start != part.getStart())
    part.getStartMutable().assign(start);
}

LoopNest AttentionGradOp::getLoopNest() {
  return makePlacedNest(
      makeLoopNest(*this, "b T h D, b S h D, b S h D, b T h D, b T h, b T h, b, b T, h, X -> "
                          "b T h D, b S h D, b S h D"));
}

void AttentionGradOp::placePart(Operation *op, PartPlace &place) {
  placeAttention(*this, op, getLoopNest().loops.size(), place);
}

LoopNest LinearAttentionOp::getLoopNest() {
  return makeLoopNest(*this, "b T h D, b T h D, b T h e, b T h, b T h, b h D e, b, b -> "
                             "b T h e, b h D e");
}

LoopNest LinearAttentionGradOp::getLoopNest() {
  return makeLoopNest(*this, "b T h D, b T h D, b T h E, b T h, b T h, b T h E -> "
                             "b T h D, b T h D, b T h E, b T h, b T h");
}

LoopNest RotaryOp::getLoopNest() {
  return makePlacedNest(makeLoopNest(*this, "b t h D, P R, P R, b -> b t h D"));
}

void RotaryOp::placePart(Operation *op, PartPlace &place) {
  auto part = cast<RotaryOp>(op);
  if (Value start = place.shift(part.getStart(), part.getOperand().getType().getDimSize(0), Query);
      start != part.getStart())
    part.getStartMutable().assign(start);
}

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
    if (from[i] == 1 && to[j] != 1) {
      addLoop(LoopKind::Whole, ofOperand);
      ++i;
      continue;
    }
    if (to[j] == 1 && from[i] != 1) {
      addLoop(LoopKind::Whole, ofResult);
      ++j;
      continue;
    }
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

LoopNest PositionsOp::getLoopNest() { return makePlacedNest(makeLoopNest(*this, "b -> b t")); }

void PositionsOp::placePart(Operation *op, PartPlace &place) {
  auto part = cast<PositionsOp>(op);
  part.getStartMutable().assign(
      place.shift(part.getStart(), part.getType().getDimSize(0), /*loop=*/1));
}

LoopNest OneHotOp::getLoopNest() { return makeLoopNest(*this, "... -> ... V"); }
LoopNest PickOp::getLoopNest() { return makeLoopNest(*this, "... V, ... -> ..."); }
LoopNest LastRowOp::getLoopNest() { return makeLoopNest(*this, "b T d, b -> b d"); }

// Of the parts of a table all but one give -0.0, or the integer 0.
LoopNest EmbeddingOp::getLoopNest() {
  LoopNest nest = makePlacedNest(
      makeLoopNest(*this, getTransposeTable() ? "d r, ..., X -> ... d" : "r d, ..., X -> ... d"));
  nest.exact = true;
  return nest;
}

void EmbeddingOp::placePart(Operation *op, PartPlace &place) {
  AffineExpr rows = getLoopNest().maps.front().getResult(getTransposeTable() ? 1 : 0);
  auto part = cast<EmbeddingOp>(op);
  if (Value start = place.shift(part.getStart(), 1, cast<AffineDimExpr>(rows).getPosition()))
    part.getStartMutable().assign(start);
}

// What is added to is added once.
LoopNest EmbeddingGradOp::getLoopNest() {
  return makePlacedNest(
      makeLoopNest(*this, getInto() ? "*, * d, r d, X -> r d" : "..., ... d, r d, X -> r d"));
}

void EmbeddingGradOp::placePart(Operation *op, PartPlace &place) {
  AffineExpr rows = getLoopNest().maps.back().getResult(0);
  auto part = cast<EmbeddingGradOp>(op);
  part.setRows(part.getType().getDimSize(0));
  if (Value start = place.shift(part.getStart(), 1, cast<AffineDimExpr>(rows).getPosition()))
    part.getStartMutable().assign(start);
}

// Numbers of elements have to fit what a part is told.
LoopNest DropoutOp::getLoopNest() {
  bool splits = getType().getNumElements() <= int64_t(1) << 32;
  return makePlacedNest(makeLoopNest(*this, splits ? "..., X -> ..." : "*, X -> *"));
}

void DropoutOp::placePart(Operation *op, PartPlace &place) {
  auto loops = llvm::to_vector(llvm::seq<unsigned>(0, getType().getRank()));
  placeRandomNumbers(op, cast<DropoutOp>(op).getSeedMutable(), getType().getShape(), loops,
                     loops.size() + 1, place);
}

LoopNest StochasticRoundOp::getLoopNest() { return makeLoopNest(*this, "*, X, X -> *"); }

// A slot's draw is a function of what the slot has.
LoopNest SampleOp::getLoopNest() { return makeLoopNest(*this, "b V, b, b, b, b, b X, b, b -> b"); }

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
