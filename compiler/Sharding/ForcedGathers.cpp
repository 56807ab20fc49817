#include "compiler/Sharding/ForcedGathers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;

/// The part of the model that a location names.
static std::string describePlace(Location loc) {
  std::string place;
  loc->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part); named && place.empty())
      place = named.getName().str();
    return WalkResult::advance();
  });
  return place.empty() ? "the program" : place;
}

static std::string describeValue(Value value) {
  if (Operation *op = value.getDefiningOp())
    return "the result of " + op->getName().getStringRef().str();
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  for (StringRef kind : {SinterDialect::kState, SinterDialect::kInput, SinterDialect::kParameter})
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kind))
      return name.getValue().str();
  return "an argument";
}

void ForcedGathers::note(Operation *op, const LoopAssignment &split, ArrayRef<ShardedValue> held) {
  int64_t results = 0;
  for (Type type : op->getResultTypes())
    results += getStorageBytes(type);
  for (StringAttr axis : split.unsplittable)
    for (auto [operand, value] : llvm::zip_equal(op->getOperands(), held)) {
      bool isSplit = llvm::any_of(value.sharding.getDims(), [&](Attribute axes) {
        return llvm::is_contained(cast<ArrayAttr>(axes), axis);
      });
      int64_t bytes = getStorageBytes(value.whole);
      if (!isSplit || bytes <= kGatheredBytes || results < getStorageBytes(value.part.getType()))
        continue;
      if (count++ == 0)
        first =
            llvm::formatv("{0} of {1} cannot be split along {2}: every rank gathers {3} of {4}, "
                          "{5} bytes",
                          op->getName(), describePlace(op->getLoc()), axis.getValue(),
                          describeValue(operand), value.whole, bytes);
    }
}

LogicalResult ForcedGathers::report(func::FuncOp function, bool forbid) const {
  if (count == 0)
    return success();
  std::string others = count > 1 ? "; so it is " + std::to_string(count - 1) + " more times" : "";
  if (forbid)
    return emitError(function.getLoc(), first) << others;
  emitWarning(function.getLoc(), first) << others;
  return success();
}
