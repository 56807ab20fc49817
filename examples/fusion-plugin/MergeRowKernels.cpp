//===- MergeRowKernels.cpp - A kernel runs inside the one that reads it -----===//

#include "Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <optional>

namespace example {
#define GEN_PASS_DEF_MERGEROWKERNELSPASS
#include "Passes.h.inc"
} // namespace example

using namespace mlir;
using sinter::CallKernelOp;
using sinter::FusionRole;

namespace {

/// Which kernels run, and where the operands of each come from: input i of the merged kernel is i,
/// result i of the producer is -1 - i. Equal wirings share one merged kernel.
struct Wiring {
  StringRef producer, consumer;
  SmallVector<int64_t> producerOperands, consumerOperands;

  bool operator<(const Wiring &other) const {
    return std::tie(producer, consumer, producerOperands, consumerOperands) <
           std::tie(other.producer, other.consumer, other.producerOperands, other.consumerOperands);
  }
};

struct MergeRowKernelsPass : example::impl::MergeRowKernelsPassBase<MergeRowKernelsPass> {
  void runOnOperation() override;

private:
  func::FuncOp lookup(CallKernelOp call);

  /// Why the kernel cannot be part of a merged one, or nothing.
  std::optional<std::string> findObstacle(func::FuncOp kernel);

  /// Why `producer` cannot go into `consumer`, or nothing.
  std::optional<std::string> findObstacle(CallKernelOp producer, CallKernelOp consumer);

  /// The kernel that does what both do, made when first asked for.
  func::FuncOp getMergedKernel(CallKernelOp consumer, const Wiring &wiring, TypeRange inputs);

  /// Replaces both calls by one; returns it.
  CallKernelOp merge(CallKernelOp producer, CallKernelOp consumer);

  std::map<Wiring, func::FuncOp> merged;
  std::optional<SymbolTable> symbols;
};

func::FuncOp MergeRowKernelsPass::lookup(CallKernelOp call) {
  return symbols->lookup<func::FuncOp>(call.getKernel());
}

std::optional<std::string> MergeRowKernelsPass::findObstacle(func::FuncOp kernel) {
  auto kind = kernel->getAttrOfType<StringAttr>(sinter::SinterDialect::kKernel);
  if (!kind || kind.getValue() != "rows")
    return "@" + kernel.getName().str() + " is not a rows kernel";
  for (Operation &op : kernel.front().without_terminator()) {
    FusionRole role = cast<sinter::FusibleOpInterface>(op).getFusionRole();
    if (role == FusionRole::Elementwise || role == FusionRole::RowReduction)
      continue;
    // Moving an input around is address arithmetic; moving what was just computed would need
    // other rows than the one at hand.
    auto isInput = [](Value value) { return !value.getDefiningOp(); };
    if (role == FusionRole::Index && llvm::all_of(op.getOperands(), isInput))
      continue;
    return "@" + kernel.getName().str() + " contains " + op.getName().getStringRef().str();
  }
  return std::nullopt;
}

std::optional<std::string> MergeRowKernelsPass::findObstacle(CallKernelOp producer,
                                                             CallKernelOp consumer) {
  for (CallKernelOp call : {producer, consumer})
    if (std::optional<std::string> obstacle = findObstacle(lookup(call)))
      return obstacle;
  for (Operation *user : producer->getUsers())
    if (user != consumer)
      return "what @" + producer.getKernel().str() + " computes is needed elsewhere too";
  std::optional<ArrayRef<int64_t>> rows;
  for (CallKernelOp call : {producer, consumer})
    for (Type type : call->getResultTypes()) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
      if (shape.empty())
        return "a result is a single number, which has no rows";
      if (rows.value_or(shape.drop_back()) != shape.drop_back())
        return "the kernels work on different rows";
      rows = shape.drop_back();
    }
  return std::nullopt;
}

func::FuncOp MergeRowKernelsPass::getMergedKernel(CallKernelOp consumer, const Wiring &wiring,
                                                  TypeRange inputs) {
  func::FuncOp &kernel = merged[wiring];
  if (kernel)
    return kernel;
  auto first = symbols->lookup<func::FuncOp>(wiring.producer);
  auto second = symbols->lookup<func::FuncOp>(wiring.consumer);
  OpBuilder builder(second);
  kernel = func::FuncOp::create(builder, second.getLoc(), "merged_rows",
                                builder.getFunctionType(inputs, consumer->getResultTypes()));
  kernel.setPrivate();
  kernel->setAttr(sinter::SinterDialect::kKernel, builder.getStringAttr("rows"));
  symbols->insert(kernel); // makes the name unique

  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping map;
  for (auto [argument, source] : llvm::zip(first.getArguments(), wiring.producerOperands))
    map.map(argument, body->getArgument(source));
  for (Operation &op : first.front().without_terminator())
    builder.clone(op, map);
  Operation *produced = first.front().getTerminator();
  for (auto [argument, source] : llvm::zip(second.getArguments(), wiring.consumerOperands))
    map.map(argument, source >= 0 ? body->getArgument(source)
                                  : map.lookupOrDefault(produced->getOperand(-1 - source)));
  for (Operation &op : second.front())
    builder.clone(op, map);
  return kernel;
}

CallKernelOp MergeRowKernelsPass::merge(CallKernelOp producer, CallKernelOp consumer) {
  Wiring wiring{lookup(producer).getName(), lookup(consumer).getName(), {}, {}};
  llvm::SetVector<Value> inputs;
  auto getInput = [&](Value value) -> int64_t {
    inputs.insert(value);
    return llvm::find(inputs, value) - inputs.begin();
  };
  for (Value operand : producer->getOperands())
    wiring.producerOperands.push_back(getInput(operand));
  for (Value operand : consumer->getOperands()) {
    bool isProduced = operand.getDefiningOp() == producer;
    wiring.consumerOperands.push_back(
        isProduced ? -1 - int64_t(cast<OpResult>(operand).getResultNumber()) : getInput(operand));
  }

  SmallVector<Value> values = inputs.takeVector();
  func::FuncOp kernel = getMergedKernel(consumer, wiring, ValueRange(values).getTypes());
  remark::passed(consumer.getLoc(),
                 remark::RemarkOpts::name("MergeRowKernels").category("example-merge-row-kernels"))
      << ("@" + wiring.producer + " runs inside @" + wiring.consumer).str();

  OpBuilder builder(consumer);
  auto call = CallKernelOp::create(builder, consumer.getLoc(), consumer->getResultTypes(),
                                   kernel.getName(), values);
  consumer->replaceAllUsesWith(call);
  consumer->erase();
  producer->erase();
  ++numMerged;
  return call;
}

void MergeRowKernelsPass::runOnOperation() {
  merged.clear();
  symbols.emplace(getOperation());
  SmallVector<CallKernelOp> calls;
  getOperation().walk([&](CallKernelOp call) { calls.push_back(call); });

  // In the order of the program, so that what a call has taken in goes along when the call itself
  // is taken in. A producer stands before its consumer: it is never met again once merged.
  for (CallKernelOp call : calls) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (Value operand : call->getOperands()) {
        auto producer = operand.getDefiningOp<CallKernelOp>();
        if (!producer)
          continue;
        if (std::optional<std::string> obstacle = findObstacle(producer, call)) {
          remark::missed(
              call.getLoc(),
              remark::RemarkOpts::name("MergeRowKernels").category("example-merge-row-kernels"))
              << *obstacle;
          continue;
        }
        call = merge(producer, call);
        changed = true;
        break;
      }
    }
  }

  SmallVector<func::FuncOp> unused;
  for (auto kernel : getOperation().getOps<func::FuncOp>())
    if (kernel->hasAttr(sinter::SinterDialect::kKernel) &&
        SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
      unused.push_back(kernel);
  for (func::FuncOp kernel : unused)
    symbols->erase(kernel);
}

} // namespace
