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

void sinter::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// A fusion's family is a bare word: `sinter.fusion rows(...)`.
static ParseResult parseFamily(OpAsmParser &parser, StringAttr &family) {
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  family = parser.getBuilder().getStringAttr(name);
  return success();
}

static void printFamily(OpAsmPrinter &printer, FusionOp, StringAttr family) {
  printer << family.getValue();
}

#define GET_OP_CLASSES
#include "dialects/Sinter/SinterOps.cpp.inc"
