#include "compiler/Codegen/Loops/Philox.h"
#include "dialects/Sinter/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter;

/// A word of the type of `like`, an integer or a vector of integers.
static Value wordLike(OpBuilder &builder, Location loc, Value like, uint32_t word) {
  TypedAttr attribute = builder.getI32IntegerAttr(static_cast<int32_t>(word));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

std::array<Value, 4> sinter::emitPhilox(OpBuilder &builder, Location loc,
                                        std::array<Value, 4> counter, std::array<Value, 2> key) {
  auto multiply = [&](Value word, uint32_t factor) {
    return arith::MulUIExtendedOp::create(builder, loc, word, wordLike(builder, loc, word, factor));
  };
  auto mix = [&](Value a, Value b, Value c) -> Value {
    return arith::XOrIOp::create(builder, loc, arith::XOrIOp::create(builder, loc, a, b), c);
  };
  for (int round = 0; round < philox::kRounds; ++round) {
    auto first = multiply(counter[0], philox::kMultipliers[0]);
    auto second = multiply(counter[2], philox::kMultipliers[1]);
    counter = {mix(second.getHigh(), counter[1], key[0]), second.getLow(),
               mix(first.getHigh(), counter[3], key[1]), first.getLow()};
    if (round + 1 < philox::kRounds)
      for (auto [word, step] : llvm::zip_equal(key, philox::kWeyl))
        word = arith::AddIOp::create(builder, loc, word, wordLike(builder, loc, word, step));
  }
  return counter;
}

Value sinter::emitStochasticRound(OpBuilder &builder, Location loc, Value value, Value low,
                                  Value high, std::array<Value, 2> tag, std::array<Value, 2> seed) {
  auto word = [&](uint32_t number) { return wordLike(builder, loc, low, number); };
  Value random = emitPhilox(builder, loc, {low, high, tag[0], tag[1]}, seed)[0];
  Value part = arith::ShRUIOp::create(builder, loc, random, word(16));
  Value bits = arith::BitcastOp::create(builder, loc, low.getType(), value);
  Value sum = arith::AddIOp::create(builder, loc, bits, part);
  Value rounded = arith::BitcastOp::create(
      builder, loc, value.getType(), arith::AndIOp::create(builder, loc, sum, word(0xffff0000)));
  Value isNumber = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ORD, value, value);
  return arith::SelectOp::create(builder, loc, isNumber, rounded, value);
}

Value sinter::emitIsKept(OpBuilder &builder, Location loc, Value low, Value high, uint32_t stream,
                         std::array<Value, 2> seed, double probability) {
  Value word = emitPhilox(
      builder, loc,
      {low, high, wordLike(builder, loc, low, stream), wordLike(builder, loc, low, 0)}, seed)[0];
  Value threshold = wordLike(builder, loc, low, philox::getThreshold(probability));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, word, threshold);
}
