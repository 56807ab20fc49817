#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Loops/Philox.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

VectorBuilder::VectorBuilder(func::FuncOp loopKernel, TargetAttr target)
    : ImplicitLocOpBuilder(loopKernel.getLoc(), loopKernel.getContext()), target(target),
      lanes(target.getVectorBits() / 32) {
  setInsertionPoint(loopKernel.front().getTerminator());
}

VectorType VectorBuilder::vectorOf(Type element, int64_t multiple) {
  return VectorType::get({lanes * multiple}, element);
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value VectorBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
Value VectorBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value VectorBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value VectorBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : createOrFold<arith::MulIOp>(a, index(b));
}
Value VectorBuilder::div(Value a, int64_t b) {
  return b == 1 ? a : createOrFold<arith::DivUIOp>(a, index(b));
}
Value VectorBuilder::rem(Value a, int64_t b) {
  return b == 1 ? index(0) : createOrFold<arith::RemUIOp>(a, index(b));
}
Value VectorBuilder::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value VectorBuilder::max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }

Value VectorBuilder::apply(AffineExpr expr, ValueRange dims) {
  return affine::expandAffineExpr(*this, getLoc(), expr, dims, {});
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> VectorBuilder::loop(Value begin, Value end, int64_t step, ValueRange initial,
                                       LoopBody body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(step), initial);
  OpBuilder::InsertionGuard guard(*this);
  // Without carried values the builder has made the terminator.
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    scf::YieldOp::create(*this, next);
  return SmallVector<Value>(loop.getResults());
}

void VectorBuilder::loop(Value begin, Value end, int64_t step,
                         llvm::function_ref<void(Value)> body) {
  loop(begin, end, step, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

void VectorBuilder::ifThen(Value condition, llvm::function_ref<void()> body,
                           llvm::function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
  if (otherwise) {
    setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

//===----------------------------------------------------------------------===//
// Vectors of f32
//===----------------------------------------------------------------------===//

Value VectorBuilder::splat(double value) {
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorOf(getF32Type()), static_cast<float>(value)));
}
Value VectorBuilder::splat(Value scalar) {
  return vector::BroadcastOp::create(*this, vectorOf(scalar.getType()), scalar);
}
Value VectorBuilder::fma(Value a, Value b, Value c) { return math::FmaOp::create(*this, a, b, c); }
Value VectorBuilder::exp2(Value x) { return math::Exp2Op::create(*this, x); }
Value VectorBuilder::addF(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
Value VectorBuilder::subF(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
Value VectorBuilder::mulF(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
Value VectorBuilder::maxF(Value a, Value b) {
  return select(arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b), a, b);
}
Value VectorBuilder::select(Value mask, Value a, Value b) {
  return arith::SelectOp::create(*this, mask, a, b);
}

SmallVector<Value> VectorBuilder::transpose(ValueRange rows) {
  assert(static_cast<int64_t>(rows.size()) == lanes);
  // Interleaving rows i and i + lanes / 2 makes the highest bit of the row number the lowest of
  // the column number and the other way round: as often as they have bits, and they are swapped.
  SmallVector<int64_t> lower, upper;
  for (int64_t i = 0; i < lanes; ++i) {
    lower.push_back(i / 2 + i % 2 * lanes);
    upper.push_back(i / 2 + i % 2 * lanes + lanes / 2);
  }
  SmallVector<Value> current(rows);
  for (int64_t size = lanes; size > 1; size /= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i)
      for (ArrayRef<int64_t> order : {lower, upper})
        next.push_back(vector::ShuffleOp::create(*this, current[i], current[i + lanes / 2], order));
    current = std::move(next);
  }
  return current;
}

Value VectorBuilder::roundTo(Value vector, Type type) {
  if (type.isF32())
    return vector;
  Value narrow = arith::TruncFOp::create(*this, vectorOf(type), vector);
  return arith::ExtFOp::create(*this, vector.getType(), narrow);
}

Value VectorBuilder::combineLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  // Each step combines lanes `distance` apart, round the end: after the last, all agree.
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < lanes; ++i)
      order.push_back((i + distance) % lanes);
    vector = combine(vector, vector::ShuffleOp::create(*this, vector, vector, order));
  }
  return vector;
}

Value VectorBuilder::horizontalMax(Value vector) {
  return combineLanes(vector, [&](Value a, Value b) { return maxF(a, b); });
}

Value VectorBuilder::horizontalSum(Value vector) {
  Value sums = combineLanes(vector, [&](Value a, Value b) { return addF(a, b); });
  return vector::ExtractOp::create(*this, sums, 0);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value VectorBuilder::splatI32(Value index) {
  return splat(arith::IndexCastOp::create(*this, getI32Type(), index));
}

Value VectorBuilder::laneIndices(Value base) {
  SmallVector<int32_t> numbers(lanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  Value iota = arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorOf(getI32Type()), ArrayRef<int32_t>(numbers)));
  return arith::AddIOp::create(*this, splatI32(base), iota);
}

Value VectorBuilder::maskBelow(Value count) { return maskBelow(count, lanes); }

Value VectorBuilder::maskBelow(Value count, int64_t lanes) {
  auto type = VectorType::get({lanes}, getI32Type());
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  Value iota =
      arith::ConstantOp::create(*this, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  Value limit = arith::IndexCastOp::create(*this, getI32Type(), count);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, iota,
                               vector::BroadcastOp::create(*this, type, limit));
}

Value VectorBuilder::maskOfKept(Value number, Value seed, int64_t stream, double probability) {
  auto word = [&](int64_t i) { return splat(memref::LoadOp::create(*this, seed, index(i))); };
  Value high = arith::ConstantOp::create(*this, getZeroAttr(vectorOf(getI32Type())));
  return emitIsKept(*this, getLoc(), laneIndices(number), high, static_cast<uint32_t>(stream),
                    {word(0), word(1)}, probability);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type elementOf(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }

Value VectorBuilder::loadStored(Value memory, Value offset, Value mask) {
  VectorType type = vectorOf(elementOf(memory));
  if (!mask)
    return vector::LoadOp::create(*this, type, memory, offset);
  Value zeros = arith::ConstantOp::create(*this, getZeroAttr(type));
  return vector::MaskedLoadOp::create(*this, type, memory, offset, mask, zeros);
}

Value VectorBuilder::load(Value memory, Value offset, Value mask) {
  Value vector = loadStored(memory, offset, mask);
  if (elementOf(memory).isInteger(8))
    return arith::SIToFPOp::create(*this, vectorOf(getF32Type()),
                                   arith::ExtSIOp::create(*this, vectorOf(getI32Type()), vector));
  return elementOf(memory).isF32()
             ? vector
             : arith::ExtFOp::create(*this, vectorOf(getF32Type()), vector).getResult();
}

void VectorBuilder::store(Value vector, Value memory, Value offset, Value mask) {
  Type element = elementOf(memory);
  if (isa<FloatType>(element) && !element.isF32())
    vector = arith::TruncFOp::create(*this, vectorOf(element), vector);
  if (mask)
    vector::MaskedStoreOp::create(*this, memory, offset, mask, vector);
  else
    vector::StoreOp::create(*this, vector, memory, offset);
}

Value VectorBuilder::loadScalar(Value memory, Value offset) {
  Value scalar = memref::LoadOp::create(*this, memory, offset);
  return scalar.getType().isF32() ? scalar
                                  : arith::ExtFOp::create(*this, getF32Type(), scalar).getResult();
}

void VectorBuilder::storeScalar(Value scalar, Value memory, Value offset) {
  if (!elementOf(memory).isF32())
    scalar = arith::TruncFOp::create(*this, elementOf(memory), scalar);
  memref::StoreOp::create(*this, scalar, memory, offset);
}

Value VectorBuilder::loadSplat(Value memory, Value offset) {
  return splat(loadScalar(memory, offset));
}

Value VectorBuilder::splatStored(Value memory, Value offset) {
  return splat(memref::LoadOp::create(*this, memory, offset));
}

void VectorBuilder::prefetchStream(Value memory, Value offset, int64_t element) {
  constexpr int64_t bytes = 2;
  if (getElementTypeOrSelf(memory.getType()).getIntOrFloatBitWidth() != 8 * bytes ||
      element * bytes % kLineBytes != 0 || seesStreams(target))
    return;
  prefetchLine(memory, add(offset, kBytesAhead / bytes));
}

void VectorBuilder::prefetchLine(Value memory, Value offset, bool isWrite) {
  memref::PrefetchOp::create(*this, memory, offset, isWrite, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

void VectorBuilder::prefetch(Value memory, Value offset, int64_t ahead, bool toL2) {
  int64_t last = cast<MemRefType>(memory.getType()).getNumElements() - 1;
  memref::PrefetchOp::create(*this, memory, min(add(offset, ahead), index(last)),
                             /*isWrite=*/false, /*localityHint=*/toL2 ? 2 : 3,
                             /*isDataCache=*/true);
}

Value VectorBuilder::scratch(int64_t elements, Type element) {
  return memref::AllocaOp::create(*this, MemRefType::get({elements}, element),
                                  getI64IntegerAttr(64));
}

Value VectorBuilder::callIntrinsic(Type result, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(*this, result, getStringAttr(name), operands).getResult(0);
}

//===----------------------------------------------------------------------===//
// Pairs of bf16
//===----------------------------------------------------------------------===//

Value VectorBuilder::pairDot(Value acc, Value a, Value b) {
  if (hasPairDot(target))
    return callIntrinsic(acc.getType(), "llvm.x86.avx512bf16.dpbf16ps.512", {acc, a, b});
  // A bf16 is the upper half of an f32: widening is a shift or a mask.
  VectorType integers = vectorOf(getI32Type());
  auto half = [&](Value pairs, bool upper) -> Value {
    Value bits = vector::BitCastOp::create(*this, integers, pairs);
    auto constant = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(*this, DenseElementsAttr::get(integers, value));
    };
    bits = upper ? arith::AndIOp::create(*this, bits, constant(0xffff0000)).getResult()
                 : arith::ShLIOp::create(*this, bits, constant(16)).getResult();
    return arith::BitcastOp::create(*this, acc.getType(), bits);
  };
  acc = fma(half(a, false), half(b, false), acc);
  return fma(half(a, true), half(b, true), acc);
}

Value VectorBuilder::loadPairs(Value memory, Value offset) {
  return vector::LoadOp::create(*this, vectorOf(elementOf(memory), 2), memory, offset);
}

SmallVector<Value> VectorBuilder::transposePairs(ValueRange rows) {
  Type pairs = rows.front().getType();
  SmallVector<Value> words;
  for (Value row : rows)
    words.push_back(vector::BitCastOp::create(*this, vectorOf(getF32Type()), row));
  words = transpose(words);
  for (Value &column : words)
    column = vector::BitCastOp::create(*this, pairs, column);
  return words;
}

void VectorBuilder::storePairs(Value first, Value second, Value memory, Value offset) {
  auto narrow = [&](Value vector) {
    return arith::TruncFOp::create(*this, vectorOf(elementOf(memory)), vector);
  };
  Value pairs = vector::InterleaveOp::create(*this, narrow(first), narrow(second));
  vector::StoreOp::create(*this, pairs, memory, offset);
}

Value VectorBuilder::splatPair(Value memory, Value offset, bool alone) {
  Value bits;
  if (alone) {
    Value element = memref::LoadOp::create(*this, memory, offset);
    Value half = arith::BitcastOp::create(*this, getI16Type(), element);
    bits = arith::ExtUIOp::create(*this, getI32Type(), half);
  } else {
    Type element = elementOf(memory);
    Value pair = vector::LoadOp::create(*this, VectorType::get({2}, element), memory, offset);
    Value word = vector::BitCastOp::create(*this, VectorType::get({1}, getI32Type()), pair);
    bits = vector::ExtractOp::create(*this, word, 0);
  }
  return vector::BitCastOp::create(*this, vectorOf(elementOf(memory), 2), splat(bits));
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t VectorBuilder::getBytesOfWord() const { return hasByteDot(target) ? 4 : 2; }

Value VectorBuilder::loadBytes(Value memory, Value offset) {
  VectorType bytes = vectorOf(getI8Type(), getBytesOfWord());
  Value loaded = vector::LoadOp::create(*this, bytes, memory, offset);
  if (hasByteDot(target))
    return loaded;
  return arith::ExtSIOp::create(*this, bytes.clone(getI16Type()), loaded);
}

Value VectorBuilder::loadLhsWords(Value memory, Value offset, Value mask) {
  VectorType bytes = vectorOf(getI8Type(), getBytesOfWord());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(*this,
                                     DenseElementsAttr::get(bytes, static_cast<int8_t>(value)));
  };
  Value loaded;
  if (mask)
    loaded = vector::MaskedLoadOp::create(*this, bytes, memory, offset, mask, constant(0));
  else
    loaded = vector::LoadOp::create(*this, bytes, memory, offset);
  if (hasByteDot(target))
    loaded = arith::XOrIOp::create(*this, loaded, constant(-128));
  else
    loaded = arith::ExtSIOp::create(*this, bytes.clone(getI16Type()), loaded);
  return vector::BitCastOp::create(*this, vectorOf(getI32Type()), loaded);
}

Value VectorBuilder::pairsOfHalvesDot(Value acc, Value a, Value b) {
  StringRef name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                   : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                : "llvm.x86.sse2.pmadd.wd";
  return addI(acc, callIntrinsic(acc.getType(), name, {a, b}));
}

// Without an instruction on bytes they are multiplied as halves of 16 bits: the one that takes
// bytes (vpmaddubsw) adds two products of up to 255 * 128 in 16 bits, and saturates.
Value VectorBuilder::byteDot(Value acc, Value words, Value bytes) {
  words = vector::BitCastOp::create(*this, bytes.getType(), words);
  if (!hasByteDot(target))
    return pairsOfHalvesDot(acc, words, bytes);
  return callIntrinsic(
      acc.getType(), lanes == 16 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256",
      {acc, words, bytes});
}

Value VectorBuilder::multiplyBytes(Value unsignedWords, Value bytes) {
  StringRef name = lanes == 16  ? "llvm.x86.avx512.pmaddubs.w.512"
                   : lanes == 8 ? "llvm.x86.avx2.pmadd.ub.sw"
                                : "llvm.x86.ssse3.pmadd.ub.sw.128";
  Value unsignedBytes = vector::BitCastOp::create(*this, bytes.getType(), unsignedWords);
  return callIntrinsic(vectorOf(getI16Type(), 2), name, {unsignedBytes, bytes});
}

Value VectorBuilder::zeroHalves() {
  return arith::ConstantOp::create(*this, getZeroAttr(vectorOf(getI16Type(), 2)));
}

Value VectorBuilder::addHalves(Value acc, Value halves, int64_t factor) {
  auto type = cast<VectorType>(halves.getType());
  Value factors =
      arith::ConstantOp::create(*this, DenseElementsAttr::get(type, static_cast<int16_t>(factor)));
  return pairsOfHalvesDot(acc, halves, factors);
}

Value VectorBuilder::widenEven(Value words) {
  Value bytes = vector::BitCastOp::create(*this, vectorOf(getI8Type(), 4), words);
  return multiplyBytes(integers(0x00010001), bytes);
}

Value VectorBuilder::widenOdd(Value words) {
  VectorType type = vectorOf(getI16Type(), 2);
  Value halves = vector::BitCastOp::create(*this, type, words);
  Value eight =
      arith::ConstantOp::create(*this, DenseElementsAttr::get(type, static_cast<int16_t>(8)));
  return arith::ShRSIOp::create(*this, halves, eight);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value VectorBuilder::integers(int64_t value) {
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorOf(getI32Type()), static_cast<int32_t>(value)));
}

Value VectorBuilder::addI(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }

Value VectorBuilder::toFloat(Value integers) {
  return arith::SIToFPOp::create(*this, vectorOf(getF32Type()), integers);
}

Value VectorBuilder::roundToInteger(Value numbers) {
  return callIntrinsic(vectorOf(getI32Type()), "llvm.lrint", numbers);
}

Value VectorBuilder::loadWords(Value memory, Value offset, int64_t bytes) {
  Value loaded = vector::LoadOp::create(*this, vectorOf(elementOf(memory), bytes), memory, offset);
  Value words = vector::BitCastOp::create(
      *this, vectorOf(getIntegerType(static_cast<unsigned>(8 * bytes))), loaded);
  return bytes == 4 ? words
                    : arith::ExtSIOp::create(*this, vectorOf(getI32Type()), words).getResult();
}

Value VectorBuilder::lookUp(ArrayRef<int8_t> bytes, Value words) {
  VectorType type = vectorOf(getI8Type(), 4);
  SmallVector<int8_t> table;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    table.push_back(bytes[i % 16]);
  StringRef name = lanes == 16  ? "llvm.x86.avx512.pshuf.b.512"
                   : lanes == 8 ? "llvm.x86.avx2.pshuf.b"
                                : "llvm.x86.ssse3.pshuf.b.128";
  Value found = callIntrinsic(
      type, name,
      {arith::ConstantOp::create(*this, DenseElementsAttr::get(type, ArrayRef<int8_t>(table))),
       vector::BitCastOp::create(*this, type, words)});
  return vector::BitCastOp::create(*this, vectorOf(getI32Type()), found);
}

Value VectorBuilder::widenHalves(Value words, Value place, ArrayRef<int8_t> values) {
  constexpr int64_t bits = 4;
  std::optional<int64_t> known = getConstantIntValue(place);
  // With 512 bits a register holds all 16 numbers, and four bits of each lane choose one.
  if (lanes == 16 && target.hasFeature("avx512f")) {
    VectorType floats = vectorOf(getF32Type());
    SmallVector<float> numbers;
    for (int i = 0; i < 16; ++i)
      numbers.push_back(static_cast<float>(!values.empty() ? values[i] : i < 8 ? i : i - 16));
    Value table =
        arith::ConstantOp::create(*this, DenseElementsAttr::get(floats, ArrayRef<float>(numbers)));
    Value indices =
        known == 0 ? words : arith::ShRUIOp::create(*this, words, splatI32(place)).getResult();
    return callIntrinsic(floats, "llvm.x86.avx512.permvar.sf.512", {table, indices});
  }
  if (!values.empty()) { // looked up in the top byte
    Value code = arith::ShRUIOp::create(*this, words, splatI32(place));
    code = arith::ShLIOp::create(*this, code, integers(24));
    code = arith::AndIOp::create(*this, code, integers(0x0f000000));
    code = arith::OrIOp::create(*this, code, integers(0x00808080));
    return toFloat(arith::ShRSIOp::create(*this, lookUp(values, code), integers(24)));
  }
  // The sign is that of the integer: to the top, and back.
  if (known && *known + bits == 32)
    return toFloat(arith::ShRSIOp::create(*this, words, integers(*known)));
  Value up = splatI32(sub(index(32 - bits), place));
  return toFloat(
      arith::ShRSIOp::create(*this, arith::ShLIOp::create(*this, words, up), integers(32 - bits)));
}

Value VectorBuilder::widenBytes(Value memory, Value offset, int64_t bytes, Value number) {
  if (std::optional<int64_t> known = getConstantIntValue(number)) {
    VectorType loadedType = vectorOf(getI8Type(), bytes);
    Value loaded = vector::LoadOp::create(*this, loadedType, memory, offset);
    Value zeros = arith::ConstantOp::create(*this, getZeroAttr(loadedType));
    SmallVector<int64_t> order(4 * lanes, bytes * lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      order[4 * lane + 3] = bytes * lane + *known;
    Value placed = vector::ShuffleOp::create(*this, loaded, zeros, order);
    return toFloat(vector::BitCastOp::create(*this, vectorOf(getI32Type()), placed));
  }
  Value up = splatI32(sub(index(24), mul(number, 8)));
  Value top = arith::ShLIOp::create(*this, loadWords(memory, offset, bytes), up);
  return toFloat(arith::AndIOp::create(*this, top, integers(0xff000000)));
}

// The bits of e4m3 are those of an f32 but for the bias: the sign at the top, the others five
// below. An f16's would be closer, but the conversion from it takes a Zen 3 longer than all of
// this. Bytes of a known place are extended by their signs and moved two at a time, to 16 bits, by
// a product.
Value VectorBuilder::widenE4M3(Value words, Value number) {
  Value bits;
  if (std::optional<int64_t> known = getConstantIntValue(number)) {
    Value bytes = vector::BitCastOp::create(*this, vectorOf(getI8Type(), 4), words);
    Value factors = integers(*known % 2 == 0 ? 0x00100010 : 0x10001000);
    bits = vector::BitCastOp::create(*this, vectorOf(getI32Type()), multiplyBytes(factors, bytes));
    if (*known < 2)
      bits = arith::ShLIOp::create(*this, bits, integers(16));
  } else {
    Value up = splatI32(sub(index(24), mul(number, 8)));
    bits = arith::ShRSIOp::create(*this, arith::ShLIOp::create(*this, words, up), integers(4));
  }
  bits = arith::AndIOp::create(*this, bits, integers(0x87f00000));
  return arith::BitcastOp::create(*this, vectorOf(getF32Type()), bits);
}
