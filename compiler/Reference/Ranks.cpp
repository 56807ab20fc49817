#include "compiler/Reference/Evaluator.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter;

SmallVector<SmallVector<ReferenceTensor>>
sinter::evaluateRanks(func::FuncOp function, GridAttr grid,
                      ArrayRef<SmallVector<ReferenceTensor>> arguments) {
  int64_t ranks = grid.getRanks();
  std::vector<llvm::DenseMap<Value, ReferenceTensor>> values(ranks);
  auto lookup = [&](int64_t rank, ValueRange operands) {
    return llvm::map_to_vector(operands, [&](Value value) { return values[rank].at(value); });
  };
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (auto [argument, value] : llvm::zip_equal(function.getArguments(), arguments[rank]))
      values[rank][argument] = value;
  for (Operation &op : function.front().without_terminator())
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (!collective) {
        auto results = cast<ReferenceOpInterface>(op).evaluate(lookup(rank, op.getOperands()));
        for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
          values[rank][result] = std::move(value);
        continue;
      }
      SmallVector<int64_t> group = grid.getGroup(collective.getAxes(), rank);
      SmallVector<ReferenceTensor> operands;
      for (int64_t member : group)
        operands.push_back(values[member].at(collective.getOperand()));
      int64_t place = llvm::find(group, rank) - group.begin();
      values[rank][collective.getResult()] = collective.evaluateRank(operands, place);
    }
  SmallVector<SmallVector<ReferenceTensor>> results;
  for (int64_t rank = 0; rank < ranks; ++rank)
    results.push_back(lookup(rank, function.front().getTerminator()->getOperands()));
  return results;
}

/// The number of a rank among those that split something along `axes`.
static int64_t findPlace(GridAttr grid, ArrayAttr axes, int64_t rank) {
  SmallVector<int64_t> group = grid.getGroup(axes, rank);
  return llvm::find(group, rank) - group.begin();
}

/// Calls `fn(index in the whole tensor, number of the element in the rank's part)` for each element
/// of a part that lies inside of the tensor.
template <typename Fn>
static void forEachElement(RankedTensorType whole, ShardingAttr sharding, GridAttr grid,
                           int64_t rank, Fn fn) {
  RankedTensorType part = sharding.getLocalType(whole, grid);
  SmallVector<int64_t> begin;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    begin.push_back(part.getDimSize(dim) * findPlace(grid, sharding.getAxes(dim), rank));
  SmallVector<int64_t> strides = computeStrides(part.getShape());
  for (int64_t i = 0; i < part.getNumElements(); ++i) {
    SmallVector<int64_t> index = delinearize(i, strides);
    bool inside = true;
    for (auto [place, from, extent] : llvm::zip_equal(index, begin, whole.getShape()))
      inside &= (place += from) < extent;
    if (inside)
      fn(index, i);
  }
}

/// The part of a sum that a rank's term is: unlike ones, of either sign, that add up to 1.
static double getTerm(ShardingAttr sharding, GridAttr grid, int64_t rank) {
  if (!sharding.isUnreduced())
    return 1;
  int64_t place = findPlace(grid, sharding.getUnreduced(), rank);
  int64_t ranks = grid.getSize(sharding.getUnreduced());
  return place == 0 ? 1 + (ranks - 1) * 0.5 : -0.5;
}

ReferenceTensor sinter::takeShard(const ReferenceTensor &whole, ShardingAttr sharding,
                                  GridAttr grid, int64_t rank) {
  ReferenceTensor part(sharding.getLocalType(whole.getType(), grid));
  double term = getTerm(sharding, grid, rank);
  forEachElement(whole.getType(), sharding, grid, rank,
                 [&](ArrayRef<int64_t> index, int64_t i) { part[i] = term * whole.at(index); });
  return part;
}

FailureOr<ReferenceTensor> sinter::joinShards(ArrayRef<ReferenceTensor> parts,
                                              RankedTensorType whole, ShardingAttr sharding,
                                              GridAttr grid, std::string &reason) {
  ReferenceTensor joined(whole);
  std::vector<int64_t> holder(joined.getNumElements(), -1);
  SmallVector<int64_t> strides = computeStrides(whole.getShape());
  for (auto [rank, part] : llvm::enumerate(parts)) {
    // A term counts once for each place on the unreduced axes.
    int64_t place = sharding.isUnreduced() ? findPlace(grid, sharding.getUnreduced(), rank) : 0;
    forEachElement(whole, sharding, grid, rank, [&](ArrayRef<int64_t> index, int64_t i) {
      int64_t number = linearize(index, strides);
      if (holder[number] < place) {
        joined[number] += part[i];
        holder[number] = place;
      } else if (!sharding.isUnreduced() && joined[number] != part[i]) {
        reason = "rank " + std::to_string(rank) + " holds another number than a rank before it";
      }
    });
  }
  if (!reason.empty())
    return failure();
  return joined;
}
