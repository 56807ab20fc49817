//===- ElementEmitter.h - One element of a fused tensor ---------*- C++ -*-===//
//
// Every value of a kernel can be asked for the element at a multi-index: an elementwise op asks
// its operands for the same element and does its arithmetic, an index op asks its operand for
// another element, an argument is a load. Fusion is then nothing but asking a result for each of
// its elements. What keeps this cheap:
//
// - *Scopes.* An element that was emitted is remembered as long as its code dominates. Before a
//   loop is entered, `preprocess` emits all that does not change with its counter: a norm's scale,
//   a rotary table's row, an embedding's id. A reduction is the extreme case: a whole loop.
// - *Segments.* Where a concat or a rotation has a boundary inside a loop's range, the loop is cut
//   there, so that inside there is nothing to decide and the loop vectorizes. A reduction goes over
//   such a row in a buffer, in one loop.
// - *Row buffers.* A value that is expensive, goes into a reduction and is needed again after it
//   is kept in a buffer on the stack (softmax: the exponentials). Cheap ones are computed again.
//
// Elements are computed in f32, whatever 16-bit type they are stored in.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Loops/ElementOpInterface.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace sinter {

class ElementEmitter {
public:
  /// Emits with `builder`, wherever it stands; row buffers come from `entry`'s front.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc, IndexSpace &space,
                 mlir::Block *entry, const RowsOptions &options)
      : builder(builder), loc(loc), space(space), entry(entry), options(options),
        bufferBytesLeft(options.bufferBytes), scopes(1) {}

  /// The type that elements of a storage type are computed in: f32 for bf16 and f16.
  static mlir::Type getComputeType(mlir::Type storage);

  /// Whether an op's elements can be emitted.
  static bool supports(mlir::Operation *op);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  IndexSpace &getSpace() { return space; }
  const RowsOptions &getOptions() const { return options; }

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

  /// The elements that an element of the op's result is made of.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitSources(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);

  /// The row that data choose for an element; null where none is chosen.
  mlir::FailureOr<mlir::AffineExpr> emitRow(ElementOpInterface op,
                                            llvm::ArrayRef<mlir::AffineExpr> index);

  /// The value of an expression, of type index or of an integer type.
  mlir::Value emitPosition(mlir::AffineExpr expr);
  mlir::Value emitNumber(mlir::AffineExpr expr, mlir::Type type);

  mlir::Value emitConstant(mlir::Type type, double value);

  /// A call of a function of a device's library (kLibraryAttribute).
  mlir::Value callLibrary(llvm::StringRef name, mlir::ValueRange arguments, mlir::Type result);

  /// One element of two, chosen by `expr < bound`, without code where the ranges decide.
  using Branch = llvm::function_ref<mlir::FailureOr<mlir::Value>()>;
  mlir::FailureOr<mlir::Value> choose(mlir::AffineExpr expr, int64_t bound, mlir::Type type,
                                      Branch below, Branch above);

  /// [0, extent) cut at the boundaries that the elements `makeIndex(i)` of the tensors cross.
  llvm::SmallVector<std::pair<int64_t, int64_t>>
  getSegments(llvm::ArrayRef<mlir::Value> tensors,
              llvm::function_ref<ElementIndex(mlir::Value, mlir::AffineExpr)> makeIndex,
              int64_t extent);

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

  struct ScopeData {
    std::map<Key, mlir::Value> elements;
    /// By the value and the row's index: memory with the row.
    std::map<Key, mlir::Value> buffers;
  };

  static Key makeKey(const void *what, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value lookup(std::map<Key, mlir::Value> ScopeData::*map, const Key &key);

  /// The same of integers of four bits in panels, two of which have one byte.
  mlir::Value loadHalf(mlir::Value memory, mlir::RankedTensorType type, PanelsAttr panels,
                       llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::FailureOr<mlir::Value> compute(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Whether an element is made of numbers of 16 bits, and of those that are the same for all.
  bool isOfNarrow(mlir::Value tensor);
  /// The element of an elementwise op's result. Where it is made of numbers of 16 bits,
  /// exponentials, and divisions beside them, may be approximate (RowsOptions::approximates).
  mlir::Value emitScalar(ElementwiseOpInterface op, llvm::ArrayRef<mlir::Value> operands);
  /// Whether the loop being emitted computes a whole row of the tensor, an element a step.
  bool canFill(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::FailureOr<mlir::Value> emitReduce(ReduceOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The elements that an element is made of; nothing where that is not known or where they differ
  /// within the ranges of the index. With `probe`, rows chosen by data are unknown dimensions and
  /// no code is emitted.
  mlir::FailureOr<llvm::SmallVector<ElementSource>>
  getSources(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index, bool probe);

  /// Whether the elements over the range of `dim` lie on both sides of a boundary, wherever in the
  /// row: what getSegments cuts at, or what each element must decide.
  bool crossesBoundary(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> index,
                       mlir::AffineExpr dim);

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
  /// What isOfNarrow has said.
  llvm::DenseMap<mlir::Value, bool> narrow;
  /// Values with a row buffer, and its memory once there is one.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// The counter of the reduction loop being emitted, and the buffers filled in it.
  mlir::AffineExpr reductionDim;
  int64_t reductionExtent = 0;
  std::map<Key, unsigned> *filled = nullptr;
};

} // namespace sinter
