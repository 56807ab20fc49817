#include "compiler/Fusion/FusionRules.h"

using namespace mlir;
using namespace sinter;

Classification sinter::classify(const OpSet &ops, const KernelFamilies &families) {
  Operation *root = nullptr;
  for (Operation *op : ops)
    if (families.findRooted(op)) {
      if (root)
        return {nullptr, kTwoRoots};
      root = op;
    }
  return classify(ops, root, families);
}

Classification sinter::classify(const OpSet &ops, Operation *root, const KernelFamilies &families) {
  const KernelFamily *family = root ? families.findRooted(root) : families.lookup(kRowsFamily);
  assert(family && "expected the families to be registered");
  StringRef obstacle = family->findObstacle(ops, root);
  return {obstacle.empty() ? family : nullptr, obstacle};
}
