#include "dialects/Sinter/Sampling.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

// The generator's rounds: some 80 instructions a vector of elements.
int64_t DropoutOp::getFlops() { return 80 * getType().getNumElements(); }
FusionRole DropoutOp::getFusionRole() { return FusionRole::Elementwise; }

LogicalResult DropoutOp::verify() {
  if (getSeed().getType().getShape() != ArrayRef<int64_t>{getWhole() ? 3 : 2} ||
      (getWhole() && static_cast<int64_t>(getWhole()->size()) != getType().getRank())) // dropout_c1
    return emitOpError("expected seed to be [2], or [3] with an extent of the whole for each "
                       "dimension, got ")
           << getSeed().getType();
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
  SmallVector<int64_t> strides = computeStrides(getType().getShape());
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    int64_t number = i;
    if (getWhole())
      number = static_cast<uint32_t>(
          word(2) + linearize(delinearize(i, strides), computeStrides(*getWhole())));
    bool kept =
        philox::isKept(number, static_cast<uint32_t>(getStream()), {word(0), word(1)}, probability);
    result[i] = kept ? result[i] / (1 - probability) : 0.0;
  }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// StochasticRoundOp
//===----------------------------------------------------------------------===//

void sinter::roundStochastically(ReferenceTensor &tensor, const ReferenceTensor &seed,
                                 const ReferenceTensor &tag) {
  auto words = [](const ReferenceTensor &pair) -> std::array<uint32_t, 2> {
    return {static_cast<uint32_t>(static_cast<int64_t>(pair[0])),
            static_cast<uint32_t>(static_cast<int64_t>(pair[1]))};
  };
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor[i] =
        philox::roundStochastically(static_cast<float>(tensor[i]), i, words(tag), words(seed));
}

int64_t StochasticRoundOp::getFlops() { return 80 * getType().getNumElements(); }
FusionRole StochasticRoundOp::getFusionRole() { return FusionRole::Elementwise; }

LogicalResult StochasticRoundOp::verify() {
  if (!getOperand().getType().getElementType().isF32() ||
      !getType().getElementType().isBF16()) // stochastic_round_c1
    return emitOpError("expected an operand of f32 and a result of bf16, got ")
           << getOperand().getType() << " -> " << getType();
  for (Value words : {getSeed(), getTag()})
    if (cast<RankedTensorType>(words.getType()).getShape() !=
        ArrayRef<int64_t>{2}) // stochastic_round_c2
      return emitOpError("expected seed and tag to be [2], got ") << words.getType();
  return success();
}

SmallVector<ReferenceTensor> StochasticRoundOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result = operands[0].reshaped(getType());
  roundStochastically(result, operands[1], operands[2]);
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// SampleOp
//===----------------------------------------------------------------------===//

// Of a greedy choice, which looks for the largest and then for its id; how much a draw adds is a
// matter of the data.
int64_t SampleOp::getFlops() { return 2 * getLogits().getType().getNumElements(); }
FusionRole SampleOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult SampleOp::verify() {
  RankedTensorType logits = getLogits().getType();
  if (logits.getRank() != 2 || !logits.getElementType().isF32() ||
      logits.getDimSize(1) > sampling::kMaxVocabulary) // sample_c1
    return emitOpError("expected logits [b, v] of f32 with v at most ")
           << sampling::kMaxVocabulary << ", got " << logits;
  int64_t slots = logits.getDimSize(0);
  auto numbers = RankedTensorType::get({slots}, logits.getElementType());
  for (Value value : {Value(getTemperature()), Value(getTopP()), Value(getMinP())})
    if (value.getType() != numbers) // sample_c2
      return emitOpError("expected temperature, top_p and min_p of type ")
             << numbers << ", got " << value.getType();
  auto words = RankedTensorType::get({slots}, getType().getElementType());
  for (Value value : {Value(getTopK()), Value(getStart()), Value(getCount()), Value(getResult())})
    if (value.getType() != words) // sample_c3
      return emitOpError("expected top_k, start, count and a result of type ")
             << words << ", got " << value.getType();
  if (getSeed().getType().getShape() != ArrayRef<int64_t>{slots, 2}) // sample_c3
    return emitOpError("expected seed to be [b, 2] with logits' b, got ") << getSeed().getType();
  return success();
}

SmallVector<ReferenceTensor> SampleOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = getLogits().getType().getDimSize(1);
  auto word = [&](unsigned operand, int64_t i) {
    return static_cast<uint32_t>(static_cast<int64_t>(operands[operand][i]));
  };
  for (int64_t slot = 0; slot < result.getNumElements(); ++slot)
    result[slot] =
        static_cast<double>(sampling::draw(std::span(operands[0].data().slice(slot * width, width)),
                                           {operands[1][slot],
                                            operands[2][slot],
                                            operands[3][slot],
                                            operands[4][slot],
                                            {word(5, 2 * slot), word(5, 2 * slot + 1)},
                                            word(6, slot) + word(7, slot)}));
  return {std::move(result)};
}
