//===- CostModel.h - What a kernel is predicted to take ---------*- C++ -*-===//
//
// A roofline: a kernel takes as long as its arithmetic at the machine's peak or its traffic, each
// value at the bandwidth of the smallest memory that holds it, whichever is longer, and what it
// costs to start.
//
//   ns = max(sum of flops / rate, sum of bytes / bandwidth) + launch
//
// with the rates that kernels reach on the machine that the target describes. Nothing is measured:
// what is decided, and the times that are printed beside decisions, are the same on every host.
// What a run is compared with is the work alone, divided by what the machine at hand was seen to do
// (runtime/Trace/Limits.h).
//
// The work of each op comes from CostOpInterface; the model knows roles (FusibleOpInterface), not
// ops. What a fusion saves follows from two rules: a value that stays inside is neither written nor
// read, and an operand that several ops read is read once. What it may lose: a kernel has as many
// work items as the shapes of all its results have rows in common, so one more result can starve
// cores; and on a GPU a product leaves the library's matrix units when its epilogue is one that the
// library cannot do (SelectLibraryGemm asks for both).
//
// The factors below are of the two AVX-512 machines that Sinter was tuned on. They are meant to be
// right within a factor of two: most fusions win or lose by more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {

/// A prediction, or a sum of them.
struct Cost {
  double ns = 0;
  double flops = 0;
  double narrowFlops =
      0;                ///< of these, in products of bf16, and of f16 where it is not widened first
  double byteFlops = 0; ///< of these, in products of bytes by bytes,
  double nibbleFlops = 0; ///< and by integers of four bits
  double bytes = 0;
  double sharedBytes = 0;  ///< of these, of values that fit the cache that all cores share,
  double privateBytes = 0; ///< and the cores' own

  Cost &operator+=(const Cost &other) {
    ns += other.ns;
    flops += other.flops;
    narrowFlops += other.narrowFlops;
    byteFlops += other.byteFlops;
    nibbleFlops += other.nibbleFlops;
    bytes += other.bytes;
    sharedBytes += other.sharedBytes;
    privateBytes += other.privateBytes;
    return *this;
  }
};

/// Which implementation a matmul is reckoned with; a processor has no library.
enum class GemmChoice { Generated, Library };

/// Memories, the fastest first.
enum class MemoryLevel { PrivateCaches, SharedCache, Memory };

/// Predicts times on one target.
class CostModel {
public:
  explicit CostModel(TargetAttr target) : target(target) {}

  /// An op run alone. Ops without cost (aliases, see isAlias; constants) take nothing.
  Cost getCost(mlir::Operation *op) const;

  /// Ops run as one kernel. Values used outside of `ops` are results, values defined outside are
  /// operands; the ops need not lie in a region of their own.
  /// @param ops ops of one block, each implementing CostOpInterface.
  Cost getFusedCost(const llvm::SetVector<mlir::Operation *> &ops,
                    GemmChoice choice = GemmChoice::Generated) const;

  TargetAttr getTarget() const { return target; }

  /// The body of a fusion or of an outlined kernel.
  Cost getBodyCost(mlir::Block &body, GemmChoice choice = GemmChoice::Generated) const;

  /// The smallest memory that holds a value of so many bytes. Cold values, parameters and states,
  /// are in no shared cache: all of the others passed through it since the last step.
  MemoryLevel getLevel(double bytes, bool cold) const;

  /// GB/s at which values in it are read or written.
  double getBandwidth(MemoryLevel level) const;

private:
  /// Whether an op is a product of 16-bit numbers that are not widened before they are multiplied,
  /// where the target has instructions for that: f16 on a GPU, bf16. (On a processor without, what
  /// the target says of bf16 is its rate when widened.)
  bool isNarrowProduct(mlir::Operation *op) const;

  /// Of a product of bytes, or of few rows that are made bytes (FixedPointRows.h), how many bits
  /// the numbers have that these are multiplied by, 8 or 4; 0 of all other ops. Where the target
  /// has no products of fp8, such are widened first.
  int64_t getBitsBesideBytes(mlir::Operation *op) const;

  /// Nanoseconds of one op's arithmetic, on `parallelism` of the cores.
  double getComputeNs(mlir::Operation *op, double parallelism, GemmChoice choice) const;

  TargetAttr target;
};

/// Whether an op's result is its operand's memory under another type: a reshape of dense tensors.
bool isAlias(mlir::Operation *op);

/// Whether an op is a constant with one value everywhere; fused, it is an immediate operand.
bool isSplatConstant(mlir::Operation *op);

/// The part that an op plays; Opaque for one without FusibleOpInterface.
FusionRole getRole(mlir::Operation *op);

/// Whether a result of an op that reduces columns is a sum over rows, and not rows.
bool isColumnSum(mlir::Value result);

/// Rows of a tensor: the product of all extents but the last (1 for rank 0 and 1).
int64_t getRows(mlir::Type type);

} // namespace sinter
