#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/AdjointTerm.h"

using namespace mlir;
using namespace sinter;

#include "dialects/Sinter/SinterDialect.cpp.inc"

void SinterDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Sinter/SinterOps.cpp.inc"
      >();
  registerAttributes();
}

Operation *SinterDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                              Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, loc, type, elements);
  return nullptr;
}

#define GET_OP_CLASSES
#include "dialects/Sinter/SinterOps.cpp.inc"
