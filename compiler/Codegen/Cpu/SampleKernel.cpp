//===- SampleKernel.cpp - Drawing a token from a row of logits --------------===//
//
// Nothing is sorted and nothing is kept: what top-k and top-p leave is a threshold, and a threshold
// is found by bisection. Kept is what is above it, and some of what equals it.
//
//   lower <= threshold <= upper, two numbers; `above` weighs what is larger than `upper`
//   while lower < upper
//     middle = half way between both as ordered integers, above lower
//     mass = sum of weights over [middle, upper]
//     above + mass reaches the target?  lower = the least logit of [middle, upper]
//                                 else  upper = the largest of [lower, middle), above += mass
//
// Top-k counts, top-p weighs; sums of whole numbers are exact, so that each pass sums alike. A pass
// reads the row and computes only on vectors that have a logit between lower and upper: the logits
// just below the largest are few, and fewer with every pass. As integers, 32 passes are the most;
// since both ends move on to logits that are there, a dozen are usual. Top-k of few begins higher:
// the pass for the largest logit keeps the largest of 64 stripes of the row, say, and as many
// logits are not below the least of these.
//
// A row is one work item: it takes a fraction of what its product took.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "compiler/Codegen/Loops/Philox.h"
#include "dialects/Sinter/Sampling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace sinter;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {
class SampleEmitter {
public:
  SampleEmitter(SampleOp op, func::FuncOp loopKernel, TargetAttr target)
      : builder(loopKernel, target), op(op), arguments(loopKernel.getArguments()),
        result(arguments[op->getParentOfType<func::FuncOp>().getNumArguments()]),
        lanes(builder.getLanes()), width(op.getLogits().getType().getDimSize(1)),
        lane(builder.scratch(lanes, builder.getF32Type())) {}

  void emit(Value begin, Value end) {
    builder.loop(begin, end, 1, [&](Value row) { emitRow(row); });
  }

private:
  /// From a vector of logits to what they weigh.
  using Weigh = llvm::function_ref<Value(Value)>;
  using Body = llvm::function_ref<SmallVector<Value>(Value x, Value first, ValueRange carried)>;
  /// A threshold, and what is above it weighs.
  struct Threshold {
    Value logit, above;
  };
  /// The numbers from `least` to `most`.
  struct Range {
    Value least, most;
  };

  //===--------------------------------------------------------------------===//
  // Words
  //===--------------------------------------------------------------------===//

  Value f32(float value) {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  }
  Value f64(double value) {
    return arith::ConstantOp::create(builder, builder.getF64FloatAttr(value));
  }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }
  Value compare(CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, predicate, a, b);
  }
  Value compare(CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }
  Value widen(Value number) {
    Type type = builder.getF64Type();
    if (auto vector = dyn_cast<VectorType>(number.getType()))
      type = VectorType::get(vector.getShape(), type);
    return arith::ExtFOp::create(builder, type, number);
  }
  Value reduce(vector::CombiningKind kind, Value vector) {
    return vector::ReductionOp::create(builder, kind, vector);
  }
  /// An element of one of the op's operands.
  Value load(Value operand, Value offset) {
    Value memory = arguments[cast<BlockArgument>(operand).getArgNumber()];
    return memref::LoadOp::create(builder, memory, offset);
  }

  /// The order of numbers as an order of integers, and back: the one function is its own inverse.
  Value reorder(Value bits) {
    Value sign = arith::ShRSIOp::create(builder, bits, i32(31));
    return arith::XOrIOp::create(builder, bits, both(sign, i32(0x7fffffff)));
  }
  /// Adding zero makes one of both zeros.
  Value toKey(Value number) {
    Value positive = arith::AddFOp::create(builder, number, f32(0));
    return reorder(arith::BitcastOp::create(builder, builder.getI32Type(), positive));
  }
  Value fromKey(Value key) {
    return arith::BitcastOp::create(builder, builder.getF32Type(), reorder(key));
  }
  /// The number that is `steps` behind another.
  Value stepFrom(Value number, int32_t steps) {
    return fromKey(arith::AddIOp::create(builder, toKey(number), i32(steps)));
  }
  Value nextAbove(Value number) { return stepFrom(number, 1); }
  /// Half way between two numbers, above the lower one.
  Value middleOf(Value lower, Value upper) {
    Type wide = builder.getI64Type();
    Value sum = arith::AddIOp::create(builder, arith::ExtSIOp::create(builder, wide, toKey(lower)),
                                      arith::ExtSIOp::create(builder, wide, toKey(upper)));
    Value one = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(1));
    Value half =
        arith::ShRSIOp::create(builder, arith::AddIOp::create(builder, sum, one).getResult(), one);
    return fromKey(arith::TruncIOp::create(builder, builder.getI32Type(), half));
  }

  //===--------------------------------------------------------------------===//
  // Going over the row
  //===--------------------------------------------------------------------===//

  /// The row's logits from `first` on; NaN, which is in no range, behind its end.
  Value loadLogits(Value first, bool isPartial) {
    Value memory = arguments[cast<BlockArgument>(op.getLogits()).getArgNumber()];
    Value offset = builder.add(rowOffset, first);
    if (!isPartial)
      return builder.load(memory, offset);
    Value mask = builder.maskBelow(builder.sub(builder.index(width), first));
    Value nothing = builder.splat(double(std::numeric_limits<float>::quiet_NaN()));
    return builder.select(mask, builder.load(memory, offset, mask), nothing);
  }

  /// Calls `body` with every vector of logits and the number of its first one.
  SmallVector<Value> forEachVector(ValueRange initial, Body body) {
    int64_t whole = width / lanes * lanes;
    SmallVector<Value> carried =
        builder.loop(builder.index(0), builder.index(whole), lanes, initial,
                     [&](Value first, ValueRange values) {
                       return body(loadLogits(first, /*isPartial=*/false), first, values);
                     });
    if (whole == width)
      return carried;
    Value first = builder.index(whole);
    return body(loadLogits(first, /*isPartial=*/true), first, carried);
  }

  Value isInside(Value x, Range range) {
    return both(compare(CmpFPredicate::OGE, x, builder.splat(range.least)),
                compare(CmpFPredicate::OLE, x, builder.splat(range.most)));
  }

  Value isAny(Value mask) { return reduce(vector::CombiningKind::OR, mask); }

  /// What `body` makes of carried values where the condition holds, else these.
  SmallVector<Value> updateIf(Value condition, ValueRange carried,
                              llvm::function_ref<SmallVector<Value>()> body) {
    auto branch = scf::IfOp::create(builder, carried.getTypes(), condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, body());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, carried);
    return SmallVector<Value>(branch.getResults());
  }

  /// Weights of the lanes of a mask, in f64.
  Value weighInside(Value x, Value mask, Weigh weigh) {
    return widen(builder.select(mask, weigh(x), builder.splat(0.0)));
  }

  Value noMass() {
    return arith::ConstantOp::create(
        builder, builder.getZeroAttr(VectorType::get({lanes}, builder.getF64Type())));
  }

  /// The sum of weights over a range.
  Value sumOver(Range range, Weigh weigh) {
    Value sums = forEachVector(noMass(), [&](Value x, Value, ValueRange sum) {
      Value inside = isInside(x, range);
      return updateIf(isAny(inside), sum, [&]() -> SmallVector<Value> {
        return {arith::AddFOp::create(builder, sum[0], weighInside(x, inside, weigh))};
      });
    })[0];
    return reduce(vector::CombiningKind::ADD, sums);
  }

  /// The largest threshold with which what is not below it reaches the target. `range` has it; its
  /// least number need not be a logit. @returns -infinity where all together do not reach it.
  Threshold findThreshold(Value target, Range range, Value above, Weigh weigh) {
    Type number = builder.getF32Type(), sum = builder.getF64Type();
    auto loop = scf::WhileOp::create(builder, TypeRange{number, number, sum},
                                     ValueRange{range.least, range.most, above});
    SmallVector<Location> locations(3, builder.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, {number, number, sum}, locations);
    scf::ConditionOp::create(
        builder, compare(CmpFPredicate::OLT, before->getArgument(0), before->getArgument(1)),
        before->getArguments());
    Block *after = builder.createBlock(&loop.getAfter(), {}, {number, number, sum}, locations);
    scf::YieldOp::create(builder, narrow(target, {after->getArgument(0), after->getArgument(1)},
                                         after->getArgument(2), weigh));
    return {loop.getResult(1), loop.getResult(2)};
  }

  /// One pass: the least and the most that the threshold can be, and what is above.
  SmallVector<Value> narrow(Value target, Range range, Value above, Weigh weigh) {
    Value middle = builder.splat(middleOf(range.least, range.most));
    Value infinite = builder.splat(double(kInfinity)), nothing = builder.splat(-double(kInfinity));
    SmallVector<Value> found =
        forEachVector({noMass(), infinite, nothing}, [&](Value x, Value, ValueRange carried) {
          Value inside = isInside(x, range);
          return updateIf(isAny(inside), carried, [&]() -> SmallVector<Value> {
            Value isUpper = compare(CmpFPredicate::OGE, x, middle);
            Value upper = both(inside, isUpper);
            Value lower = both(inside, compare(CmpFPredicate::OLT, x, middle));
            Value upperLogits = builder.select(upper, x, infinite);
            Value isLess = compare(CmpFPredicate::OLT, upperLogits, carried[1]);
            return {arith::AddFOp::create(builder, carried[0], weighInside(x, upper, weigh)),
                    builder.select(isLess, upperLogits, carried[1]),
                    builder.maxF(builder.select(lower, x, nothing), carried[2])};
          });
        });
    Value mass =
        arith::AddFOp::create(builder, above, reduce(vector::CombiningKind::ADD, found[0]));
    Value reaches = compare(CmpFPredicate::OGE, mass, target);
    Value least = reduce(vector::CombiningKind::MINNUMF, found[1]);
    Value most = reduce(vector::CombiningKind::MAXNUMF, found[2]);
    return {builder.select(reaches, least, range.least), builder.select(reaches, range.most, most),
            builder.select(reaches, above, mass)};
  }

  /// The first id of a range at which the running sum of weights, which begins with `sum`, is above
  /// `drawn`; 0 if there is none.
  Value findId(Range range, Value sum, Value drawn, Weigh weigh) {
    // The vector that has it, and the sum before that.
    Value nowhere = builder.index(-1);
    SmallVector<Value> place = forEachVector({sum, nowhere}, [&](Value x, Value first,
                                                                 ValueRange carried) {
      Value inside = isInside(x, range);
      Value isOpen = compare(CmpIPredicate::eq, carried[1], nowhere);
      return updateIf(both(isOpen, isAny(inside)), carried, [&]() -> SmallVector<Value> {
        Value sum = arith::AddFOp::create(
            builder, carried[0], reduce(vector::CombiningKind::ADD, weighInside(x, inside, weigh)));
        Value isThere = compare(CmpFPredicate::OGT, sum, drawn);
        return {builder.select(isThere, carried[0], sum), builder.select(isThere, first, nowhere)};
      });
    });
    Value first = builder.max(place[1], builder.index(0));
    Value x = loadLogits(first, /*isPartial=*/width % lanes != 0);
    builder.store(builder.select(isInside(x, range), weigh(x), builder.splat(0.0)), lane,
                  builder.index(0));
    Value id =
        builder.loop(builder.index(0), builder.index(lanes), 1, {place[0], nowhere},
                     [&](Value i, ValueRange carried) -> SmallVector<Value> {
                       Value weight = memref::LoadOp::create(builder, lane, i);
                       Value sum = arith::AddFOp::create(builder, carried[0], widen(weight));
                       Value isFirst = both(compare(CmpFPredicate::OGT, sum, drawn),
                                            compare(CmpIPredicate::eq, carried[1], nowhere));
                       return {sum, builder.select(isFirst, builder.add(first, i), carried[1])};
                     })[1];
    return builder.max(id, builder.index(0));
  }

  //===--------------------------------------------------------------------===//
  // A row
  //===--------------------------------------------------------------------===//

  /// Parts of the row whose largest logits are looked for side by side.
  static constexpr int64_t kParts = 4;
  int64_t getStripes() const { return kParts * lanes; }

  /// From the least of what is the largest logit of each stripe, so that there are as many logits
  /// in the range, to the largest of all. A stripe with none has minus infinity.
  Range findLargest() {
    Value nothing = builder.splat(-double(kInfinity));
    int64_t together = width / getStripes() * getStripes();
    SmallVector<Value> largest =
        builder.loop(builder.index(0), builder.index(together), getStripes(),
                     SmallVector<Value>(kParts, nothing), [&](Value first, ValueRange carried) {
                       SmallVector<Value> next;
                       for (auto [i, value] : llvm::enumerate(carried)) {
                         Value x = loadLogits(builder.add(first, i * lanes), /*isPartial=*/false);
                         next.push_back(builder.maxF(x, value));
                       }
                       return next;
                     });
    for (int64_t first = together; first < width; first += lanes)
      largest[0] =
          builder.maxF(loadLogits(builder.index(first), first + lanes > width), largest[0]);
    Value least = largest[0], most = largest[0];
    for (Value other : llvm::drop_begin(largest)) {
      least = arith::MinNumFOp::create(builder, least, other);
      most = builder.maxF(other, most);
    }
    return {reduce(vector::CombiningKind::MINNUMF, least),
            reduce(vector::CombiningKind::MAXNUMF, most)};
  }

  void emitRow(Value row) {
    rowOffset = builder.mul(row, width);
    Range likeliest = findLargest();
    Value largest = likeliest.most;
    Value temperature = load(op.getTemperature(), row), topK = load(op.getTopK(), row);
    Value isFinite = compare(CmpFPredicate::OLT, math::AbsFOp::create(builder, largest).getResult(),
                             f32(kInfinity));
    Value draws = both(both(compare(CmpFPredicate::OGT, temperature, f32(0)),
                            compare(CmpIPredicate::ne, topK, i32(1))),
                       isFinite);
    builder.ifThen(
        draws, [&] { storeId(row, drawId(row, likeliest, temperature, topK)); },
        [&] {
          auto equally = [&](Value) { return builder.splat(1.0); };
          storeId(row, findId({largest, largest}, f64(0), f64(0), equally));
        });
  }

  void storeId(Value row, Value id) {
    Value word = arith::IndexCastOp::create(builder, builder.getI32Type(), id);
    memref::StoreOp::create(builder, word, result, row);
  }

  /// @param likeliest up to the largest logit, with getStripes() of them at least.
  Value drawId(Value row, Range likeliest, Value temperature, Value topK) {
    Value largest = likeliest.most;
    // Between the smallest and the largest normal number, so that no product with it is NaN.
    Value inverse = arith::DivFOp::create(builder, f32(std::numbers::log2e_v<float>), temperature);
    inverse = arith::MinNumFOp::create(builder, inverse, f32(std::numeric_limits<float>::max()));
    inverse = arith::MaxNumFOp::create(builder, inverse, f32(std::numeric_limits<float>::min()));
    // One multiplication and addition in every pass, so that every pass sums the same weights.
    auto weigh = [&](Value x) -> Value {
      Value exponent = builder.fma(builder.subF(x, builder.splat(largest)), builder.splat(inverse),
                                   builder.splat(double(sampling::kWeightBits)));
      return math::FloorOp::create(builder, builder.exp2(exponent));
    };
    auto weighOne = [&](Value number) {
      return widen(vector::ExtractOp::create(builder, weigh(builder.splat(number)), 0));
    };
    auto count = [&](Value) { return builder.splat(1.0); };

    // Below the largest, however low the temperature: what is found is a logit that was seen.
    Value reach = arith::MulFOp::create(builder, temperature, f32(-sampling::kNegligible));
    Value least = arith::MinNumFOp::create(
        builder, arith::AddFOp::create(builder, largest, reach).getResult(), stepFrom(largest, -1));

    Value isCounted = compare(CmpIPredicate::sgt, topK, i32(0));
    Value isAmong = compare(CmpIPredicate::sle, topK, i32(static_cast<int32_t>(getStripes())));
    Value bound = builder.select(isAmong, likeliest.least, f32(-kInfinity));
    Value kept = arith::SIToFPOp::create(builder, builder.getF64Type(), topK);
    Threshold byCount = findThreshold(kept,
                                      {arith::MaxNumFOp::create(builder, least, bound),
                                       builder.select(isCounted, largest, f32(-kInfinity))},
                                      f64(0), count);
    Value ties =
        builder.select(isCounted, arith::SubFOp::create(builder, kept, byCount.above), f64(0));
    Value above = sumOver({nextAbove(byCount.logit), largest}, weigh);
    Value equal = arith::MulFOp::create(builder, ties, weighOne(byCount.logit));

    Value topP = load(op.getTopP(), row);
    Value isCut = compare(CmpFPredicate::OLT, topP, f32(1));
    Value target = arith::MulFOp::create(builder, widen(topP),
                                         arith::AddFOp::create(builder, above, equal).getResult());
    target = math::CeilOp::create(builder, target);
    Threshold byMass = findThreshold(target,
                                     {arith::MaxNumFOp::create(builder, least, byCount.logit),
                                      builder.select(isCut, largest, byCount.logit)},
                                     builder.select(isCut, f64(0), above), weigh);
    Value weight = weighOne(byMass.logit);
    Value missing = arith::DivFOp::create(
        builder, arith::SubFOp::create(builder, target, byMass.above).getResult(), weight);
    missing = arith::MaxNumFOp::create(builder, math::CeilOp::create(builder, missing), f64(1));
    ties = builder.select(isCut, missing, ties);
    equal = arith::MulFOp::create(builder, ties, weight);

    Value drawn = arith::MulFOp::create(
        builder, emitUniform(row), arith::AddFOp::create(builder, byMass.above, equal).getResult());
    Value isTie = compare(CmpFPredicate::OGE, drawn, byMass.above);
    return findId({builder.select(isTie, byMass.logit, nextAbove(byMass.logit)),
                   builder.select(isTie, byMass.logit, largest)},
                  builder.select(isTie, byMass.above, f64(0)), drawn, weigh);
  }

  /// sampling::uniform of a slot.
  Value emitUniform(Value row) {
    Value position =
        arith::AddIOp::create(builder, load(op.getStart(), row), load(op.getCount(), row));
    Value zero = i32(0), key = builder.mul(row, 2);
    auto words = emitPhilox(builder, builder.getLoc(), {position, zero, zero, zero},
                            {load(op.getSeed(), key), load(op.getSeed(), builder.add(key, 1))});
    auto bits = [&](Value word, int32_t dropped) -> Value {
      Value kept = arith::ShRUIOp::create(builder, word, i32(dropped));
      return arith::UIToFPOp::create(builder, builder.getF64Type(), kept);
    };
    Value high = arith::MulFOp::create(builder, bits(words[0], 5), f64(0x1p26));
    Value number = arith::AddFOp::create(builder, high, bits(words[1], 6));
    return arith::MulFOp::create(builder, number, f64(0x1p-53));
  }

  VectorBuilder builder;
  SampleOp op;
  ValueRange arguments;
  Value result;
  int64_t lanes, width;
  Value lane; ///< a vector's weights, one by one
  Value rowOffset;
};
} // namespace

FailureOr<int64_t> sinter::lowerSampleKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                             const TargetAttr &target) {
  auto op = *tensorKernel.front().getOps<SampleOp>().begin();
  if (tensorKernel.front().getOperations().size() != 2)
    return tensorKernel.emitError("expected a sample to be alone in its kernel");
  unsigned arguments = loopKernel.getNumArguments();
  SampleEmitter(op, loopKernel, target)
      .emit(loopKernel.getArgument(arguments - 2), loopKernel.getArgument(arguments - 1));
  return op.getType().getNumElements();
}
