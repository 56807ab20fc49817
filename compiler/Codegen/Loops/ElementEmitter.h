//===- ElementEmitter.h - One element of a fused tensor ---------*- C++ -*-===//
//
// Every value of a kernel can be asked for the element at a multi-index: an elementwise op asks
// its operands for the same element and does its arithmetic, an index op asks its operand for
// another element, an argument is a load. Fusion is then nothing but asking a result for each of
// its elements. What keeps this cheap:
//
// - *Scopes.* An element that was emitted is remembered as long as its code dominates. Before a
//   loop is entered, `prepare` emits all that does not change with its counter: a norm's scale, a
//   rotary table's row, an embedding's id. A reduction is the extreme case: a whole loop.
// - *Segments.* Where a concat or a rotation has a boundary inside a loop's range, the loop is cut
//   there, so that inside there is nothing to decide and the loop vectorizes.
// - *Row buffers.* A value that is expensive, goes into a reduction and is needed again after it
//   is kept in a buffer on the stack (softmax: the exponentials). Cheap ones are computed again.
//
// Elements are computed in f32, whatever 16-bit type they are stored in.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Loops/IndexSpace.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace sinter {

class ElementEmitter {
public:
  using Index = llvm::SmallVector<mlir::AffineExpr>;

  /// Emits with `builder`, wherever it stands; row buffers come from `entry`'s front.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc, IndexSpace &space,
                 mlir::Block *entry, const RowsOptions &options)
      : builder(builder), loc(loc), space(space), entry(entry), options(options),
        bufferBytesLeft(options.bufferBytes), scopes(1) {}

  /// The type that elements of a storage type are computed in: f32 for bf16 and f16.
  static mlir::Type getComputeType(mlir::Type storage);

  /// Whether there is a case for the op.
  static bool supports(mlir::Operation *op);

  /// The flat memory that an argument's elements are loaded from.
  void bindMemory(mlir::Value tensor, mlir::Value memory) { memories[tensor] = memory; }

  /// The element of a tensor, in its compute type. Fails with a diagnostic.
  mlir::FailureOr<mlir::Value> emit(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);

  /// Emits all that the element needs and that depends on none of `dims`.
  mlir::LogicalResult prepare(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index,
                              llvm::ArrayRef<mlir::AffineExpr> dims);

  /// Stores a computed element into the flat memory of a tensor of this type.
  void store(mlir::Value element, mlir::Value memory, mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> index);

  /// Loads an element of the flat memory of a tensor of this type, in its compute type.
  mlir::Value load(mlir::Value memory, mlir::RankedTensorType type,
                   llvm::ArrayRef<mlir::AffineExpr> index);

  /// An element of an i32 tensor as an index.
  mlir::FailureOr<mlir::Value> emitIndex(mlir::Value tensor,
                                         llvm::ArrayRef<mlir::AffineExpr> index);

  /// [0, extent) cut at the boundaries that the elements `makeIndex(i)` of the tensors cross.
  llvm::SmallVector<std::pair<int64_t, int64_t>>
  getSegments(llvm::ArrayRef<mlir::Value> tensors,
              llvm::function_ref<Index(mlir::Value, mlir::AffineExpr)> makeIndex, int64_t extent);

  /// Of a reduction whose row changes every `n` steps of `dim` in the element: n; else 0.
  int64_t findRowChange(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index,
                        mlir::AffineExpr dim);

  /// Memory for a row of elements of a type, or null where all buffers together would be too large.
  mlir::Value makeBuffer(int64_t extent, mlir::Type element);

  /// Marks the values of a block that are worth a row buffer.
  void chooseBuffers(mlir::Block &block);

  /// Elements emitted while it lives are forgotten with it.
  class Scope {
  public:
    explicit Scope(ElementEmitter &emitter) : emitter(emitter) { emitter.scopes.emplace_back(); }
    ~Scope() { emitter.scopes.pop_back(); }

  private:
    ElementEmitter &emitter;
  };

private:
  using Key = std::pair<const void *, llvm::SmallVector<const void *>>;

  /// An element that another is made of.
  struct Source {
    mlir::Value tensor;
    Index index;
  };

  struct ScopeData {
    std::map<Key, mlir::Value> elements;
    /// By the value and the row's index: memory with the row.
    std::map<Key, mlir::Value> buffers;
  };

  static Key makeKey(const void *what, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value lookup(std::map<Key, mlir::Value> ScopeData::*map, const Key &key);

  mlir::FailureOr<mlir::Value> compute(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Whether the loop being emitted computes a whole row of the tensor, an element a step.
  bool canFill(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::FailureOr<mlir::Value> emitReduce(ReduceOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::FailureOr<mlir::Value> emitConcat(ConcatOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The element of a row that data choose, or 0.
  mlir::FailureOr<mlir::Value> emitPick(PickOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitDropout(DropoutOp op, llvm::ArrayRef<mlir::AffineExpr> index,
                          llvm::ArrayRef<mlir::Value> elements);
  /// Whether a dropout keeps the element of this number.
  mlir::Value emitKept(DropoutOp op, mlir::Value number, std::array<mlir::Value, 2> seed);
  mlir::Value emitStochasticRound(StochasticRoundOp op, llvm::ArrayRef<mlir::AffineExpr> index,
                                  llvm::ArrayRef<mlir::Value> elements);
  /// The two words of an element's number, of a tensor of `count` elements.
  std::pair<mlir::Value, mlir::Value> splitNumber(mlir::Value number, int64_t count);
  /// A call of a function of a device's library.
  mlir::Value callLibrary(llvm::StringRef name, mlir::ValueRange arguments, mlir::Type result);
  mlir::FailureOr<mlir::Value> emitRotary(RotaryOp op, llvm::ArrayRef<mlir::AffineExpr> index);

  /// One element chosen by `expr < bound`, without code where the ranges decide.
  using Branch = llvm::function_ref<mlir::FailureOr<mlir::Value>()>;
  mlir::FailureOr<mlir::Value> choose(mlir::AffineExpr expr, int64_t bound, mlir::Type type,
                                      Branch below, Branch above);

  /// The elements that an element is made of; nothing where that is not known or where it is not
  /// one for one. With `probe`, rows chosen by data are unknown dimensions and no code is emitted.
  mlir::FailureOr<llvm::SmallVector<Source>>
  getSources(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index, bool probe);

  /// The row that a gather reads for an element, and the index that it depends on.
  mlir::FailureOr<mlir::AffineExpr>
  getGatherRow(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index, bool probe);
  static Index getGatherIndex(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);

  void collectCuts(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index, mlir::AffineExpr dim,
                   llvm::SmallVectorImpl<int64_t> &cuts);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  IndexSpace &space;
  mlir::Block *entry;
  const RowsOptions &options;
  int64_t bufferBytesLeft;
  llvm::SmallVector<ScopeData> scopes;
  llvm::DenseMap<mlir::Value, mlir::Value> memories;
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> rows;
  /// Values with a row buffer, and its memory once there is one.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// The counter of the reduction loop being emitted, and the buffers filled in it.
  mlir::AffineExpr reductionDim;
  int64_t reductionExtent = 0;
  std::map<Key, unsigned> *filled = nullptr;
};

} // namespace sinter
