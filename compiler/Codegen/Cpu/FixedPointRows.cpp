#include "compiler/Codegen/Cpu/FixedPointRows.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

/// The most k of a segment: eight words of four, whose sums fit 16 bits.
static constexpr int64_t kLongestSegment = 32;
static constexpr int64_t kExponentUnit = 1 << 23; // of the bits of an f32
/// What takes an f32 to the next exponent, where its X would be above 127 * (2^16 + 2^8 + 1).
static constexpr int64_t kTopOfDigits = 0x10200;

/// How many products of a byte, -128 at the least, by numbers of so many from 0 on fit 16 bits two
/// and two; 0 where not two do.
static int64_t getSumsOfHalves(int64_t largest) {
  return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(INT16_MAX / (256 * largest))));
}

int64_t FixedPointRows::getSegment(int64_t group, int64_t k, int64_t together) {
  // Of one group panels are padded.
  if (group == k)
    return kLongestSegment;
  for (int64_t segment = std::min(group, kLongestSegment); segment >= together; --segment)
    if (group % segment == 0 && segment % together == 0)
      return segment;
  return 0;
}

FixedPointRows::FixedPointRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k,
                               int64_t segment, int64_t bits, ArrayRef<int8_t> values, bool ofBytes)
    : builder(builder), k(k), segment(segment), bits(bits), values(values),
      offset(values.empty() ? 1 << (bits - 1) : -*llvm::min_element(values)), ofBytes(ofBytes),
      together(bits == 4 ? 4 : builder.getBytesOfWord()),
      wordsOfHalves(getSumsOfHalves(values.empty() ? 15 : *llvm::max_element(values) + offset)),
      parts(together == 4 && builder.getBytesOfWord() != 4 && wordsOfHalves == 0 ? 2 : 1),
      digits(ofBytes ? 1 : getDigits(together / parts)), places(ofBytes ? parts : together),
      addsHalves(together == 4 && builder.getBytesOfWord() != 4 && parts == 1) {
  // A vector more: what is stored of a short segment reaches over its end.
  rowWords = (llvm::alignTo(depth, segment) + builder.getLanes()) / together;
  rowSegments = llvm::divideCeil(depth, segment);
  words = builder.scratch(rows * rowWords * places, builder.getI32Type());
  if (!ofBytes)
    scales = builder.scratch(rows * rowSegments, builder.getF32Type());
  if (together == 4 && parts == 1)
    corrections = builder.scratch(rows * rowSegments * 2, builder.getI32Type());
}

Value FixedPointRows::segmentAt(int64_t row, Value k) const {
  return builder.add(builder.div(builder.sub(k, begin), segment), row * rowSegments);
}

void FixedPointRows::convert(Value lhs, const LhsPlace &place, int64_t rows, Value kBegin,
                             Value kEnd) {
  begin = kBegin;
  auto convertRows = [&](Value at, bool isLast) {
    for (int64_t row = 0; row < rows; ++row)
      if (ofBytes)
        copySegment(lhs, place, row, at, isLast);
      else
        convertSegment(lhs, place, row, at, isLast);
  };
  Value whole = builder.min(kEnd, builder.index(k / segment * segment));
  builder.loop(kBegin, whole, segment, [&](Value at) { convertRows(at, /*isLast=*/false); });
  if (k % segment != 0)
    builder.loop(whole, kEnd, segment, [&](Value at) { convertRows(at, /*isLast=*/true); });
}

void FixedPointRows::copySegment(Value lhs, const LhsPlace &place, int64_t row, Value at,
                                 bool isLast) {
  auto bytes = VectorType::get({segment}, builder.getI8Type());
  Value loaded;
  if (isLast) {
    Value mask = builder.maskBelow(builder.sub(builder.index(k), at), segment);
    Value zeros = arith::ConstantOp::create(builder, builder.getZeroAttr(bytes));
    loaded = vector::MaskedLoadOp::create(builder, bytes, lhs, place(row, at), mask, zeros);
  } else {
    loaded = vector::LoadOp::create(builder, bytes, lhs, place(row, at));
  }
  Value ofWords = loaded;
  if (parts == 2) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < segment; i += 4)
      order.append({i, i + 2, i + 1, i + 3});
    ofWords = vector::ShuffleOp::create(builder, loaded, loaded, order);
  }
  if (together != 4 || parts == 2)
    ofWords = arith::ExtSIOp::create(builder, bytes.clone(builder.getI16Type()), ofWords);
  auto type = VectorType::get({segment / together * parts}, builder.getI32Type());
  Value word = builder.div(builder.sub(at, begin), together);
  vector::StoreOp::create(builder, vector::BitCastOp::create(builder, type, ofWords), words,
                          digitAt(row, word, 0));
  if (!corrections)
    return;
  Value wide = arith::ExtSIOp::create(builder, bytes.clone(builder.getI32Type()), loaded);
  Value sum = vector::ReductionOp::create(builder, vector::CombiningKind::ADD, wide);
  storeCorrection(sum, row, at, 0);
}

void FixedPointRows::storeCorrection(Value sumOfDigits, int64_t row, Value at, int64_t part) {
  Value factor = arith::ConstantIntOp::create(builder, builder.getI32Type(), -offset);
  memref::StoreOp::create(builder, arith::MulIOp::create(builder, sumOfDigits, factor), corrections,
                          builder.add(builder.mul(segmentAt(row, at), 2), part));
}

void FixedPointRows::convertSegment(Value lhs, const LhsPlace &place, int64_t row, Value at,
                                    bool isLast) {
  int64_t lanes = builder.getLanes();
  auto maxI = [&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, a, b); };
  auto subI = [&](Value a, Value b) -> Value { return arith::SubIOp::create(builder, a, b); };
  auto shift = [&](Value a, int64_t by) -> Value {
    return arith::ShRSIOp::create(builder, a, builder.integers(by));
  };
  auto bitsOf = [&](Value a) -> Value {
    return arith::BitcastOp::create(builder, builder.vectorOf(builder.getI32Type()), a);
  };
  auto numberOf = [&](Value a) -> Value {
    return arith::BitcastOp::create(builder, builder.vectorOf(builder.getF32Type()), a);
  };

  SmallVector<Value> numbers;
  Value largest; // |x| as bits, which compare as the numbers do, and a NaN is above all
  for (int64_t i = 0; i < segment; i += lanes) {
    Value mask;
    if (isLast)
      mask = builder.maskBelow(builder.sub(builder.index(k), builder.add(at, i)));
    else if (segment - i < lanes)
      mask = builder.maskBelow(builder.index(segment - i));
    numbers.push_back(builder.load(lhs, place(row, builder.add(at, i)), mask));
    Value size =
        arith::AndIOp::create(builder, bitsOf(numbers.back()), builder.integers(0x7fffffff));
    largest = largest ? maxI(largest, size) : size;
  }
  largest = builder.combineLanes(largest, maxI);
  // 2^(e - 1) as bits is (e + 126) units. Below 2^-103 a scale would not be a normal number.
  Value exponent = builder.addI(largest, builder.integers(kTopOfDigits));
  exponent = arith::AndIOp::create(builder, exponent, builder.integers(0x7f800000));
  exponent = maxI(exponent, builder.integers(23 * kExponentUnit));
  Value toFixed = numberOf(subI(builder.integers(276 * kExponentUnit), exponent));
  Value scale = numberOf(subI(exponent, builder.integers(22 * kExponentUnit)));
  // Infinity minus itself is a NaN.
  scale = builder.addF(scale, builder.subF(numberOf(largest), numberOf(largest)));
  builder.storeScalar(vector::ExtractOp::create(builder, scale, 0), scales, segmentAt(row, at));

  // Signed digits: what adds half of each one's range carries, and its bits turn back.
  int64_t digitBytes = 4 * parts / together, halves = digitBytes == 1 ? 0x8080 : 0x8000;
  Value sum, highSum;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value fixed = builder.roundToInteger(builder.mulF(number, toFixed));
    Value carried = builder.addI(fixed, builder.integers(halves));
    Value word = builder.div(builder.sub(builder.add(at, i * lanes), begin), together);
    storeDigits(arith::XOrIOp::create(builder, carried, builder.integers(halves)), row, word);
    Value high = shift(carried, 16);
    sum = sum ? builder.addI(sum, fixed) : fixed;
    highSum = highSum ? builder.addI(highSum, high) : high;
  }
  if (!corrections)
    return;
  // Both sums at once: each has half of the lanes.
  SmallVector<int64_t> lower, upper;
  for (int64_t first : {int64_t(0), lanes})
    for (int64_t i = 0; i < lanes / 2; ++i) {
      lower.push_back(first + i);
      upper.push_back(first + lanes / 2 + i);
    }
  Value both = builder.addI(vector::ShuffleOp::create(builder, sum, highSum, lower),
                            vector::ShuffleOp::create(builder, sum, highSum, upper));
  for (int64_t distance = lanes / 4; distance > 0; distance /= 2) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < lanes; ++i)
      order.push_back(i / (lanes / 2) * (lanes / 2) + (i + distance) % (lanes / 2));
    both = builder.addI(both, vector::ShuffleOp::create(builder, both, both, order));
  }
  Value total = vector::ExtractOp::create(builder, both, 0);
  Value highTotal = vector::ExtractOp::create(builder, both, lanes / 2);
  Value bitsBelow = arith::ConstantIntOp::create(builder, builder.getI32Type(), 16);
  Value highOfTotal = arith::ShLIOp::create(builder, highTotal, bitsBelow);
  storeCorrection(subI(total, highOfTotal), row, at, 0);
  storeCorrection(highTotal, row, at, 1);
}

void FixedPointRows::storeDigits(Value fixed, int64_t row, Value word) {
  // Bytes of `together` numbers, part by part and digit by digit: within 16 bytes, where one
  // instruction moves them.
  int64_t lanes = builder.getLanes(), digitBytes = 4 * parts / together;
  SmallVector<int64_t> order;
  for (int64_t number = 0; number < lanes; number += together)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t digit = 0; digit < together / parts; ++digit)
        for (int64_t i = part; i < together; i += parts)
          for (int64_t byte = 0; byte < digitBytes; ++byte)
            order.push_back(4 * (number + i) + digit * digitBytes + byte);
  Value bytes = vector::BitCastOp::create(builder, builder.vectorOf(builder.getI8Type(), 4), fixed);
  bytes = vector::ShuffleOp::create(builder, bytes, bytes, order);
  vector::StoreOp::create(
      builder, vector::BitCastOp::create(builder, builder.vectorOf(builder.getI32Type()), bytes),
      words, digitAt(row, word, 0));
}

Value FixedPointRows::digitAt(int64_t row, Value word, int64_t digit, int64_t part) const {
  int64_t place = part * (places / parts) + digit;
  return builder.add(builder.mul(word, places), row * rowWords * places + place);
}

SmallVector<Value> FixedPointRows::unpack(ValueRange words) const {
  if (together != 4)
    return words;
  auto flip = [&](Value a, int64_t by) -> Value {
    return arith::XOrIOp::create(builder, a, builder.integers(by));
  };
  SmallVector<int8_t> found;
  for (int8_t value : values)
    found.push_back(static_cast<int8_t>(parts == 2 ? value : value + offset));
  SmallVector<Value> vectors;
  for (Value word : words) {
    if (bits == 8) {
      vectors.push_back(flip(word, 0x80808080));
      continue;
    }
    Value halves = values.empty() ? flip(word, 0x88888888) : word;
    auto addLower = [&](Value a) {
      Value weights = arith::AndIOp::create(builder, a, builder.integers(0x0f0f0f0f));
      if (!values.empty())
        weights = builder.lookUp(found, weights);
      if (parts == 2)
        vectors.append({builder.widenEven(weights), builder.widenOdd(weights)});
      else
        vectors.push_back(weights);
    };
    addLower(halves);
    addLower(arith::ShRUIOp::create(builder, halves, builder.integers(4)));
  }
  return vectors;
}

Value FixedPointRows::dot(Value sum, Value weights, Value digits) const {
  if (together != 4 || parts == 2)
    return builder.byteDot(sum, digits, weights);
  digits = vector::BitCastOp::create(builder, builder.vectorOf(builder.getI8Type(), 4), digits);
  if (!addsHalves)
    return builder.byteDot(sum, weights, digits);
  return builder.addI(sum, builder.multiplyBytes(weights, digits));
}

SmallVector<Value> FixedPointRows::accumulate(int64_t rows, Value at, const WordsOfWeights &weights,
                                              ValueRange sums) const {
  int64_t vectors = static_cast<int64_t>(sums.size()) / rows;
  // What the sums of digits begin with, [row][digit][vector].
  auto makeBegins = [&] {
    SmallVector<Value> begins;
    for (int64_t sum = 0; sum < rows * digits; ++sum) {
      int64_t row = sum / digits, digit = sum % digits;
      Value begin = builder.integers(0);
      if (corrections && (digit == 0 || digit == digits - 1)) {
        Value ofSegment = builder.mul(segmentAt(row, at), 2);
        begin = builder.splatStored(corrections, builder.add(ofSegment, digit == 0 ? 0 : 1));
      }
      for (int64_t v = 0; v < vectors; ++v)
        begins.push_back(ofBytes ? builder.addI(sums[row * vectors + v], begin) : begin);
    }
    return begins;
  };
  auto addWord = [&](Value ofWord, ValueRange carried) {
    SmallVector<Value> next(carried), vectorsOfWord = unpack(weights(ofWord));
    Value place = builder.div(builder.sub(ofWord, begin), together);
    for (int64_t sum = 0; sum < rows * digits; ++sum)
      for (int64_t part = 0; part < parts; ++part) {
        Value digit = builder.splatStored(words, digitAt(sum / digits, place, sum % digits, part));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &product = next[sum * vectors + v];
          product = dot(product, vectorsOfWord[v * parts + part], digit);
        }
      }
    return next;
  };
  auto addWords = [&](Value first, int64_t count, SmallVector<Value> products) {
    for (int64_t i = 0; i < count; i += together)
      products = addWord(builder.add(first, i), products);
    return products;
  };
  // Many sums fill the registers: without a loop LLVM would add them in another order, and spill.
  // So does widening. Rows of numbers leave room for two words a turn; their sums of halves begin
  // with products before the loop, which goes round twice at the least: else it would be none.
  constexpr int64_t kFewSums = 6;
  bool loops = parts == 2 || (ofBytes ? rows * vectors > kFewSums : addsHalves);
  auto addAllWords = [&](Value first, int64_t count, SmallVector<Value> products) {
    if (!loops)
      return addWords(first, count, products);
    bool two = !ofBytes && count > 4 * together && count % (2 * together) == 0;
    int64_t step = two ? 2 * together : together, before = addsHalves && !ofBytes ? step : 0;
    products = addWords(first, before, products);
    return builder.loop(builder.add(first, before), builder.add(first, count), step, products,
                        [&](Value at, ValueRange carried) { return addWords(at, step, carried); });
  };
  SmallVector<Value> products;
  if (!addsHalves)
    products = addAllWords(at, segment, makeBegins());
  int64_t depthOfHalves = addsHalves ? wordsOfHalves * together : segment;
  for (int64_t i = 0; addsHalves && i < segment; i += depthOfHalves) {
    SmallVector<Value> halves(rows * digits * vectors, builder.zeroHalves());
    halves = addAllWords(builder.add(at, i), std::min(depthOfHalves, segment - i), halves);
    if (products.empty())
      products = makeBegins();
    for (auto [sum, half] : llvm::enumerate(halves)) {
      // The second digit's go to the first one's: both fit 32 bits.
      bool isSecond = sum / vectors % digits == 1;
      Value &product = products[isSecond ? sum - vectors : sum];
      product = builder.addHalves(product, half, isSecond ? 256 : 1);
    }
  }
  if (ofBytes)
    return products;

  SmallVector<Value> next;
  for (int64_t row = 0; row < rows; ++row) {
    Value scale = builder.loadSplat(scales, segmentAt(row, at));
    for (int64_t v = 0; v < vectors; ++v) {
      auto product = [&](int64_t digit) { return products[(row * digits + digit) * vectors + v]; };
      // The lower digits fit 32 bits together.
      Value low = product(0);
      if (digits == 3 && !addsHalves)
        low = builder.addI(low, arith::ShLIOp::create(builder, product(1), builder.integers(8)));
      Value number = builder.fma(builder.toFloat(product(digits - 1)), builder.splat(65536.0),
                                 builder.toFloat(low));
      next.push_back(builder.fma(number, scale, sums[row * vectors + v]));
    }
  }
  return next;
}
