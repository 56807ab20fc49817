#include "compiler/Families/Families.h"

using namespace mlir;
using namespace sinter;

namespace {
struct SinterFamilies : KernelFamilyInterface {
  using KernelFamilyInterface::KernelFamilyInterface;

  ArrayRef<const KernelFamily *> getFamilies() const override {
    static const KernelFamily *const families[] = {
        &getAttentionFamily(),   &getAttentionGradFamily(), &getGemmFamily(),
        &getGroupedGemmFamily(), &getLibraryGemmFamily(),   &getLinearAttentionFamily(),
        &getPackFamily(),        &getPackIntegersFamily(),  &getRoutingFamily(),
        &getRowsFamily(),        &getSamplingFamily(),      &getScatterFamily(),
        &getStackFamily(),
    };
    return families;
  }
};
} // namespace

void sinter::registerKernelFamilies(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, SinterDialect *dialect) { dialect->addInterfaces<SinterFamilies>(); });
}
