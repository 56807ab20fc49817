#include "compiler/Analysis/Bias.h"

using namespace mlir;
using namespace sinter;

std::optional<Bias> sinter::findBias(Value value) {
  auto add = value.hasOneUse() ? dyn_cast<AddOp>(*value.user_begin()) : nullptr;
  if (!add)
    return std::nullopt;
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  auto spread = other.getDefiningOp<BroadcastOp>();
  if (!spread || !spread.repeatsRow())
    return std::nullopt;
  return Bias{add, spread};
}
