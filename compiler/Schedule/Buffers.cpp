#include "compiler/Schedule/Buffers.h"
#include "compiler/Analysis/CostModel.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

OpOperand *sinter::getSharedOperand(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  if (isAlias(result.getOwner()))
    return &result.getOwner()->getOpOperand(0);
  auto inPlace = dyn_cast<InPlaceOpInterface>(result.getOwner());
  return inPlace ? inPlace.getInPlaceOperand(result) : nullptr;
}

Value sinter::getVersion(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

Value BufferRoots::get(Value value) {
  SmallVector<Value> passed;
  Value root = known.lookup(value);
  while (!root) {
    passed.push_back(value);
    OpOperand *shared = getSharedOperand(value);
    root = shared ? known.lookup(shared->get()) : value;
    if (shared)
      value = shared->get();
  }
  for (Value version : passed)
    known[version] = root;
  return root;
}

SmallVector<Value> sinter::getReshapes(Value version) {
  SmallVector<Value> values = {version};
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers())
      if (isAlias(user))
        values.push_back(user->getResult(0));
  return values;
}

SmallVector<func::FuncOp> sinter::getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(SinterDialect::kEntry))
      entries.push_back(function);
  return entries;
}

std::optional<unsigned> sinter::getDonation(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto donated =
      function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), SinterDialect::kDonated);
  if (!donated)
    return std::nullopt;
  return donated.getInt();
}
