//===- SampleKernel.cpp - Drawing a token from a row of logits --------------===//
//
// Nothing is sorted: what top-k and top-p leave is a threshold. Kept is what is above it, and some
// of what equals it. A threshold is found by cutting the range that has it into eight equal parts:
//
//   least <= threshold < end, two numbers; `above` weighs what is not below `end`
//   while there is more than one number from least to end
//     masses = above + the sum of weights over [cut, end), for each cut and for least
//     least  = the largest of these whose mass reaches the target
//     end    = the next larger one, and above its mass
//     both move on to logits that were seen
//
// Top-k counts, top-p weighs; sums of whole numbers are exact, so that each pass sums alike. A pass
// lists the vectors of the row that have a logit in its range, and the next one reads only these:
// after two or three passes over most of the row they are a handful. Ties end a search at once.
//
// What top-p is a share of takes a pass over all that top-k left; it cuts, too. Top-k of few begins
// higher: the pass for the largest logit keeps the largest of 64 stripes of the row, say, and as
// many logits are not below the least of these.
//
// With min-p one more pass sums the weights that are large enough, by which a token is drawn then.
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
        lane(builder.scratch(lanes, builder.getF32Type())),
        list(builder.scratch(llvm::divideCeil(width, lanes), builder.getI32Type())) {}

  void emit(Value begin, Value end) {
    builder.loop(begin, end, 1, [&](Value row) { emitRow(row); });
  }

private:
  /// From a vector of logits to what they weigh.
  using Weigh = llvm::function_ref<Value(Value)>;
  using Body = llvm::function_ref<SmallVector<Value>(Value x, Value first, ValueRange carried)>;
  /// The numbers from `least` to `most`.
  struct Range {
    Value least, most;
  };
  /// The keys from `least` on that are below `end`: of a threshold that is looked for. What is not
  /// below `end` weighs `above`.
  struct Search {
    Value least, end, above;
  };
  /// The vectors of the row that may have a logit in some range: the first `count` of `list`, or
  /// all.
  struct Vectors {
    Value areAll, count;
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
  Value isTrue(bool value) {
    return arith::ConstantOp::create(builder, builder.getBoolAttr(value));
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
  /// The key that is `steps` behind another.
  Value stepFrom(Value key, int32_t steps) {
    return arith::AddIOp::create(builder, key, i32(steps));
  }
  Value smaller(Value key, Value other) { return arith::MinSIOp::create(builder, key, other); }
  Value larger(Value key, Value other) { return arith::MaxSIOp::create(builder, key, other); }
  Value toWord(Value index) {
    return arith::IndexCastOp::create(builder, builder.getI32Type(), index);
  }

  //===--------------------------------------------------------------------===//
  // Going over the row
  //===--------------------------------------------------------------------===//

  /// The row's logits from `first` on; behind its end NaN, which is in no range, or another number.
  Value loadLogits(Value first, bool isPartial,
                   float behind = std::numeric_limits<float>::quiet_NaN()) {
    Value memory = arguments[cast<BlockArgument>(op.getLogits()).getArgNumber()];
    Value offset = builder.add(rowOffset, first);
    if (!isPartial)
      return builder.load(memory, offset);
    Value mask = builder.maskBelow(builder.sub(builder.index(width), first));
    return builder.select(mask, builder.load(memory, offset, mask), builder.splat(double(behind)));
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

  /// Whether a search has more than one number to choose from.
  Value isOpen(const Search &search) {
    Type wide = builder.getI64Type();
    Value numbers =
        arith::SubIOp::create(builder, arith::ExtSIOp::create(builder, wide, search.end),
                              arith::ExtSIOp::create(builder, wide, search.least));
    Value one = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(1));
    return compare(CmpIPredicate::sgt, numbers, one);
  }

  /// How many parts a search is cut into.
  static constexpr int64_t kParts = 8;

  /// Keys that cut an open search into kParts equal parts, the largest first. Where rounding has
  /// them out of order, they are cuts all the same.
  SmallVector<Value> getCuts(const Search &search) {
    Value least = fromKey(search.least), end = fromKey(search.end);
    SmallVector<Value> cuts;
    for (int64_t i = kParts - 1; i > 0; --i) {
      float share = static_cast<float>(i) / kParts;
      Value number =
          math::FmaOp::create(builder, end, f32(share),
                              arith::MulFOp::create(builder, least, f32(1 - share)).getResult());
      cuts.push_back(
          larger(smaller(toKey(number), stepFrom(search.end, -1)), stepFrom(search.least, 1)));
    }
    return cuts;
  }

  /// One pass: what the logits of a search weigh from each cut on, and which there are.
  struct Sums {
    SmallVector<Value> masses;
    Value least, most; ///< keys of the least and the largest logit
    Vectors vectors;   ///< those that have the logits
  };
  Sums sumFrom(ArrayRef<Value> cuts, const Search &search, Vectors vectors, Weigh weigh) {
    Value least = builder.splat(fromKey(search.least)), end = builder.splat(fromKey(search.end));
    Value infinite = builder.splat(double(kInfinity)), nothing = builder.splat(-double(kInfinity));
    SmallVector<Value> bounds;
    for (Value cut : cuts)
      bounds.push_back(builder.splat(fromKey(cut)));
    SmallVector<Value> initial(cuts.size(), noMass());
    initial.append({infinite, nothing, builder.index(0)});
    auto pass = [&](Value i, ValueRange carried) -> SmallVector<Value> {
      Value listed = arith::IndexCastOp::create(builder, builder.getIndexType(),
                                                memref::LoadOp::create(builder, list, i));
      Value number = builder.select(vectors.areAll, i, listed);
      Value x = loadLogits(builder.mul(number, lanes), /*isPartial=*/width % lanes != 0);
      Value inside = both(compare(CmpFPredicate::OGE, x, least), //
                          compare(CmpFPredicate::OLT, x, end));
      return updateIf(isAny(inside), carried, [&] {
        Value weights = weighInside(x, inside, weigh);
        SmallVector<Value> next;
        for (auto [bound, mass] : llvm::zip(bounds, carried)) {
          Value more = arith::AddFOp::create(builder, mass, weights);
          next.push_back(builder.select(compare(CmpFPredicate::OGE, x, bound), more, mass));
        }
        Value first = carried[cuts.size()], last = carried[cuts.size() + 1], count = carried.back();
        Value low = builder.select(inside, x, infinite);
        next.push_back(builder.select(compare(CmpFPredicate::OLT, low, first), low, first));
        next.push_back(builder.maxF(builder.select(inside, x, nothing), last));
        memref::StoreOp::create(builder, toWord(number), list, count);
        next.push_back(builder.add(count, 1));
        return next;
      });
    };
    Value count = builder.select(vectors.areAll, builder.index(llvm::divideCeil(width, lanes)),
                                 vectors.count);
    SmallVector<Value> found = builder.loop(builder.index(0), count, 1, initial, pass);
    Sums sums;
    for (size_t i = 0; i < cuts.size(); ++i)
      sums.masses.push_back(reduce(vector::CombiningKind::ADD, found[i]));
    sums.least = toKey(reduce(vector::CombiningKind::MINNUMF, found[cuts.size()]));
    sums.most = toKey(reduce(vector::CombiningKind::MAXNUMF, found[cuts.size() + 1]));
    sums.vectors = {isTrue(false), found.back()};
    return sums;
  }

  /// The part of a search where what is above it does not reach the target, and with it does.
  Search narrow(const Search &search, ArrayRef<Value> cuts, const Sums &sums, Value target) {
    Search next = search;
    for (auto [cut, sum] : llvm::reverse(llvm::zip_equal(cuts, sums.masses))) {
      Value mass = arith::AddFOp::create(builder, search.above, sum);
      Value reaches = compare(CmpFPredicate::OGE, mass, target);
      next.least = builder.select(reaches, larger(cut, sums.least), next.least);
    }
    for (auto [cut, sum] : llvm::zip_equal(cuts, sums.masses)) {
      Value mass = arith::AddFOp::create(builder, search.above, sum);
      Value reaches = compare(CmpFPredicate::OGE, mass, target);
      next.end = builder.select(reaches, next.end, cut);
      next.above = builder.select(reaches, next.above, mass);
    }
    next.end = smaller(next.end, stepFrom(sums.most, 1));
    return next;
  }

  /// The largest threshold with which what is not below it reaches the target: the least key of
  /// what is returned, the search's least one if none does.
  Search findThreshold(Value target, const Search &search, Vectors vectors, Weigh weigh) {
    SmallVector<Value> initial = {search.least, search.end, search.above, vectors.areAll,
                                  vectors.count};
    SmallVector<Type> types(ValueRange(initial).getTypes());
    auto loop = scf::WhileOp::create(builder, types, initial);
    SmallVector<Location> locations(initial.size(), builder.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, types, locations);
    auto carried = before->getArguments();
    scf::ConditionOp::create(builder, isOpen({carried[0], carried[1], carried[2]}), carried);
    Block *after = builder.createBlock(&loop.getAfter(), {}, types, locations);
    carried = after->getArguments();
    Search open = {carried[0], carried[1], carried[2]};
    SmallVector<Value> cuts = getCuts(open);
    cuts.push_back(open.least);
    Sums sums = sumFrom(cuts, open, {carried[3], carried[4]}, weigh);
    Search next = narrow(open, cuts, sums, target);
    scf::YieldOp::create(builder, ValueRange{next.least, next.end, next.above, sums.vectors.areAll,
                                             sums.vectors.count});
    return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
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
  static constexpr int64_t kChains = 4;
  int64_t getStripes() const { return kChains * lanes; }

  /// From the least of what is the largest logit of each stripe, so that there are as many logits
  /// in the range, to the largest of all, which is infinity where there is a NaN. A stripe with
  /// none has minus infinity.
  Range findLargest() {
    Value nothing = builder.splat(-double(kInfinity));
    Value infinite = builder.splat(double(kInfinity));
    auto raise = [&](Value x, Value value) {
      Value isBelow = compare(CmpFPredicate::OLT, x, infinite);
      return builder.maxF(builder.select(isBelow, x, infinite), value);
    };
    int64_t together = width / getStripes() * getStripes();
    SmallVector<Value> largest =
        builder.loop(builder.index(0), builder.index(together), getStripes(),
                     SmallVector<Value>(kChains, nothing), [&](Value first, ValueRange carried) {
                       SmallVector<Value> next;
                       for (auto [i, value] : llvm::enumerate(carried)) {
                         Value x = loadLogits(builder.add(first, i * lanes), /*isPartial=*/false);
                         next.push_back(raise(x, value));
                       }
                       return next;
                     });
    for (int64_t first = together; first < width; first += lanes)
      largest[0] =
          raise(loadLogits(builder.index(first), first + lanes > width, -kInfinity), largest[0]);
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
          Value id = findId({largest, largest}, f64(0), f64(0), equally);
          storeId(row, builder.select(isFinite, id, builder.index(-1)));
        });
  }

  void storeId(Value row, Value id) { memref::StoreOp::create(builder, toWord(id), result, row); }

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
    auto weighOne = [&](Value key, Weigh by) {
      return widen(vector::ExtractOp::create(builder, by(builder.splat(fromKey(key))), 0));
    };
    auto count = [&](Value) { return builder.splat(1.0); };

    // What weighs nothing, however low the temperature; no logit of infinity is above it.
    Value reach = arith::MulFOp::create(builder, temperature, f32(-sampling::kNegligible));
    Value low = arith::MaxNumFOp::create(builder,
                                         arith::AddFOp::create(builder, largest, reach).getResult(),
                                         f32(std::numeric_limits<float>::lowest()));
    Value most = toKey(largest), end = stepFrom(most, 1);
    Value least = smaller(toKey(low), stepFrom(most, -1));

    // Without top-k, all above what weighs nothing.
    Value isCounted = compare(CmpIPredicate::sgt, topK, i32(0));
    Value isAmong = compare(CmpIPredicate::sle, topK, i32(static_cast<int32_t>(getStripes())));
    Value bound = larger(least, toKey(likeliest.least));
    Value kept = arith::SIToFPOp::create(builder, builder.getF64Type(), topK);
    Vectors all = {isTrue(true), builder.index(0)};
    Search byCount = findThreshold(kept,
                                   {builder.select(both(isCounted, isAmong), bound, least),
                                    builder.select(isCounted, end, stepFrom(least, 1)), f64(0)},
                                   all, count);
    Value ties =
        builder.select(isCounted, arith::SubFOp::create(builder, kept, byCount.above), f64(0));

    // Of what is left: what it weighs together, and about where the threshold is.
    Search left = {byCount.least, end, f64(0)};
    SmallVector<Value> cuts = getCuts(left);
    cuts.push_back(stepFrom(left.least, 1));
    Sums sums = sumFrom(cuts, left, all, weigh);
    Value above = sums.masses.back();
    Value equal = arith::MulFOp::create(builder, ties, weighOne(byCount.least, weigh));
    Value topP = load(op.getTopP(), row);
    Value isCut = compare(CmpFPredicate::OLT, topP, f32(1));
    Value target = arith::MulFOp::create(builder, widen(topP),
                                         arith::AddFOp::create(builder, above, equal).getResult());
    // One at the least.
    target = arith::MaxNumFOp::create(builder, math::CeilOp::create(builder, target), f64(1));
    Search byMass = narrow(left, cuts, sums, target);
    byMass = findThreshold(target,
                           {builder.select(isCut, byMass.least, byCount.least),
                            builder.select(isCut, byMass.end, byCount.least),
                            builder.select(isCut, byMass.above, above)},
                           sums.vectors, weigh);
    Value weight = weighOne(byMass.least, weigh);
    Value missing = arith::DivFOp::create(
        builder, arith::SubFOp::create(builder, target, byMass.above).getResult(), weight);
    ties = builder.select(isCut, math::CeilOp::create(builder, missing), ties);

    Value minP = load(op.getMinP(), row);
    Value fewest = builder.splat(
        arith::MulFOp::create(builder, minP, f32(std::exp2(float(sampling::kWeightBits)))));
    auto weighLarge = [&](Value x) -> Value {
      Value some = weigh(x);
      return builder.select(compare(CmpFPredicate::OGE, some, fewest), some, builder.splat(0.0));
    };
    above = updateIf(compare(CmpFPredicate::OGT, minP, f32(0)), byMass.above, [&] {
      Value next = stepFrom(byMass.least, 1);
      return SmallVector<Value>(sumFrom(next, {next, end, f64(0)}, all, weighLarge).masses);
    })[0];
    weight = weighOne(byMass.least, weighLarge);
    equal = arith::MulFOp::create(builder, ties, weight);
    Value drawn = arith::MulFOp::create(builder, emitUniform(row),
                                        arith::AddFOp::create(builder, above, equal).getResult());
    Value isTie = compare(CmpFPredicate::OGE, drawn, above);
    Value threshold = fromKey(byMass.least), next = fromKey(stepFrom(byMass.least, 1));
    return findId(
        {builder.select(isTie, threshold, next), builder.select(isTie, threshold, largest)},
        builder.select(isTie, above, f64(0)), drawn, weighLarge);
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
  Value list; ///< numbers of vectors of the row
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
