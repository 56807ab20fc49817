#include "dialects/Sinter/Philox.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

// The generator's rounds: some 80 instructions a vector of elements.
int64_t DropoutOp::getFlops() { return 80 * getType().getNumElements(); }
FusionRole DropoutOp::getFusionRole() { return FusionRole::Elementwise; }

LogicalResult DropoutOp::verify() {
  if (getSeed().getType().getShape() != ArrayRef<int64_t>{2}) // dropout_c1
    return emitOpError("expected seed to be [2], got ") << getSeed().getType();
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0 && probability < 1)) // dropout_c2
    return emitOpError("expected probability to be at least 0 and below 1, got ") << probability;
  return success();
}

SmallVector<ReferenceTensor> DropoutOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result = operands[0];
  auto word = [&](int64_t i) {
    return static_cast<uint32_t>(static_cast<int64_t>(operands[1][i]));
  };
  double probability = getProbability().convertToDouble();
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    bool kept =
        philox::isKept(i, static_cast<uint32_t>(getStream()), {word(0), word(1)}, probability);
    result[i] = kept ? result[i] / (1 - probability) : 0.0;
  }
  result.round();
  return {std::move(result)};
}
