#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

namespace {
struct PackIntegersFamily : KernelFamily {
  PackIntegersFamily() : KernelFamily("pack_integers") {}

  bool isRoot(Operation *op) const override { return isa<PackOp>(op) && isForGpu(op); }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "the op runs alone" : "";
  }

  TemplateGenerator getTemplate() const override { return instantiatePackIntegers; }
};
} // namespace

const KernelFamily &sinter::getPackIntegersFamily() {
  static const PackIntegersFamily family;
  return family;
}
