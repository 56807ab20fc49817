#include "dialects/Interfaces/LoopNest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace mlir;
using namespace sinter;

namespace {
class NestParser {
public:
  explicit NestParser(MLIRContext *context) : context(context) {}

  LoopNest parse(StringRef text, ArrayRef<Value> tensors) {
    auto [operands, results] = text.split("->");
    SmallVector<StringRef> lists;
    if (!operands.trim().empty())
      operands.split(lists, ',');
    size_t operandCount = lists.size();
    results.split(lists, ',');
    assert(lists.size() == tensors.size() && "expected a list for each operand and result");
    SmallVector<SmallVector<unsigned>> dims;
    for (auto [i, list] : llvm::enumerate(lists))
      if (tensors[i]) {
        dims.push_back(loopsOf(list, cast<RankedTensorType>(tensors[i].getType()).getRank()));
        if (i >= operandCount)
          for (unsigned loop : dims.back())
            reachesResult[loop] = true;
      }
    for (auto [loop, kind] : llvm::enumerate(nest.loops))
      if (kind == LoopKind::Parallel && !reachesResult[loop])
        kind = LoopKind::Reduction;
    for (ArrayRef<unsigned> loops : dims) {
      SmallVector<AffineExpr> exprs;
      for (unsigned loop : loops)
        exprs.push_back(getAffineDimExpr(loop, context));
      nest.maps.push_back(AffineMap::get(nest.loops.size(), 0, exprs, context));
    }
    return std::move(nest);
  }

private:
  SmallVector<unsigned> loopsOf(StringRef list, int64_t rank) {
    SmallVector<StringRef> names;
    list.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    SmallVector<unsigned> loops;
    for (StringRef name : names)
      if (name == "..." || name == "*")
        for (int64_t i = 0, count = rank + 1 - static_cast<int64_t>(names.size()); i < count; ++i)
          loops.push_back(loopOf((name + Twine(i)).str(), name == "..."));
      else
        loops.push_back(loopOf(name, llvm::isLower(name.front())));
    assert(static_cast<int64_t>(loops.size()) == rank && "expected a loop for each dimension");
    return loops;
  }

  unsigned loopOf(StringRef name, bool splits) {
    auto [entry, isNew] = loopNumbers.try_emplace(name, nest.loops.size());
    if (isNew) {
      nest.loops.push_back(splits ? LoopKind::Parallel : LoopKind::Whole);
      reachesResult.push_back(false);
    }
    return entry->second;
  }

  MLIRContext *context;
  LoopNest nest;
  SmallVector<bool> reachesResult;
  llvm::StringMap<unsigned> loopNumbers;
};
} // namespace

LoopNest sinter::parseLoopNest(MLIRContext *context, StringRef text, ArrayRef<Value> tensors) {
  return NestParser(context).parse(text, tensors);
}

LoopNest sinter::makeElementwiseNest(Operation *op) {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  LoopNest nest;
  nest.loops.assign(rank, LoopKind::Parallel);
  nest.maps.assign(op->getNumOperands() + op->getNumResults(),
                   AffineMap::getMultiDimIdentityMap(rank, op->getContext()));
  return nest;
}
