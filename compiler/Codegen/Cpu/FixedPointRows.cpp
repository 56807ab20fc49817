#include "compiler/Codegen/Cpu/FixedPointRows.h"
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
                               int64_t segment, int64_t bits)
    : builder(builder), k(k), segment(segment), bits(bits),
      together(bits == 4 ? 4 : builder.getBytesOfWord()), digits(together == 4 ? 3 : 2),
      addsHalves(together == 4 && builder.getBytesOfWord() != 4) {
  // A vector more: what is stored of a short segment reaches over its end.
  rowWords = (llvm::alignTo(depth, segment) + builder.getLanes()) / together;
  rowSegments = llvm::divideCeil(depth, segment);
  words = builder.scratch(rows * rowWords * together, builder.getI32Type());
  scales = builder.scratch(rows * rowSegments, builder.getF32Type());
  if (together == 4)
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
      convertSegment(lhs, place, row, at, isLast);
  };
  Value whole = builder.min(kEnd, builder.index(k / segment * segment));
  builder.loop(kBegin, whole, segment, [&](Value at) { convertRows(at, /*isLast=*/false); });
  if (k % segment != 0)
    builder.loop(whole, kEnd, segment, [&](Value at) { convertRows(at, /*isLast=*/true); });
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
  int64_t digitBytes = 4 / together, halves = digitBytes == 1 ? 0x8080 : 0x8000;
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
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, builder.getI32Type(), value);
  };
  auto storeCorrection = [&](Value sumOfDigits, int64_t part) {
    Value correction = arith::MulIOp::create(builder, sumOfDigits, constant(-(1 << (bits - 1))));
    memref::StoreOp::create(builder, correction, corrections,
                            builder.add(builder.mul(segmentAt(row, at), 2), part));
  };
  Value highOfTotal = arith::ShLIOp::create(builder, highTotal, constant(16));
  storeCorrection(subI(total, highOfTotal), 0);
  storeCorrection(highTotal, 1);
}

void FixedPointRows::storeDigits(Value fixed, int64_t row, Value word) {
  // Bytes of `together` numbers, digit by digit: within 16 bytes, where one instruction moves them.
  int64_t lanes = builder.getLanes(), digitBytes = 4 / together;
  SmallVector<int64_t> order;
  for (int64_t number = 0; number < lanes; number += together)
    for (int64_t digit = 0; digit < together; ++digit)
      for (int64_t i = 0; i < together; ++i)
        for (int64_t byte = 0; byte < digitBytes; ++byte)
          order.push_back(4 * (number + i) + digit * digitBytes + byte);
  Value bytes = vector::BitCastOp::create(builder, builder.vectorOf(builder.getI8Type(), 4), fixed);
  bytes = vector::ShuffleOp::create(builder, bytes, bytes, order);
  vector::StoreOp::create(
      builder, vector::BitCastOp::create(builder, builder.vectorOf(builder.getI32Type()), bytes),
      words, digitAt(row, word, 0));
}

Value FixedPointRows::digitAt(int64_t row, Value word, int64_t digit) const {
  return builder.add(builder.mul(word, together), row * rowWords * together + digit);
}

SmallVector<Value> FixedPointRows::unpack(ValueRange words) const {
  if (together != 4)
    return words;
  auto flip = [&](Value a, int64_t by) -> Value {
    return arith::XOrIOp::create(builder, a, builder.integers(by));
  };
  SmallVector<Value> vectors;
  for (Value word : words) {
    if (bits == 8) {
      vectors.push_back(flip(word, 0x80808080));
      continue;
    }
    Value halves = flip(word, 0x88888888);
    auto lower = [&](Value a) -> Value {
      return arith::AndIOp::create(builder, a, builder.integers(0x0f0f0f0f));
    };
    vectors.push_back(lower(halves));
    vectors.push_back(lower(arith::ShRUIOp::create(builder, halves, builder.integers(4))));
  }
  return vectors;
}

Value FixedPointRows::dot(Value sum, Value weights, Value digits) const {
  if (together != 4)
    return builder.byteDot(sum, digits, weights);
  digits = vector::BitCastOp::create(builder, builder.vectorOf(builder.getI8Type(), 4), digits);
  if (!addsHalves)
    return builder.byteDot(sum, weights, digits);
  Value products = builder.multiplyBytes(weights, digits);
  return sum ? builder.addI(sum, products) : products;
}

SmallVector<Value> FixedPointRows::accumulate(int64_t rows, Value at, const WordsOfWeights &weights,
                                              ValueRange sums) const {
  int64_t vectors = static_cast<int64_t>(sums.size()) / rows;
  auto correction = [&](int64_t row, int64_t part) {
    return builder.splatStored(corrections, builder.add(builder.mul(segmentAt(row, at), 2), part));
  };
  Value zero = builder.integers(0);
  SmallVector<Value> begins(rows * digits, zero); // what sums of each digit begin with
  for (int64_t row = 0; row < rows && corrections; ++row) {
    begins[row * digits] = correction(row, 0);
    begins[row * digits + digits - 1] = correction(row, 1);
  }
  // [row][digit][vector]
  SmallVector<Value> products;
  for (Value first : begins)
    products.append(vectors, addsHalves ? Value() : first);
  for (int64_t i = 0; i < segment; i += together) {
    Value place = builder.div(builder.sub(builder.add(at, i), begin), together);
    SmallVector<Value> vectorsOfWord = unpack(weights(builder.add(at, i)));
    for (int64_t sum = 0; sum < rows * digits; ++sum) {
      Value digit = builder.splatStored(words, digitAt(sum / digits, place, sum % digits));
      for (int64_t v = 0; v < vectors; ++v) {
        Value &product = products[sum * vectors + v];
        product = dot(product, vectorsOfWord[v], digit);
      }
    }
  }
  if (addsHalves)
    for (auto [i, product] : llvm::enumerate(products))
      product = builder.addHalves(begins[i / vectors], product);

  SmallVector<Value> next;
  for (int64_t row = 0; row < rows; ++row) {
    Value scale = builder.loadSplat(scales, segmentAt(row, at));
    for (int64_t v = 0; v < vectors; ++v) {
      auto product = [&](int64_t digit) { return products[(row * digits + digit) * vectors + v]; };
      // The lower digits fit 32 bits together.
      Value low = product(0);
      if (digits == 3)
        low = builder.addI(low, arith::ShLIOp::create(builder, product(1), builder.integers(8)));
      Value number = builder.fma(builder.toFloat(product(digits - 1)), builder.splat(65536.0),
                                 builder.toFloat(low));
      next.push_back(builder.fma(number, scale, sums[row * vectors + v]));
    }
  }
  return next;
}
