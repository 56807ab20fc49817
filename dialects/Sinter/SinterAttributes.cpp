#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

#include "dialects/Sinter/SinterEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Sinter/SinterAttributes.cpp.inc"

void SinterDialect::registerLayouts() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Sinter/SinterAttributes.cpp.inc"
      >();
}

static std::string checkRank(ArrayRef<int64_t> shape, size_t rank) {
  if (shape.size() == rank)
    return {};
  return "layout is for rank " + std::to_string(rank) + ", not " + std::to_string(shape.size());
}

//===----------------------------------------------------------------------===//
// Panels: [k, n] -> [n / width][k / interleave][width][interleave]
//===----------------------------------------------------------------------===//

std::string PanelsAttr::checkShape(ArrayRef<int64_t> shape) const { return checkRank(shape, 2); }

int64_t PanelsAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  return llvm::alignTo(shape[0], getDepth()) * llvm::alignTo(shape[1], getWidth());
}

AffineMap PanelsAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  AffineExpr k = getAffineDimExpr(0, getContext()), n = getAffineDimExpr(1, getContext());
  int64_t panel = llvm::alignTo(shape[0], getDepth()) * getWidth();
  AffineExpr offset = n.floorDiv(getWidth()) * panel +
                      k.floorDiv(getInterleave()) * (getWidth() * getInterleave()) +
                      (n % getWidth()) * getInterleave() + k % getInterleave();
  return AffineMap::get(2, 0, offset);
}

//===----------------------------------------------------------------------===//
// KeyPanels: [b, c, h, d] -> [b][h][c / width][d / interleave][width][interleave]
//===----------------------------------------------------------------------===//

std::string KeyPanelsAttr::checkShape(ArrayRef<int64_t> shape) const { return checkRank(shape, 4); }

int64_t KeyPanelsAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[2] * llvm::alignTo(shape[1], getWidth()) *
         llvm::alignTo(shape[3], getInterleave());
}

AffineMap KeyPanelsAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  MLIRContext *context = getContext();
  AffineExpr b = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context),
             h = getAffineDimExpr(2, context), d = getAffineDimExpr(3, context);
  int64_t depth = llvm::alignTo(shape[3], getInterleave());
  int64_t head = llvm::alignTo(shape[1], getWidth()) * depth;
  AffineExpr offset = (b * shape[2] + h) * head + c.floorDiv(getWidth()) * (getWidth() * depth) +
                      d.floorDiv(getInterleave()) * (getWidth() * getInterleave()) +
                      (c % getWidth()) * getInterleave() + d % getInterleave();
  return AffineMap::get(4, 0, offset);
}

//===----------------------------------------------------------------------===//
// HeadMajor: [b, c, h, d] -> [b][h][c][d]
//===----------------------------------------------------------------------===//

std::string HeadMajorAttr::checkShape(ArrayRef<int64_t> shape) const { return checkRank(shape, 4); }

int64_t HeadMajorAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

AffineMap HeadMajorAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  MLIRContext *context = getContext();
  AffineExpr b = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context),
             h = getAffineDimExpr(2, context), d = getAffineDimExpr(3, context);
  return AffineMap::get(4, 0, ((b * shape[2] + h) * shape[1] + c) * shape[3] + d);
}
