#include "compiler/Fusion/FusionRules.h"

using namespace mlir;
using namespace sinter;

Classification sinter::classify(const OpSet &ops, const KernelFamilies &families) {
  const KernelFamily *family = nullptr;
  Operation *root = nullptr;
  for (Operation *op : ops)
    if (const KernelFamily *rooted = families.findRooted(op)) {
      if (root)
        return {nullptr, "a kernel is made around one op"};
      family = rooted;
      root = op;
    }
  if (!root)
    family = families.lookup(kRowsFamily);
  assert(family && "expected the families to be registered");
  StringRef obstacle = family->findObstacle(ops, root);
  return {obstacle.empty() ? family : nullptr, obstacle};
}
