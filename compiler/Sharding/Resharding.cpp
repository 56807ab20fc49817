#include "compiler/Sharding/Resharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace sinter;

/// Up to here terms are gathered and added by every rank: exchanging parts first would send less,
/// and wait twice.
static constexpr int64_t kGatheredBytes = 64 << 10;

static Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return builder.createOrFold<ReshapeOp>(loc, typeOf(value).clone(shape), value);
}

/// `value` with dimension `from` moved to `to`.
static Value moveDim(OpBuilder &builder, Location loc, Value value, int64_t from, int64_t to) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(value).getDimSize(dim));
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

Value Resharder::gather(OpBuilder &builder, Location loc, Value part, int64_t dim, ArrayAttr axes,
                        int64_t extent) const {
  SmallVector<int64_t> stacked(typeOf(part).getShape());
  stacked.insert(stacked.begin(), grid.getSize(axes));
  Value all = move<AllGatherOp>(builder, loc, part, axes, typeOf(part).clone(stacked));
  return joinParts(builder, loc, all, dim, extent);
}

Value Resharder::split(OpBuilder &builder, Location loc, Value whole, int64_t dim,
                       ArrayAttr axes) const {
  Value parts = stackParts(builder, loc, whole, dim, grid.getSize(axes));
  return move<AllSliceOp>(builder, loc, parts, axes,
                          typeOf(parts).clone(typeOf(parts).getShape().drop_front()));
}

Value Resharder::exchange(OpBuilder &builder, Location loc, Value part, int64_t from,
                          int64_t extent, int64_t to, ArrayAttr axes) const {
  Value parts = stackParts(builder, loc, part, to, grid.getSize(axes));
  Value exchanged = move<AllToAllOp>(builder, loc, parts, axes, typeOf(parts));
  return joinParts(builder, loc, exchanged, from, extent);
}

Value Resharder::addParts(OpBuilder &builder, Location loc, Value parts) {
  RankedTensorType type = typeOf(parts);
  RankedTensorType sum = type.clone(type.getShape().drop_front());
  SmallVector<int64_t> one(type.getShape()), offsets(type.getRank(), 0);
  one[0] = 1;
  // Sums that wait for one of as many terms.
  SmallVector<std::pair<int64_t, Value>> sums;
  auto add = [&](std::pair<int64_t, Value> later) {
    auto [terms, value] = sums.pop_back_val();
    sums.push_back({terms + later.first, AddOp::create(builder, loc, sum, value, later.second)});
  };
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    offsets[0] = i;
    Value term = SliceOp::create(builder, loc, type.clone(one), parts, offsets);
    sums.push_back({1, reshape(builder, loc, term, sum.getShape())});
    while (sums.size() > 1 && sums.back().first == std::prev(sums.end(), 2)->first)
      add(sums.pop_back_val());
  }
  while (sums.size() > 1)
    add(sums.pop_back_val());
  return sums.front().second;
}

Value Resharder::reduceScatter(OpBuilder &builder, Location loc, Value term, ArrayAttr axes) const {
  if (library)
    return split(builder, loc, reduce(builder, loc, term, axes), 0, axes);
  Value parts = stackParts(builder, loc, term, 0, grid.getSize(axes));
  return addParts(builder, loc, move<AllToAllOp>(builder, loc, parts, axes, typeOf(parts)));
}

Value Resharder::reduce(OpBuilder &builder, Location loc, Value term, ArrayAttr axes) const {
  RankedTensorType type = typeOf(term);
  if (library)
    return move<AllReduceOp>(builder, loc, term, axes, type);
  if (type.getRank() == 0 || type.getDimSize(0) < grid.getSize(axes) ||
      getStorageBytes(type) <= kGatheredBytes) {
    SmallVector<int64_t> stacked(type.getShape());
    stacked.insert(stacked.begin(), grid.getSize(axes));
    return addParts(builder, loc, move<AllGatherOp>(builder, loc, term, axes, type.clone(stacked)));
  }
  return gather(builder, loc, reduceScatter(builder, loc, term, axes), 0, axes, type.getDimSize(0));
}

Value Resharder::reshard(OpBuilder &builder, Location loc, const ShardedValue &value,
                         ShardingAttr target) const {
  Value part = value.part;
  SmallVector<ArrayAttr> axes;
  for (int64_t dim = 0; dim < value.whole.getRank(); ++dim)
    axes.push_back(value.sharding.getAxes(dim));
  if (ArrayAttr terms = value.sharding.getUnreduced(); terms && !terms.empty()) {
    bool scatters = !axes.empty() && axes[0].empty() && target.getAxes(0) == terms;
    part = scatters ? reduceScatter(builder, loc, part, terms) : reduce(builder, loc, part, terms);
    if (scatters)
      axes[0] = terms;
  }
  auto differs = [&](int64_t dim) { return axes[dim] != target.getAxes(dim); };
  for (auto [from, held] : llvm::enumerate(axes))
    for (int64_t to = 0; to < value.whole.getRank() && !held.empty() && differs(from); ++to)
      if (axes[to].empty() && target.getAxes(to) == held && target.getAxes(from).empty()) {
        part = exchange(builder, loc, part, from, value.whole.getDimSize(from), to, held);
        std::swap(axes[to], axes[from]);
      }
  for (auto [dim, held] : llvm::enumerate(axes))
    if (!held.empty() && differs(dim)) {
      part = gather(builder, loc, part, dim, held, value.whole.getDimSize(dim));
      held = builder.getArrayAttr({});
    }
  for (int64_t dim = 0; dim < value.whole.getRank(); ++dim)
    if (differs(dim))
      part = split(builder, loc, part, dim, target.getAxes(dim));
  return part;
}
