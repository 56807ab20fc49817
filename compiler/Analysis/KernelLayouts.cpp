#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter;

/// Columns of the target's panels.
static int64_t getPanelWidth(TargetAttr target) {
  constexpr int64_t kFewRegisters = 16, kNarrowWidth = 16, kWideWidth = 32;
  return target && target.getRegisters() <= kFewRegisters ? kNarrowWidth : kWideWidth;
}

PanelsAttr sinter::getPanels(Type elementType, TargetAttr target) {
  bool narrow = elementType.getIntOrFloatBitWidth() == 16;
  return PanelsAttr::get(elementType.getContext(), getPanelWidth(target),
                         /*interleave=*/narrow ? 2 : 1, /*depth=*/narrow ? 32 : 16);
}

bool sinter::isOneSumOfBytes(MatmulOp matmul) {
  return matmul.getRowScales() && getElementTypeOrSelf(matmul.getRhs()).isInteger(8) &&
         matmul.getGroup() == matmul.getK() && !matmul.getMinima();
}

PanelsAttr sinter::getIntegerPanels(Type elementType, TargetAttr target) {
  int64_t together = getBytePanels(elementType.getContext(), target).getInterleave();
  return PanelsAttr::get(elementType.getContext(), getPanelWidth(target),
                         /*interleave=*/elementType.isInteger(8) ? together : 4, /*depth=*/32);
}

PanelsAttr sinter::getCodePanels(DenseI8ArrayAttr values, TargetAttr target) {
  ArrayRef<int8_t> numbers = values.asArrayRef();
  if (!target || llvm::all_equal(numbers))
    return nullptr;
  PanelsAttr panels = getIntegerPanels(IntegerType::get(values.getContext(), 4), target);
  return PanelsAttr::get(values.getContext(), panels.getWidth(), panels.getInterleave(),
                         panels.getDepth(), values);
}

int64_t sinter::getStoredBits(RankedTensorType matrix) {
  return getCodeValues(matrix).empty() ? matrix.getElementTypeBitWidth() : 4;
}

ArrayRef<int8_t> sinter::getCodeValues(RankedTensorType matrix) {
  auto panels = dyn_cast_or_null<PanelsAttr>(matrix.getEncoding());
  return panels && panels.getValues() ? panels.getValues().asArrayRef() : ArrayRef<int8_t>();
}

PanelsAttr sinter::getRowPanel(RankedTensorType rows) {
  constexpr int64_t pieceElements = 32;
  return PanelsAttr::get(rows.getContext(), llvm::alignTo(rows.getShape().back(), pieceElements),
                         /*interleave=*/1, /*depth=*/1);
}

PanelsAttr sinter::getScaledPanels(MLIRContext *context, TargetAttr target) {
  return PanelsAttr::get(context, getPanelWidth(target), /*interleave=*/1, /*depth=*/1);
}

PanelsAttr sinter::getBytePanels(MLIRContext *context, TargetAttr target) {
  int64_t together = target && hasByteDot(target) ? 4 : 2;
  return PanelsAttr::get(context, getPanelWidth(target), /*interleave=*/together,
                         /*depth=*/together);
}

bool sinter::mayStayDense(Value rhs) {
  auto argument = dyn_cast<BlockArgument>(rhs);
  auto entry = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return entry && entry.getArgAttr(argument.getArgNumber(), SinterDialect::kState) &&
         getElementTypeOrSelf(rhs).isF32();
}

bool sinter::makesPanels(MatmulOp matmul) {
  constexpr int64_t fewestRows = 32, leastBytes = 32 << 20;
  return mayStayDense(matmul.getRhs()) && !matmul.getTransposeLhs() &&
         matmul.getM() >= fewestRows && matmul.getM() <= kBlockRows &&
         4 * matmul.getK() * matmul.getN() >= leastBytes;
}

bool sinter::usesKeyTiles(Type elementType, int64_t headSize, TargetAttr target) {
  constexpr int64_t stepOfTiles = 32;
  return elementType.isBF16() && hasTileDot(target) && headSize % stepOfTiles == 0;
}

bool sinter::pairsKeys(Type elementType, int64_t headSize, TargetAttr target) {
  return elementType.isBF16() &&
         (hasFastPairDot(target) || usesKeyTiles(elementType, headSize, target));
}

Attribute sinter::getKeyLayout(RankedTensorType keys, TargetAttr target) {
  Type elementType = keys.getElementType();
  bool pairs = pairsKeys(elementType, keys.getShape().back(), target);
  int64_t width = elementType.getIntOrFloatBitWidth() == 8 ? 64 : 16;
  return KeyPanelsAttr::get(target.getContext(), width, /*interleave=*/pairs ? 2 : 1);
}

Attribute sinter::getValueLayout(TargetAttr target) {
  return HeadMajorAttr::get(target.getContext());
}
