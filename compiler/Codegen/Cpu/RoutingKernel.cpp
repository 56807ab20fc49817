//===- RoutingKernel.cpp - Choosing experts, and their order ----------------===//
//
// A top_k's row is searched k times. Of an element a key is compared, a whole number with the
// element's place in the order of numbers above and its place in the row below: no two are equal,
// and the next one is the largest that is less than the one before. A row is one work item.
//
// A route counts, adds up and places, in one work item: it is a few instructions an assignment.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace sinter;

namespace {
/// What both kernels are written in.
class RoutingEmitter {
public:
  RoutingEmitter(Operation *op, func::FuncOp loopKernel, TargetAttr target)
      : builder(loopKernel, target), begin(loopKernel.getArguments().drop_back().back()),
        end(loopKernel.getArguments().back()), arguments(loopKernel.getArguments()),
        tensorKernel(op->getParentOfType<func::FuncOp>()) {}

protected:
  Value getOperand(Value operand) { return arguments[cast<BlockArgument>(operand).getArgNumber()]; }
  /// The memory of a result, or null where nobody needs it.
  Value getResult(Value result) {
    OperandRange returned = tensorKernel.front().getTerminator()->getOperands();
    auto found = llvm::find(returned, result);
    size_t place = tensorKernel.getNumArguments() + (found - returned.begin());
    return found == returned.end() ? Value() : arguments[place];
  }
  Value load(Value memory, Value at) { return memref::LoadOp::create(builder, memory, at); }
  void store(Value number, Value memory, Value at) {
    if (memory)
      memref::StoreOp::create(builder, number, memory, at);
  }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }
  Value i64(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(builder, builder.getI32Type(), index);
  }
  Value toIndex(Value number) {
    return arith::IndexCastOp::create(builder, builder.getIndexType(), number);
  }

  VectorBuilder builder;
  Value begin, end;

private:
  ValueRange arguments;
  func::FuncOp tensorKernel;
};

class TopKEmitter : RoutingEmitter {
public:
  TopKEmitter(TopKOp op, func::FuncOp loopKernel, TargetAttr target)
      : RoutingEmitter(op, loopKernel, target), op(op), operand(getOperand(op.getOperand())),
        values(getResult(op.getValues())), indices(getResult(op.getIndices())),
        width(op.getOperand().getType().getShape().back()),
        k(op.getValues().getType().getShape().back()) {}

  int64_t emit() {
    builder.loop(begin, end, 1, [&](Value row) {
      Value first = builder.mul(row, width);
      Value all = i64(std::numeric_limits<int64_t>::max());
      builder.loop(builder.index(0), builder.index(k), 1, {all}, [&](Value j, ValueRange before) {
        Value none = i64(std::numeric_limits<int64_t>::min());
        Value found = builder
                          .loop(builder.index(0), builder.index(width), 1, {none},
                                [&](Value i, ValueRange largest) -> SmallVector<Value> {
                                  Value key = emitKey(builder.add(first, i), i);
                                  Value isLess = arith::CmpIOp::create(
                                      builder, arith::CmpIPredicate::slt, key, before[0]);
                                  key = arith::SelectOp::create(builder, isLess, key, none);
                                  return {arith::MaxSIOp::create(builder, key, largest[0])};
                                })
                          .front();
        Value place = arith::TruncIOp::create(builder, builder.getI32Type(), found);
        place = arith::SubIOp::create(builder, i32(static_cast<int32_t>(width - 1)), place);
        Value to = builder.add(builder.mul(row, k), j);
        store(place, indices, to);
        store(load(operand, builder.add(first, toIndex(place))), values, to);
        return SmallVector<Value>{found};
      });
    });
    return op.getValues().getType().getNumElements() / k;
  }

private:
  /// The key of element `i` of a row. Numbers are ordered as integers are once those with a sign
  /// have their other bits turned; adding zero makes one of both zeros; NaN is below all.
  Value emitKey(Value at, Value i) {
    Value x = builder.loadScalar(operand, at);
    Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
    x = arith::AddFOp::create(builder, x, zero);
    Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), x);
    Value sign = arith::ShRSIOp::create(builder, bits, i32(31));
    Value turned = arith::AndIOp::create(builder, sign, i32(0x7fffffff));
    bits = arith::XOrIOp::create(builder, bits, turned);
    Value isNumber = arith::CmpFOp::create(builder, arith::CmpFPredicate::ORD, x, x);
    bits = arith::SelectOp::create(builder, isNumber, bits,
                                   i32(std::numeric_limits<int32_t>::min() + 1));
    Value key = arith::ExtSIOp::create(builder, builder.getI64Type(), bits);
    key = arith::ShLIOp::create(builder, key, i64(32));
    Value place = builder.sub(builder.index(width - 1), i);
    return arith::OrIOp::create(builder, key,
                                arith::IndexCastOp::create(builder, builder.getI64Type(), place));
  }

  TopKOp op;
  Value operand, values, indices;
  int64_t width, k;
};

class RouteEmitter : RoutingEmitter {
public:
  RouteEmitter(RouteOp op, func::FuncOp loopKernel, TargetAttr target)
      : RoutingEmitter(op, loopKernel, target), op(op), ids(getOperand(op.getIds())),
        count(op.getIds().getType().getNumElements()), k(op.getIds().getType().getDimSize(1)),
        experts(op.getOffsets().getType().getDimSize(0) - 1),
        next(builder.scratch(experts, builder.getI32Type())) {}

  int64_t emit() {
    Value order = getResult(op.getOrder()), tokens = getResult(op.getTokens()),
          places = getResult(op.getPlaces()), offsets = getResult(op.getOffsets());
    builder.loop(begin, end, 1, [&](Value) {
      forEach(experts, [&](Value expert) { store(i32(0), next, expert); });
      forEach(count, [&](Value i) {
        Value expert = loadExpert(i);
        store(increment(load(next, expert)), next, expert);
      });
      // How many an expert has becomes where its rows begin.
      store(i32(0), offsets, builder.index(0));
      builder.loop(builder.index(0), builder.index(experts), 1, {i32(0)},
                   [&](Value expert, ValueRange first) {
                     Value last = arith::AddIOp::create(builder, first[0], load(next, expert));
                     store(last, offsets, builder.add(expert, 1));
                     store(first[0], next, expert);
                     return SmallVector<Value>{last};
                   });
      forEach(count, [&](Value i) {
        Value expert = loadExpert(i), row = load(next, expert);
        store(increment(row), next, expert);
        store(row, places, i);
        store(toI32(i), order, toIndex(row));
        store(toI32(builder.div(i, k)), tokens, toIndex(row));
      });
    });
    return 1;
  }

private:
  void forEach(int64_t extent, llvm::function_ref<void(Value)> body) {
    builder.loop(builder.index(0), builder.index(extent), 1, body);
  }
  Value increment(Value number) { return arith::AddIOp::create(builder, number, i32(1)); }

  /// The expert of an assignment, or the nearest one.
  Value loadExpert(Value i) {
    Value expert = arith::MaxSIOp::create(builder, load(ids, i), i32(0));
    return toIndex(arith::MinSIOp::create(builder, expert, i32(static_cast<int32_t>(experts - 1))));
  }

  RouteOp op;
  Value ids;
  int64_t count, k, experts;
  Value next; ///< how many rows an expert has, then where its next one goes
};
} // namespace

FailureOr<int64_t> sinter::lowerRoutingKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                              const TargetAttr &target) {
  if (!llvm::hasSingleElement(tensorKernel.front().without_terminator()))
    return tensorKernel.emitError("expected a choice of experts to be alone in its kernel");
  Operation *op = &tensorKernel.front().front();
  if (auto route = dyn_cast<RouteOp>(op))
    return RouteEmitter(route, loopKernel, target).emit();
  auto choice = cast<TopKOp>(op);
  if (choice.getOperand().getType().getElementTypeBitWidth() > 32)
    return choice.emitError("expected numbers of at most 32 bits, got ")
           << choice.getOperand().getType();
  return TopKEmitter(choice, loopKernel, target).emit();
}
