#include "compiler/Analysis/Bias.h"

using namespace mlir;
using namespace sinter;

BroadcastOp sinter::findSpread(Value value) {
  auto spread = value.getDefiningOp<BroadcastOp>();
  return spread && spread.repeatsRow() ? spread : nullptr;
}

std::optional<Bias> sinter::findBias(Value value) {
  auto add = value.hasOneUse() ? dyn_cast<AddOp>(*value.user_begin()) : nullptr;
  if (!add)
    return std::nullopt;
  BroadcastOp spread = findSpread(add.getLhs() == value ? add.getRhs() : add.getLhs());
  if (!spread)
    return std::nullopt;
  return Bias{add, spread};
}
