//===- VectorBuilder.h - Building kernels out of whole vectors --*- C++ -*-===//
//
// GEMM and attention kernels are written in vectors from the start: their speed is decided by
// which values sit in registers, and that is not left to a vectorizer. This builder has the words
// that both are written in. Every arithmetic value is a vector of f32 of the target's width,
// whatever the storage type: loads widen, stores round.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter {

/// How far ahead of their use lines are asked for where few rows stream weights from memory.
constexpr int64_t kBytesAhead = 4096, kLineBytes = 64;

/// Whether a processor sees the streams of loads that follow each other closely itself: to ask for
/// their lines ahead, in bf16 or in bytes that VNNI multiplies, costs a fifth of the rate on Zen 4.
/// On Emerald Rapids it gains one: of 1.1B parameters 22 to 27 GB/s in bf16, 19 to 24 in int8 (two
/// cores).
inline bool seesStreams(const TargetAttr &target) { return target.getChip().starts_with("znver"); }

class VectorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Builds before the `return` of a loop kernel.
  VectorBuilder(mlir::func::FuncOp loopKernel, TargetAttr target);

  TargetAttr getTarget() const { return target; }
  /// f32 elements in a register.
  int64_t getLanes() const { return lanes; }
  /// vector<lanes x element>, `multiple` registers' worth.
  mlir::VectorType vectorOf(mlir::Type element, int64_t multiple = 1);

  // Index arithmetic; constants fold.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// The value of an affine expression of dimensions.
  mlir::Value apply(mlir::AffineExpr expr, mlir::ValueRange dims);

  // Control flow.
  /// for (i = begin; i < end; i += step) with values carried round; returns their last values.
  using LoopBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value i, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end, int64_t step,
                                      mlir::ValueRange initial, LoopBody body);
  void loop(mlir::Value begin, mlir::Value end, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body,
              llvm::function_ref<void()> otherwise = {});

  // Vectors of f32.
  mlir::Value splat(double value);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value exp2(mlir::Value x);
  mlir::Value addF(mlir::Value a, mlir::Value b);
  mlir::Value subF(mlir::Value a, mlir::Value b);
  mlir::Value mulF(mlir::Value a, mlir::Value b);
  /// The larger lane by lane; `b` where they do not compare (one instruction).
  mlir::Value maxF(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value mask, mlir::Value a, mlir::Value b);
  /// Rounds every lane to `type` and back; nothing for f32.
  mlir::Value roundTo(mlir::Value vector, mlir::Type type);
  /// The lanes combined, in every lane, in a fixed order.
  mlir::Value combineLanes(mlir::Value vector,
                           llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  /// The largest lane, in every lane.
  mlir::Value horizontalMax(mlir::Value vector);
  /// The sum of the lanes as a scalar, in a fixed order.
  mlir::Value horizontalSum(mlir::Value vector);
  /// As many vectors as there are lanes, rows of a square: its columns.
  llvm::SmallVector<mlir::Value> transpose(mlir::ValueRange rows);

  // Masks and lane numbers.
  /// Which lanes of elements `number`, `number` + 1, ... a dropout keeps (emitIsKept); `seed` is
  /// memory of two words. @pre numbers are less than 2^32.
  mlir::Value maskOfKept(mlir::Value number, mlir::Value seed, int64_t stream, double probability);
  /// Lane i, of as many as f32 has or of so many, is on for i < count (an index).
  mlir::Value maskBelow(mlir::Value count);
  mlir::Value maskBelow(mlir::Value count, int64_t lanes);
  /// base + lane number, as i32.
  mlir::Value laneIndices(mlir::Value base);
  mlir::Value splatI32(mlir::Value index);

  // Memory. `offset` counts elements of a flat memref; a mask switches lanes off.
  mlir::Value load(mlir::Value memory, mlir::Value offset, mlir::Value mask = {});
  /// The same in the storage's type.
  mlir::Value loadStored(mlir::Value memory, mlir::Value offset, mlir::Value mask = {});
  void store(mlir::Value vector, mlir::Value memory, mlir::Value offset, mlir::Value mask = {});
  /// One element in every lane.
  mlir::Value loadSplat(mlir::Value memory, mlir::Value offset);
  /// The same in the storage's type.
  mlir::Value splatStored(mlir::Value memory, mlir::Value offset);
  /// One element as a scalar f32.
  mlir::Value loadScalar(mlir::Value memory, mlir::Value offset);
  void storeScalar(mlir::Value scalar, mlir::Value memory, mlir::Value offset);
  /// Prefetches the line at `offset`, which may lie behind the memory, to read it or to write it.
  void prefetchLine(mlir::Value memory, mlir::Value offset, bool isWrite = false);
  /// Prefetches the line `ahead` elements further on, or the memory's last one, to read it; into
  /// the L1 cache, or no nearer than the L2 cache.
  void prefetch(mlir::Value memory, mlir::Value offset, int64_t ahead, bool toL2 = false);
  /// Asks for what a stream of 16-bit numbers reaches kBytesAhead behind `offset`, where the
  /// processor does not see it itself: for each line once, of vectors that begin at `element` of a
  /// line's. In f32 it gains nothing.
  void prefetchStream(mlir::Value memory, mlir::Value offset, int64_t element);
  /// Memory of this function call, aligned to 64 bytes. @pre called outside of loops.
  mlir::Value scratch(int64_t elements, mlir::Type element);

  // Pairs of bf16, what a dot-product instruction multiplies: vector<2 * lanes x bf16>.
  /// acc[i] + a[2i] b[2i] + a[2i + 1] b[2i + 1].
  mlir::Value pairDot(mlir::Value acc, mlir::Value a, mlir::Value b);
  mlir::Value loadPairs(mlir::Value memory, mlir::Value offset);
  /// As many vectors of pairs as there are lanes, rows of a square: its columns.
  llvm::SmallVector<mlir::Value> transposePairs(mlir::ValueRange rows);
  /// Two vectors of f32, the halves of pairs.
  void storePairs(mlir::Value first, mlir::Value second, mlir::Value memory, mlir::Value offset);
  /// Two neighbouring elements in every pair; with `alone`, the first one and zero.
  mlir::Value splatPair(mlir::Value memory, mlir::Value offset, bool alone = false);

  // Bytes along k, as many as an instruction multiplies and adds into a word of 32 bits: four, or
  // two as halves of 16 bits.
  /// How many they are.
  int64_t getBytesOfWord() const;
  /// acc + the sum of the products of a word's bytes, exactly.
  /// @param words of lhs, i32 @param bytes of rhs, as loadBytes() gives them
  mlir::Value byteDot(mlir::Value acc, mlir::Value words, mlir::Value bytes);
  /// Bytes of panels, a vector of words.
  mlir::Value loadBytes(mlir::Value memory, mlir::Value offset);
  /// Bytes of a row as words of lhs: fours with 128 added to each byte, which makes them unsigned.
  mlir::Value loadLhsWords(mlir::Value memory, mlir::Value offset, mlir::Value mask = {});
  /// Products of bytes by signed bytes, the sum of each two in 16 bits, which saturate.
  mlir::Value multiplyBytes(mlir::Value unsignedWords, mlir::Value bytes);
  /// Zeros of 16 bits, which those are added to.
  mlir::Value zeroHalves();
  /// acc + the sum of a word's halves of 16 bits times `factor`.
  mlir::Value addHalves(mlir::Value acc, mlir::Value halves, int64_t factor);
  /// The first and third signed bytes of words in 16 bits; the second and fourth ones.
  mlir::Value widenEven(mlir::Value words);
  mlir::Value widenOdd(mlir::Value words);

  // Integers of 32 bits.
  /// One in every lane, by its lower bits.
  mlir::Value integers(int64_t value);
  mlir::Value addI(mlir::Value a, mlir::Value b);
  /// Integers as f32, rounded.
  mlir::Value toFloat(mlir::Value integers);
  /// The nearest integers, even ones of two.
  mlir::Value roundToInteger(mlir::Value numbers);
  /// A word of so many neighbouring bytes, 2 or 4, a lane; two are extended by their sign.
  mlir::Value loadWords(mlir::Value memory, mlir::Value offset, int64_t bytes);
  /// The signed integers of four bits that begin at bit `place` (an index) of each word, or the
  /// sixteen values that they number, as f32.
  mlir::Value widenHalves(mlir::Value words, mlir::Value place, llvm::ArrayRef<int8_t> values);
  /// Of each byte of words the one of sixteen that it numbers; 0 where its highest bit is set.
  mlir::Value lookUp(llvm::ArrayRef<int8_t> bytes, mlir::Value words);
  /// Signed byte `number` (an index) of a word of so many neighbouring bytes a lane, as f32 times
  /// 2^24: at the top of 32 bits there is no sign to extend.
  mlir::Value widenBytes(mlir::Value memory, mlir::Value offset, int64_t bytes, mlir::Value number);
  /// The e4m3 in byte `number` (an index) of each word, as f32 times 2^-120, at which its subnormal
  /// numbers are an f32's. The code of NaN becomes 480 times that.
  mlir::Value widenE4M3(mlir::Value words, mlir::Value number);

private:
  mlir::Value callIntrinsic(mlir::Type result, llvm::StringRef name, mlir::ValueRange operands);
  /// acc + the sums of pairs of products of 16 bits.
  mlir::Value pairsOfHalvesDot(mlir::Value acc, mlir::Value a, mlir::Value b);

  TargetAttr target;
  int64_t lanes;
};

} // namespace sinter
