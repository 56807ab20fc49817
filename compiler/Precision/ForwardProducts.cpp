#include "compiler/Precision/ForwardProducts.h"
#include "dialects/Sinter/Stage.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace sinter;

/// Whether `matches` holds for something that is computed from the product without another one.
static bool anyReader(MatmulOp matmul, llvm::function_ref<bool(Operation *, bool)> matches) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> open{matmul};
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers()) {
      auto fusible = dyn_cast<FusibleOpInterface>(user);
      FusionRole role = fusible ? fusible.getFusionRole() : FusionRole::Opaque;
      bool multiplies = role == FusionRole::Contraction || role == FusionRole::Attention;
      if (matches(user, multiplies))
        return true;
      if (!multiplies && seen.insert(user).second)
        open.push_back(user);
    }
  return false;
}

// A head that is computed with its loss, in parts, stands in the backward pass.
bool sinter::isLastProduct(MatmulOp matmul) {
  return !anyReader(matmul, [](Operation *user, bool multiplies) {
    auto product = dyn_cast<MatmulOp>(user);
    return multiplies &&
           (getStage(user->getLoc()) == Stage::Forward || (product && makesLogits(product)));
  });
}

bool sinter::makesLogits(MatmulOp matmul) {
  return anyReader(matmul, [](Operation *user, bool) { return isa<CrossEntropyOp>(user); });
}

bool sinter::isTable(Value weight) {
  return llvm::any_of(weight.getUsers(),
                      [](Operation *user) { return isa<LookupOpInterface>(user); });
}
