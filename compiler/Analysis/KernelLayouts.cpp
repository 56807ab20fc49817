#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter;

PanelsAttr sinter::getPanels(Type elementType) {
  bool narrow = elementType.getIntOrFloatBitWidth() == 16;
  return PanelsAttr::get(elementType.getContext(), kPanelWidth, /*interleave=*/narrow ? 2 : 1,
                         /*depth=*/narrow ? 32 : 16);
}

bool sinter::mayStayDense(Value rhs) {
  auto argument = dyn_cast<BlockArgument>(rhs);
  auto entry = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return entry && entry.getArgAttr(argument.getArgNumber(), SinterDialect::kState) &&
         getElementTypeOrSelf(rhs).isF32();
}

Attribute sinter::getKeyLayout(Type elementType, TargetAttr target) {
  bool pairs = elementType.isBF16() && hasPairDot(target);
  return KeyPanelsAttr::get(target.getContext(), /*width=*/16, /*interleave=*/pairs ? 2 : 1);
}

Attribute sinter::getValueLayout(Type elementType, TargetAttr target) {
  return HeadMajorAttr::get(target.getContext());
}
