#include "compiler/Analysis/EntryEditor.h"
#include "compiler/Analysis/OpOrder.h"
#include "compiler/Autodiff/Gradients.h"
#include "compiler/Autodiff/Passes.h"
#include "dialects/Sinter/AdjointBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "compiler/Autodiff/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct DifferentiatePass : sinter::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->removeAttr(SinterDialect::kDifferentiate) && failed(differentiate(function)))
        return signalPassFailure();
  }

private:
  LogicalResult differentiate(func::FuncOp function) {
    FailureOr<unsigned> loss = findLoss(function);
    if (failed(loss))
      return failure();
    SmallVector<BlockArgument> parameters, trained;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), SinterDialect::kParameter)) {
        if (!isa<FloatType>(getElementTypeOrSelf(argument.getType())))
          return function.emitError("expected parameters of floating-point numbers, got ")
                 << argument.getType();
        parameters.push_back(argument);
        if (!function.getArgAttr(argument.getArgNumber(), SinterDialect::kFixed))
          trained.push_back(argument);
      }

    Block &block = function.front();
    Gradients gradients(block, trained);
    Value lossValue = block.getTerminator()->getOperand(*loss);
    gradients.add(lossValue, makeSeed(function, lossValue));
    if (failed(gradients.run()))
      return failure();
    addResults(function, gradients, parameters);
    // Adjoints may have put what the forward pass uses behind it. Only outputs do: a loss is there
    // when the last block of rows is, and that must not make all blocks wait for each other.
    orderByAvailability(block);
    eraseDeadOps(block);
    return success();
  }

  /// The result that is minimized: the output `loss`.
  FailureOr<unsigned> findLoss(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, SinterDialect::kOutput))
        if (name.getValue() == "loss") {
          auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
          if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
            return function.emitError("expected the loss to be one number, got ")
                   << function.getResultTypes()[i];
          return i;
        }
    return function.emitError("expected a function to differentiate to have an output 'loss'");
  }

  /// The gradient of the loss by itself: the input `loss_scale` where there is one, else 1.
  Value makeSeed(func::FuncOp function, Value loss) {
    if (BlockArgument scale = findInput(function, kLossScale))
      return scale;
    OpBuilder builder(function.front().getTerminator());
    return ConstantOp::create(builder, loss.getLoc(), cast<RankedTensorType>(loss.getType()), 1.0);
  }

  /// Adds a result `sinter.gradient` a parameter; zeros for one that the loss does not depend on,
  /// or that is fixed.
  void addResults(func::FuncOp function, Gradients &gradients, ArrayRef<BlockArgument> parameters) {
    Operation *end = function.front().getTerminator();
    for (BlockArgument parameter : parameters) {
      Value gradient = gradients.getGradient(parameter);
      if (!gradient)
        gradient = ConstantOp::create(gradients.getBuilder(), parameter.getLoc(),
                                      cast<RankedTensorType>(parameter.getType()), 0.0);
      end->insertOperands(end->getNumOperands(), gradient);
    }
    SmallVector<DictionaryAttr> attributes;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      attributes.push_back(function.getResultAttrDict(i));
    auto key = StringAttr::get(&getContext(), SinterDialect::kGradient);
    for (BlockArgument parameter : parameters)
      attributes.push_back(DictionaryAttr::get(
          &getContext(), NamedAttribute(key, function.getArgAttr(parameter.getArgNumber(),
                                                                 SinterDialect::kParameter))));
    function.setType(
        FunctionType::get(&getContext(), function.getArgumentTypes(), end->getOperandTypes()));
    function.setAllResultAttrs(attributes);
  }
};
} // namespace
