//===- FixedPointRows.h - Numbers multiplied as integers --------*- C++ -*-===//
//
// Products of few rows of numbers by weight-only integers are bound by how many instructions a
// weight takes: widened to f32 and multiplied, 16 of them take three. An instruction on bytes
// multiplies and adds 64. So rows are made fixed point, and the sums of a segment are exact:
//
//   2^(e-1) <= the largest |x| of the segment < 2^e,  X = round(x 2^(23-e))
//   X = D0 + 2^8 D1 + 2^16 D2             three signed digits of a byte
//   sum w x ~ 2^(e-23) (sum w D0 + 2^8 sum w D1 + 2^16 sum w D2)
//
// (where the highest digit would be 128, e is one more)
//
// Instructions on bytes want one side unsigned. Weights get 8 or 128 added, and the sums begin with
// what takes it off again: that many times the sum of the segment's digits. Where bytes of 8 bits
// would saturate (no VNNI), they are widened to 16 bits, and two digits are as wide. Of 4 bits they
// do not: eight sums of two products, 15 * 128 at most, fit 16 bits. Where codes of 4 bits stand
// for other values, these are looked up with what makes the least of them 0 added, and fewer sums
// of two products fit. Of values that are so far apart that not even one does, those looked up are
// widened to 16 bits, the even ones of a word and the odd ones, and two digits are as wide.
//
//   x = 1.5, -0.25: e = 1, X = 6291456, -1048576, digits (0, 0, 96) and (0, 0, -16).
//
// An x is off by at most 2^(e-24), at most 2^-22.99 of the segment's largest, so a segment's sum by
// 2^-22.99 max |x| sum |w|, about as much as rounding each step of a sum in f32 does. An outlier
// makes the numbers of its own segment alone coarser. The order in which a segment is added does
// not matter: a row has the same bits in every product of few rows. Where a number is infinite or
// NaN, the sum is NaN.
//
// Rows of bytes are of one digit, and have their scale outside: the sums of a group are integers.
// These are multiplied so whatever the number of rows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/LhsScratch.h"

namespace sinter {

class FixedPointRows {
public:
  /// How many k share a scale of the row, of groups that share one of the weights; 0 where words of
  /// `together` weights would belong to two groups.
  static int64_t getSegment(int64_t group, int64_t k, int64_t together);
  /// Bytes that are kept of k elements of a row, at the most.
  static int64_t getBytes(int64_t k, int64_t segment, bool ofBytes) {
    return ofBytes ? 2 * k + 4 * k / segment : 4 * k + 12 * k / segment;
  }

  /// Digits of a number that meet words of so many weights, at the most.
  static int64_t getDigits(int64_t together) { return together == 4 ? 3 : 2; }

  /// @param depth the most k of a copy; @param k of a whole row @param bits of a weight @param
  /// values what codes of 4 bits stand for; empty: themselves @param ofBytes rows are bytes, not
  /// numbers
  FixedPointRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k, int64_t segment,
                 int64_t bits, llvm::ArrayRef<int8_t> values, bool ofBytes);

  /// Makes elements [kBegin, kEnd) of rows fixed point, whole segments or up to the last k; what is
  /// missing of the last segment is zero.
  void convert(mlir::Value lhs, const LhsPlace &place, int64_t rows, mlir::Value kBegin,
               mlir::Value kEnd);

  /// The weights of `vectors` vectors of columns at the word of k, as memory has them: the columns'
  /// words, of four bits those of two vectors in one.
  using WordsOfWeights = std::function<llvm::SmallVector<mlir::Value>(mlir::Value k)>;

  /// Adds the products of the segment at k to sums, row by row, of f32 or, of rows of bytes, of
  /// 32-bit integers; returns their values.
  llvm::SmallVector<mlir::Value> accumulate(int64_t rows, mlir::Value k,
                                            const WordsOfWeights &weights,
                                            mlir::ValueRange sums) const;

private:
  void convertSegment(mlir::Value lhs, const LhsPlace &place, int64_t row, mlir::Value k,
                      bool isLast);
  void copySegment(mlir::Value lhs, const LhsPlace &place, int64_t row, mlir::Value k, bool isLast);
  void storeCorrection(mlir::Value sumOfDigits, int64_t row, mlir::Value k, int64_t part);
  void storeDigits(mlir::Value fixed, int64_t row, mlir::Value word);
  /// Where the first of a word's digits are, of the weights of one of its parts.
  mlir::Value digitAt(int64_t row, mlir::Value word, int64_t digit, int64_t part = 0) const;
  llvm::SmallVector<mlir::Value> unpack(mlir::ValueRange words) const;
  mlir::Value dot(mlir::Value sum, mlir::Value weights, mlir::Value digits) const;
  mlir::Value segmentAt(int64_t row, mlir::Value k) const;

  VectorBuilder &builder;
  int64_t k, segment, bits;
  llvm::ArrayRef<int8_t> values;
  int64_t offset; // that weights have added
  bool ofBytes;
  int64_t together;      // weights of a word
  int64_t wordsOfHalves; // whose sums of products by bytes fit 16 bits
  int64_t parts;         // of a word, whose weights are multiplied at once: two that are widened
  int64_t digits;        // of a number
  int64_t places;        // of digits in `words`
  bool addsHalves;       // sums are of 16 bits
  int64_t rowWords, rowSegments;
  mlir::Value words;       // [row][word][part][bytes, or digits; of three a last place is unused]
  mlir::Value scales;      // [row][segment], of numbers
  mlir::Value corrections; // [row][segment][the lower digits', the highest one's]
  mlir::Value begin;
};

} // namespace sinter
