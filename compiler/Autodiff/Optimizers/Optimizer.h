//===- Optimizer.h - How parameters are updated -----------------*- C++ -*-===//
//
// An optimizer says what state it keeps for a parameter and builds the ops of one update of it. It
// sees one parameter at a time; what all of them share, the scale of the gradients and the inputs
// of a step, it asks the UpdateBuilder for. A new optimizer is a file in this folder and a line in
// createOptimizer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Autodiff/OptimizerOptions.h"
#include "dialects/Sinter/SinterDialect.h"
#include <memory>
#include <string>

namespace sinter {

/// The options that all optimizers choose from.
struct Hyperparameters : OptimizerOptions {
  mlir::Type stateElement; ///< the type that stateType names

  mlir::RankedTensorType getStateType(mlir::RankedTensorType parameter) const {
    return parameter.clone(stateElement);
  }
};

/// What an optimizer knows of a parameter.
struct Parameter {
  llvm::StringRef name;
  mlir::RankedTensorType type;
  bool decays = false;  ///< weight decay applies
  bool isTable = false; ///< an embedding or the head: rows or columns stand for tokens or positions
};

/// Memory that an optimizer keeps from step to step, zero at first.
struct OptimizerState {
  std::string name;
  mlir::RankedTensorType type;
};

/// What an update makes of a parameter and its state.
struct Update {
  mlir::Value parameter;
  llvm::SmallVector<mlir::Value> states;
  /// Zeros in the gradient's place, if the update makes them on the way.
  mlir::Value cleared;
};

/// Builds the ops of updates.
class UpdateBuilder {
public:
  /// @param scale what gradients are multiplied by; updates change nothing where it is not finite.
  /// @param clears whether gradients are to be zeros afterwards.
  UpdateBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale, bool clears,
                llvm::function_ref<mlir::Value(llvm::StringRef, mlir::RankedTensorType)> getInput)
      : builder(builder), loc(loc), scale(scale), clears(clears), inputOf(getInput) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return loc; }
  mlir::Value getScale() { return scale; }
  bool clearsGradients() { return clears; }

  /// A number that the caller sets before each step; the program has those that were asked for.
  mlir::Value getInput(llvm::StringRef name) { return inputOf(name, nullptr); }
  /// The seed of a step's random numbers, and a tag that stands for a parameter: what
  /// sinter.stochastic_round takes.
  mlir::Value getSeed();
  mlir::Value getTag(const Parameter &parameter);

  // Elementwise; operands of one shape.
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value maximum(mlir::Value a, mlir::Value b) { return binary<MaximumOp>(a, b); }
  mlir::Value minimum(mlir::Value a, mlir::Value b) { return binary<MinimumOp>(a, b); }
  template <typename Op> mlir::Value unary(mlir::Value x) {
    return Op::create(builder, loc, x.getType(), x);
  }

  /// In another element type, rounded to nearest even; itself where it has that.
  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// A number everywhere in a tensor like `like`.
  mlir::Value constant(mlir::Value like, double number);
  /// factor * x.
  mlir::Value scaled(double factor, mlir::Value x) { return mul(x, constant(x, factor)); }
  /// x + number.
  mlir::Value shifted(mlir::Value x, double number) { return add(x, constant(x, number)); }
  /// from + weight * (to - from).
  mlir::Value lerp(mlir::Value from, mlir::Value to, double weight) {
    return add(from, scaled(weight, sub(to, from)));
  }
  /// A scalar, or a tensor along the dimensions `dims`, in the shape of `like`.
  mlir::Value spread(mlir::Value value, mlir::Value like, llvm::ArrayRef<int64_t> dims = {});
  /// The gradient, clipped and unscaled.
  mlir::Value scaleGradient(mlir::Value gradient) { return mul(gradient, spread(scale, gradient)); }
  /// `next` where the scale is finite, `before` where it is not.
  mlir::Value guard(mlir::Value next, mlir::Value before);

  mlir::Value reduce(mlir::Value rows, ReductionKind kind);
  /// The sum of all elements, in two stages: rows, then their sums.
  mlir::Value sum(mlir::Value x);
  /// The sum of all squares, as a scalar.
  mlir::Value sumSquares(mlir::Value x);
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, bool transposeLhs = false,
                     bool transposeRhs = false);

private:
  template <typename Op> mlir::Value binary(mlir::Value a, mlir::Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value scale;
  bool clears;
  llvm::function_ref<mlir::Value(llvm::StringRef, mlir::RankedTensorType)> inputOf;
};

/// One way to update parameters.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  virtual llvm::SmallVector<OptimizerState> getStates(const Parameter &parameter) const = 0;

  /// Builds one update. @param states those of getStates, in order.
  virtual Update build(UpdateBuilder &builder, const Parameter &parameter, mlir::Value value,
                       mlir::Value gradient, mlir::ValueRange states) const = 0;
};

std::unique_ptr<Optimizer> createAdafactor(const Hyperparameters &numbers);
/// @param rate the input that it takes its learning rate from.
std::unique_ptr<Optimizer> createAdamW(const Hyperparameters &numbers,
                                       llvm::StringRef rate = "learning_rate");
std::unique_ptr<Optimizer> createMuon(const Hyperparameters &numbers);
std::unique_ptr<Optimizer> createSgd(const Hyperparameters &numbers);

/// The optimizer that the options name.
/// @pre they were checked
std::unique_ptr<Optimizer> createOptimizer(const Hyperparameters &numbers);

} // namespace sinter
