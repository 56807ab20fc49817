#include "dialects/Interfaces/Interfaces.h"

using namespace mlir;
using namespace sinter;

#include "dialects/Interfaces/AttrInterfaces.cpp.inc"
#include "dialects/Interfaces/OpInterfaces.cpp.inc"

llvm::StringRef sinter::stringifyFusionRole(FusionRole role) {
  switch (role) {
  case FusionRole::Elementwise:
    return "elementwise";
  case FusionRole::RowReduction:
    return "row reduction";
  case FusionRole::ColumnReduction:
    return "column reduction";
  case FusionRole::PartReduction:
    return "part reduction";
  case FusionRole::Index:
    return "index";
  case FusionRole::Gather:
    return "gather";
  case FusionRole::Update:
    return "update";
  case FusionRole::Contraction:
    return "contraction";
  case FusionRole::GroupedContraction:
    return "grouped contraction";
  case FusionRole::Attention:
    return "attention";
  case FusionRole::AttentionGrad:
    return "attention gradient";
  case FusionRole::Opaque:
    return "opaque";
  }
  llvm_unreachable("unknown fusion role");
}

int64_t sinter::getStorageBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bits = tensor.getElementTypeBitWidth();
  if (auto layout = dyn_cast_or_null<LayoutAttrInterface>(tensor.getEncoding()))
    return llvm::divideCeil(layout.getStorageElements(tensor.getShape()) * bits, 8);
  return tensor.getNumElements() * llvm::divideCeil(bits, 8);
}

AffineMap sinter::getOffsetMap(RankedTensorType type) {
  if (auto layout = dyn_cast_or_null<LayoutAttrInterface>(type.getEncoding()))
    return layout.getOffsetMap(type.getShape());
  MLIRContext *context = type.getContext();
  AffineExpr offset = getAffineConstantExpr(0, context);
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    offset = offset * extent + getAffineDimExpr(i, context);
  return AffineMap::get(type.getRank(), 0, offset);
}

int64_t sinter::getOperandAndResultBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getStorageBytes(type);
  for (Type type : op->getResultTypes())
    bytes += getStorageBytes(type);
  return bytes;
}
