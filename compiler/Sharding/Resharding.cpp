#include "compiler/Sharding/Resharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace sinter;

bool sinter::isOfArgument(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getOperand();
  return isa<BlockArgument>(value);
}

static Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return builder.createOrFold<ReshapeOp>(loc, typeOf(value).clone(shape), value);
}

/// `value` with dimension `from` moved to `to`: a reshape where it, or what it moves past, has one
/// place each.
static Value moveDim(OpBuilder &builder, Location loc, Value value, int64_t from, int64_t to) {
  ArrayRef<int64_t> extents = typeOf(value).getShape();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, extents.size()));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(extents[dim]);
  int64_t past = ShapedType::getNumElements(from < to ? extents.slice(from + 1, to - from)
                                                      : extents.slice(to, from - to));
  if (extents[from] == 1 || past == 1)
    return reshape(builder, loc, value, shape);
  return builder.createOrFold<TransposeOp>(loc, typeOf(value).clone(shape), value, permutation);
}

/// `value` with zeros behind a dimension up to `extent`.
static Value pad(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  int64_t missing = extent - shape[dim];
  if (missing == 0)
    return value;
  shape[dim] = missing;
  Value zeros = ConstantOp::create(builder, loc, typeOf(value).clone(shape), 0.0);
  shape[dim] = extent;
  return ConcatOp::create(builder, loc, typeOf(value).clone(shape), ValueRange{value, zeros}, dim);
}

/// The first `extent` of a dimension.
static Value trim(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  if (shape[dim] == extent)
    return value;
  shape[dim] = extent;
  return SliceOp::create(builder, loc, typeOf(value).clone(shape), value,
                         SmallVector<int64_t>(shape.size(), 0));
}

static RankedTensorType dropFirst(RankedTensorType parts) {
  return parts.clone(parts.getShape().drop_front());
}

template <typename Op>
Value Resharder::move(OpBuilder &builder, Location loc, Value operand, ArrayAttr axes,
                      RankedTensorType result) const {
  auto op = Op::create(builder, loc, result, operand, axes);
  auto function = op->template getParentOfType<func::FuncOp>();
  remark::passed(loc, remark::RemarkOpts::name("Collective")
                          .category("sinter-sharding")
                          .function(function.getName()))
      << remark::add(
             "{0} along {1}: a rank sends {2} bytes", op->getName().stripDialect(),
             llvm::join(axes.getAsValueRange<StringAttr>(), ", "),
             cast<CollectiveOpInterface>(op.getOperation()).getSentBytes(grid.getSize(axes)));
  return op;
}

/// `value` with dimension `dim` cut into as many equal parts as there are ranks, padded with zeros,
/// which stand in a new first dimension.
static Value stackParts(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t ranks) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  int64_t extent = llvm::divideCeil(shape[dim], ranks);
  Value padded = pad(builder, loc, value, dim, extent * ranks);
  shape[dim] = extent;
  shape.insert(shape.begin() + dim, ranks);
  return moveDim(builder, loc, reshape(builder, loc, padded, shape), dim, 0);
}

/// The other way: parts of a first dimension one after another along `dim`, of `extent` elements.
static Value joinParts(OpBuilder &builder, Location loc, Value parts, int64_t dim, int64_t extent) {
  int64_t ranks = typeOf(parts).getDimSize(0);
  SmallVector<int64_t> shape(typeOf(parts).getShape().drop_front());
  shape[dim] *= ranks;
  return trim(builder, loc, reshape(builder, loc, moveDim(builder, loc, parts, 0, dim), shape), dim,
              extent);
}

static Value sumParts(OpBuilder &builder, Location loc, Value parts) {
  return SumPartsOp::create(builder, loc, dropFirst(typeOf(parts)), parts);
}

Value Resharder::reduceScatter(OpBuilder &builder, Location loc, Value term, int64_t dim,
                               ArrayAttr axes) const {
  Value parts = stackParts(builder, loc, term, dim, grid.getSize(axes));
  if (library) {
    parts = move<AllReduceOp>(builder, loc, parts, axes, typeOf(parts));
    return move<AllSliceOp>(builder, loc, parts, axes, dropFirst(typeOf(parts)));
  }
  return sumParts(builder, loc, move<AllToAllOp>(builder, loc, parts, axes, typeOf(parts)));
}

Value Resharder::reduce(OpBuilder &builder, Location loc, Value term, ArrayAttr axes) const {
  RankedTensorType type = typeOf(term);
  if (library)
    return move<AllReduceOp>(builder, loc, term, axes, type);
  auto gatherAll = [&](Value part) {
    SmallVector<int64_t> stacked(typeOf(part).getShape());
    stacked.insert(stacked.begin(), grid.getSize(axes));
    return move<AllGatherOp>(builder, loc, part, axes, type.clone(stacked));
  };
  if (type.getRank() == 0 || type.getDimSize(0) < grid.getSize(axes) ||
      getStorageBytes(type) <= kGatheredBytes)
    return sumParts(builder, loc, gatherAll(term));
  return joinParts(builder, loc, gatherAll(reduceScatter(builder, loc, term, 0, axes)), 0,
                   type.getDimSize(0));
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

// Rates of messages between processes of one machine, in units of its memory's: what is sent is
// copied into a shared buffer and out of it. Not measured elsewhere.
static constexpr double kSendPasses = 4, kCopyPasses = 2, kMessageNs = 20e3;

MoveCosts::MoveCosts(TargetAttr target) {
  if (!target)
    return;
  double bytesPerNs = CostModel(target).getBandwidth(MemoryLevel::Memory);
  sentNs = kSendPasses / bytesPerNs;
  copiedNs = kCopyPasses / bytesPerNs;
  startNs = kMessageNs;
}

Resharder::Resharder(GridAttr grid, TargetAttr target, bool library)
    : grid(grid), costs(target), library(library) {}

/// A sharding with other axes of a dimension, and nothing unreduced.
static ShardingAttr withAxes(ShardingAttr sharding, int64_t dim, ArrayAttr axes) {
  SmallVector<Attribute> dims(sharding.getDims().begin(), sharding.getDims().end());
  dims[dim] = axes;
  return ShardingAttr::get(sharding.getContext(), ArrayAttr::get(sharding.getContext(), dims),
                           nullptr);
}

static ArrayAttr concat(ArrayAttr first, ArrayAttr second) {
  SmallVector<Attribute> axes(first.begin(), first.end());
  axes.append(second.begin(), second.end());
  return ArrayAttr::get(first.getContext(), axes);
}

bool Resharder::mayEnd(int64_t extent, ArrayAttr axes) const {
  return axes.size() < 2 || extent % grid.getSize(axes) == 0;
}

SmallVector<Resharder::Move> Resharder::listMoves(RankedTensorType whole, ShardingAttr from,
                                                  ShardingAttr target) const {
  Builder builder(whole.getContext());
  SmallVector<Move> moves;
  auto add = [&](Move::Kind kind, int64_t dim, int64_t to, ArrayAttr axes, ShardingAttr after) {
    moves.push_back({kind, dim, to, axes, from, after});
  };
  if (from.isUnreduced()) {
    ShardingAttr sum = ShardingAttr::get(whole.getContext(), from.getDims(), nullptr);
    add(Move::Kind::Reduce, 0, 0, from.getUnreduced(), sum);
    for (int64_t dim = 0; dim < whole.getRank(); ++dim)
      if (sum.getAxes(dim).empty() && whole.getDimSize(dim) >= grid.getSize(from.getUnreduced()))
        add(Move::Kind::ReduceScatter, dim, 0, from.getUnreduced(),
            withAxes(sum, dim, from.getUnreduced()));
    return moves;
  }
  llvm::SmallDenseSet<Attribute> used;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    used.insert(from.getAxes(dim).begin(), from.getAxes(dim).end());
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    ArrayAttr held = from.getAxes(dim), wanted = target.getAxes(dim);
    int64_t extent = whole.getDimSize(dim);
    // The last axes, or all where the dimension does not divide.
    for (size_t kept = 0; kept < held.size(); ++kept) {
      if (kept > 0 && !mayEnd(extent, held))
        continue;
      ArrayAttr rest = builder.getArrayAttr(held.getValue().take_front(kept));
      ArrayAttr last = builder.getArrayAttr(held.getValue().drop_front(kept));
      ShardingAttr without = withAxes(from, dim, rest);
      add(Move::Kind::Gather, dim, 0, last, without);
      for (int64_t to = 0; to < whole.getRank(); ++to) {
        ArrayAttr next = concat(from.getAxes(to), last);
        bool fits = whole.getDimSize(to) >= grid.getSize(next) &&
                    (from.getAxes(to).empty() || mayEnd(whole.getDimSize(to), next));
        if (to != dim && fits)
          add(Move::Kind::Exchange, dim, to, last, withAxes(without, to, next));
      }
    }
    bool grows =
        wanted.size() > held.size() && wanted.getValue().take_front(held.size()) == held.getValue();
    ArrayRef<Attribute> more = wanted.getValue().drop_front(grows ? held.size() : wanted.size());
    if (!grows || llvm::any_of(more, [&](Attribute axis) { return used.contains(axis); }) ||
        (!held.empty() && !mayEnd(extent, wanted)))
      continue;
    add(Move::Kind::Slice, dim, 0, builder.getArrayAttr(more), withAxes(from, dim, wanted));
  }
  return moves;
}

double Resharder::getNs(RankedTensorType whole, const Move &move) const {
  auto bytesOf = [&](ShardingAttr sharding) {
    return static_cast<double>(getStorageBytes(sharding.getLocalType(whole, grid)));
  };
  auto [sentNs, copiedNs, startNs] = costs;
  auto ranks = static_cast<double>(grid.getSize(move.axes));
  double before = bytesOf(move.before), after = bytesOf(move.after), others = (ranks - 1) / ranks;
  switch (move.kind) {
  case Move::Kind::Slice:
    return copiedNs * after;
  case Move::Kind::Gather:
    // Parts of the outermost dimension come to stand where they belong.
    return startNs + sentNs * others * after +
           (getRows(whole.clone(whole.getShape().take_front(move.dim + 1))) == 1
                ? 0
                : copiedNs * after);
  case Move::Kind::Exchange:
    return startNs + sentNs * others * before + copiedNs * before;
  case Move::Kind::ReduceScatter:
    return startNs + (sentNs * others + copiedNs) * before;
  case Move::Kind::Reduce:
    return 2 * startNs + (2 * sentNs * others + copiedNs) * before;
  }
  llvm_unreachable("a move has a kind");
}

const Resharder::Path &Resharder::findPath(RankedTensorType whole, ShardingAttr from,
                                           ShardingAttr to) {
  auto [entry, isNew] = known.try_emplace(std::array<const void *, 3>{
      whole.getAsOpaquePointer(), from.getAsOpaquePointer(), to.getAsOpaquePointer()});
  Path &path = entry->second;
  if (!isNew || from == to)
    return path;
  // Dijkstra's algorithm; shardings of equal cost in the order in which they are found.
  struct Node {
    double ns;
    std::optional<Move> last;
    bool done = false;
  };
  llvm::MapVector<ShardingAttr, Node> nodes;
  nodes.insert({from, {0, std::nullopt}});
  while (true) {
    auto *best = nodes.end();
    for (auto *node = nodes.begin(); node != nodes.end(); ++node)
      if (!node->second.done && (best == nodes.end() || node->second.ns < best->second.ns))
        best = node;
    assert(best != nodes.end() && "expected a way: by what is whole");
    best->second.done = true;
    path.ns = best->second.ns;
    if (best->first == to)
      break;
    for (Move &move : listMoves(whole, best->first, to)) {
      double ns = path.ns + getNs(whole, move);
      auto [next, found] = nodes.insert({move.after, {ns, move}});
      if (!found && ns < next->second.ns)
        next->second = {ns, move};
    }
  }
  for (ShardingAttr at = to; at != from; at = path.moves.back().before)
    path.moves.push_back(*nodes.find(at)->second.last);
  std::reverse(path.moves.begin(), path.moves.end());
  return path;
}

double Resharder::getNs(RankedTensorType whole, ShardingAttr from, ShardingAttr to) {
  return findPath(whole, from, to).ns;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

Value Resharder::build(OpBuilder &builder, Location loc, Value part, RankedTensorType whole,
                       const Move &step) const {
  int64_t ranks = grid.getSize(step.axes);
  // What a rank has of the dimension afterwards, without padding where that is all.
  auto extentOf = [&](int64_t dim) {
    return step.after.getAxes(dim).empty() ? whole.getDimSize(dim)
                                           : step.after.getLocalType(whole, grid).getDimSize(dim);
  };
  switch (step.kind) {
  case Move::Kind::Gather: {
    SmallVector<int64_t> stacked(typeOf(part).getShape());
    stacked.insert(stacked.begin(), ranks);
    Value all = move<AllGatherOp>(builder, loc, part, step.axes, typeOf(part).clone(stacked));
    return joinParts(builder, loc, all, step.dim, extentOf(step.dim));
  }
  case Move::Kind::Slice: {
    Value parts = stackParts(builder, loc, part, step.dim, ranks);
    return move<AllSliceOp>(builder, loc, parts, step.axes, dropFirst(typeOf(parts)));
  }
  case Move::Kind::Exchange: {
    Value parts = stackParts(builder, loc, part, step.to, ranks);
    Value exchanged = move<AllToAllOp>(builder, loc, parts, step.axes, typeOf(parts));
    return joinParts(builder, loc, exchanged, step.dim, extentOf(step.dim));
  }
  case Move::Kind::ReduceScatter:
    return reduceScatter(builder, loc, part, step.dim, step.axes);
  case Move::Kind::Reduce:
    return reduce(builder, loc, part, step.axes);
  }
  llvm_unreachable("a move has a kind");
}

Value Resharder::reshard(OpBuilder &builder, Location loc, const ShardedValue &value,
                         ShardingAttr target) {
  Value part = value.part;
  for (const Move &step : findPath(value.whole, value.sharding, target).moves)
    part = build(builder, loc, part, value.whole, step);
  return part;
}
