//===- ScatterKernel.cpp - Adding rows where data say -----------------------===//
//
// Every work item goes over all tokens in their order, so that the bits do not depend on how many
// threads there are. Without memory to add to, an item owns a range of the table's rows: it writes
// their first values, which is nearly all of the work, and adds the tokens that fall into the
// range. In place, only the tokens' rows are touched; since most tokens are of few ids, an item
// then owns a range of columns and all items have the same work.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter;

/// Work items that a table is cut into, and what is not cut further: columns, bytes of rows.
static constexpr int64_t kItems = 64, kColumns = 64, kRangeBytes = 64 * 1024;

namespace {
class ScatterGenerator {
public:
  ScatterGenerator(EmbeddingGradOp op, func::FuncOp loops)
      : op(op), builder(loops.getBody().front().getTerminator()), loc(op.getLoc()),
        begin(loops.getArgument(loops.getNumArguments() - 2)),
        end(loops.getArgument(loops.getNumArguments() - 1)), rows(op.getType().getDimSize(0)),
        width(op.getType().getDimSize(1)) {
    auto kernel = op->getParentOfType<func::FuncOp>();
    for (BlockArgument argument : kernel.getArguments())
      memories[argument] = loops.getArgument(argument.getArgNumber());
    result = loops.getArgument(kernel.getNumArguments());
  }

  int64_t run() { return isa_and_nonnull<BlockArgument>(op.getInto()) ? addColumns() : addRows(); }

private:
  /// An element of an operand, which is in memory or a constant of one value.
  Value emitElement(Value operand, Value offset) {
    if (Value memory = memories.lookup(operand))
      return memref::LoadOp::create(builder, loc, memory, offset);
    auto constant = operand.getDefiningOp<ConstantOp>();
    return arith::ConstantOp::create(
        builder, loc, cast<DenseElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>());
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value mul(Value a, int64_t b) { return arith::MulIOp::create(builder, loc, a, index(b)); }

  template <typename Body> void emitLoop(Value lower, Value upper, Body body) {
    auto loop = scf::ForOp::create(builder, loc, lower, upper, index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar());
  }

  /// Items are ranges of rows.
  int64_t addRows() {
    int64_t bytes = width * op.getType().getElementTypeBitWidth() / 8;
    int64_t range = std::max(llvm::divideCeil(rows, kItems), llvm::divideCeil(kRangeBytes, bytes));
    emitLoop(begin, end, [&](Value item) {
      Value first = mul(item, range);
      Value last = arith::MinUIOp::create(builder, loc, add(first, index(range)), index(rows));
      emitLoop(first, last, [&](Value row) {
        Value start = mul(row, width);
        Value first = op.getInto()
                          ? emitElement(op.getInto(), start)
                          : Value(arith::ConstantOp::create(
                                builder, loc, builder.getZeroAttr(op.getType().getElementType())));
        emitLoop(index(0), index(width), [&](Value column) {
          memref::StoreOp::create(builder, loc, first, result, add(start, column));
        });
      });
      emitLoop(index(0), index(op.getIds().getType().getNumElements()), [&](Value token) {
        Value row = emitRow(token);
        emitIf(isWithin(row, first, last),
               [&] { emitUnlessPadding(token, [&] { emitAdd(token, row, index(0), width); }); });
      });
    });
    return llvm::divideCeil(rows, range);
  }

  /// Items are ranges of columns.
  int64_t addColumns() {
    int64_t parts = 1;
    for (int64_t next = 2; next <= kItems && width / next >= kColumns; ++next)
      if (width % (next * 16) == 0)
        parts = next;
    emitLoop(begin, end, [&](Value item) {
      Value first = mul(item, width / parts);
      emitLoop(index(0), index(op.getIds().getType().getNumElements()), [&](Value token) {
        Value row = emitRow(token);
        auto addToken = [&] {
          emitUnlessPadding(token, [&] { emitAdd(token, row, first, width / parts); });
        };
        op.getStart() ? emitIf(isWithin(row, index(0), index(rows)), addToken) : addToken();
      });
    });
    return parts;
  }

  template <typename Body> void emitUnlessPadding(Value token, Body body) {
    if (!op.getPadding())
      return body();
    Value id = emitElement(op.getIds(), token);
    Value padding = arith::ConstantOp::create(
        builder, loc,
        builder.getI32IntegerAttr(static_cast<int32_t>(static_cast<int64_t>(*op.getPadding()))));
    emitIf(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, id, padding), body);
  }

  template <typename Body> void emitIf(Value condition, Body body) {
    auto guarded = scf::IfOp::create(builder, loc, condition);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(guarded.thenYield());
    body();
  }

  Value isWithin(Value row, Value first, Value last) {
    Value isAfter = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, row, first);
    Value isBefore = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, last);
    return arith::AndIOp::create(builder, loc, isAfter, isBefore);
  }

  /// The row of the table that a token read; of a part of a table it may be outside.
  Value emitRow(Value token) {
    Value id = emitElement(op.getIds(), token);
    id = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), id);
    if (op.getStart()) {
      Value start = emitElement(op.getStart(), index(0));
      start = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), start);
      return arith::SubIOp::create(builder, loc, id, start);
    }
    id = arith::MaxSIOp::create(builder, loc, id, index(0));
    return arith::MinSIOp::create(builder, loc, id, index(rows - 1));
  }

  /// Adds `extent` columns of a token's gradient, from the column `first` on.
  void emitAdd(Value token, Value row, Value first, int64_t extent) {
    Value source = add(mul(token, width), first), target = add(mul(row, width), first);
    emitLoop(index(0), index(extent), [&](Value column) {
      Value place = add(target, column);
      Value part = emitElement(op.getGradient(), add(source, column));
      Value sum = memref::LoadOp::create(builder, loc, result, place);
      int64_t from = part.getType().getIntOrFloatBitWidth(),
              to = sum.getType().getIntOrFloatBitWidth();
      if (from < to)
        part = arith::ExtFOp::create(builder, loc, sum.getType(), part);
      else if (from > to)
        part = arith::TruncFOp::create(builder, loc, sum.getType(), part);
      memref::StoreOp::create(builder, loc, arith::AddFOp::create(builder, loc, sum, part), result,
                              place);
    });
  }

  EmbeddingGradOp op;
  OpBuilder builder;
  Location loc;
  Value begin, end;
  int64_t rows, width;
  llvm::DenseMap<Value, Value> memories;
  Value result;
};
} // namespace

FailureOr<int64_t> sinter::lowerScatterKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel) {
  Block &block = tensorKernel.front();
  auto op = *block.getOps<EmbeddingGradOp>().begin();
  auto isInput = [&](Operation &other) { return &other == op || isa<ConstantOp>(other); };
  if (!llvm::all_of(block.without_terminator(), isInput))
    return tensorKernel.emitError("expected an embedding_grad to be alone in its kernel");
  return ScatterGenerator(op, loopKernel).run();
}
