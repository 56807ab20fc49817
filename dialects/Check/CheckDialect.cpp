#include "dialects/Check/CheckDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::check;

#include "dialects/Check/CheckDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.cpp.inc"

void CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Check/CheckOps.cpp.inc"
      >();
}

static LogicalResult verifyExpectation(Operation *op, ShapedType actual, ShapedType expected,
                                       APFloat tolerance) {
  if (actual.getShape() != expected.getShape()) // expect_close_c1, expect_const_c1
    return op->emitOpError("expected values of one shape, got ") << actual << " and " << expected;
  if (tolerance.isNegative()) // expect_close_c2, expect_const_c2
    return op->emitOpError("expected tolerance not to be negative");
  return success();
}

/// Emits an error that names the first element that is off.
static void expectClose(Operation *op, const ReferenceTensor &actual,
                        const ReferenceTensor &expected, double tolerance) {
  for (int64_t i = 0; i < actual.getNumElements(); ++i) {
    double difference = std::abs(actual[i] - expected[i]);
    if (difference <= tolerance * std::max(1.0, std::abs(expected[i])) || actual[i] == expected[i])
      continue;
    InFlightDiagnostic error = op->emitError("expected ") << expected[i] << " at [";
    llvm::interleaveComma(delinearize(i, computeStrides(actual.getShape())), error);
    error << "], got " << actual[i] << ", tolerance " << tolerance;
    return;
  }
}

LogicalResult ExpectCloseOp::verify() {
  return verifyExpectation(*this, cast<ShapedType>(getActual().getType()),
                           cast<ShapedType>(getExpected().getType()), getTolerance());
}

SmallVector<ReferenceTensor> ExpectCloseOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  expectClose(*this, operands[0], operands[1], getTolerance().convertToDouble());
  return {};
}

LogicalResult ExpectConstOp::verify() {
  return verifyExpectation(*this, cast<ShapedType>(getActual().getType()),
                           getExpected().getShapedType(), getTolerance());
}

SmallVector<ReferenceTensor> ExpectConstOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  expectClose(*this, operands[0], ReferenceTensor(cast<DenseElementsAttr>(getExpected())),
              getTolerance().convertToDouble());
  return {};
}
