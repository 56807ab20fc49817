//===- GraphBuilder.h - Writing graphs in C++ -------------------*- C++ -*-===//
//
// A thin layer over the dialect's builders that infers result types, so that a frontend reads like
// the formulas that it builds. Entry functions grow their arguments as they are asked for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Initializer.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace sinter {

using Shape = llvm::ArrayRef<int64_t>;

/// Builds one entry function of a module.
class GraphBuilder {
public:
  /// Begins the entry `name` at the end of `module`.
  GraphBuilder(mlir::ModuleOp module, llvm::StringRef name);

  /// Completes the function: returns the outputs and states that were set.
  void finish();

  mlir::func::FuncOp getFunction() { return function; }
  mlir::MLIRContext *getContext() { return builder.getContext(); }

  /// Names the part of the model that the following ops belong to ("model.layers.3.mlp.up_proj").
  void setLocation(llvm::StringRef name);

  mlir::Type getF32() { return builder.getF32Type(); }

  //===--------------------------------------------------------------------===//
  // Arguments and results
  //===--------------------------------------------------------------------===//

  /// The tensor that a caller sets before each step, of i32 by default.
  mlir::Value getInput(llvm::StringRef name, Shape shape, mlir::Type elementType = nullptr);
  /// A tensor of the checkpoint; asking twice gives the same value.
  /// @param initializer how it begins without a checkpoint; none: as the dialect says.
  /// @param values the only numbers that it has, of bytes; none: any
  /// @param isFixed training leaves it as it is
  mlir::Value getParameter(llvm::StringRef name, Shape shape, mlir::Type elementType,
                           std::optional<Initializer> initializer = std::nullopt,
                           llvm::ArrayRef<int8_t> values = {}, bool isFixed = false);
  /// The value of a state before the step.
  mlir::Value getState(llvm::StringRef name, Shape shape, mlir::Type elementType, Role role);
  /// Sets what a state becomes; each state that was asked for needs a new value.
  void setState(llvm::StringRef name, mlir::Value value);
  /// Adds a result that callers read.
  void addOutput(llvm::StringRef name, mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Ops; operands of a binary one have one shape
  //===--------------------------------------------------------------------===//

  mlir::Value constant(Shape shape, llvm::ArrayRef<float> values);
  mlir::Value splat(Shape shape, double value);
  /// An elementwise op with one operand and no attributes.
  template <typename Op> mlir::Value unary(mlir::Value x) {
    return Op::create(builder, location, x.getType(), x);
  }
  /// An elementwise op with two operands and no attributes.
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, location, lhs.getType(), lhs, rhs);
  }
  /// `value` where `test` is finite, else `otherwise`.
  mlir::Value whereFinite(mlir::Value test, mlir::Value value, mlir::Value otherwise);
  /// Of each row of `[rows, columns]`.
  mlir::Value softmax(mlir::Value rows);
  mlir::Value gelu(mlir::Value x, bool tanh);
  mlir::Value softcap(mlir::Value x, double cap);
  /// log(1 + e^x), where nothing overflows.
  mlir::Value softplus(mlir::Value x);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  /// A tensor along new dimensions; dimension j becomes `dims[j]`.
  mlir::Value broadcast(mlir::Value x, Shape shape, llvm::ArrayRef<int64_t> dims);
  /// Combines the last dimension.
  mlir::Value reduce(mlir::Value x, ReductionKind kind);
  /// The sum of a vector's elements, a number.
  mlir::Value sum(mlir::Value vector) { return reduce(vector, ReductionKind::Sum); }
  /// x * factor.
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  /// Adds a vector `[d]` to every row of `[..., d]`.
  mlir::Value addToRows(mlir::Value rows, mlir::Value vector);
  mlir::Value reshape(mlir::Value x, Shape shape);
  mlir::Value slice(mlir::Value x, Shape offsets, Shape sizes);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, int64_t dim);
  /// lhs . rhs, with either transposed (lhs is a matrix then).
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, bool transposeRhs,
                     bool transposeLhs = false);
  /// lhs by the transpose of numbers of 8 or 4 bits `[n, k]` with scales, and minima or null,
  /// `[n, k / group]`.
  /// @param roundsRows lhs is rounded row by row, to i8 or the numbers' e4m3.
  mlir::Value scaledMatmul(mlir::Value lhs, mlir::Value numbers, mlir::Value scales,
                           mlir::Value minima, bool roundsRows);
  /// @param padding the row that is not trained, if there is one.
  mlir::Value embedding(mlir::Value table, mlir::Value ids,
                        std::optional<int64_t> padding = std::nullopt);
  /// Inverted dropout; `stream` keeps the dropouts of one step apart.
  mlir::Value dropout(mlir::Value x, mlir::Value seed, double probability, int64_t stream);
  /// 1 where j is ids[...], else 0, for j below `classes`.
  mlir::Value oneHot(mlir::Value ids, int64_t classes);
  /// The k largest elements of each row and where they are.
  std::pair<mlir::Value, mlir::Value> topK(mlir::Value rows, int64_t k);
  /// Tokens in the order of `experts` experts, of which ids `[t, k]` are those of each (RouteOp).
  RouteOp route(mlir::Value ids, int64_t experts);
  mlir::Value dispatch(mlir::Value rows, RouteOp route);
  mlir::Value combine(mlir::Value rows, RouteOp route, mlir::Value weights);
  /// Rows of each expert by its matrix, of `[experts, k, n]`, or of `[experts, n, k]` transposed,
  /// which are integers where there are scales.
  mlir::Value groupedMatmul(mlir::Value rows, mlir::Value matrices, RouteOp route,
                            bool transposeRhs, mlir::Value scales = {}, mlir::Value minima = {});
  /// Equal parts of the rows `[g * m, k]`, each by a matrix of its own, of `[g, k, n]`, or of
  /// `[g, n, k]` transposed.
  mlir::Value batchMatmul(mlir::Value rows, mlir::Value matrices, bool transposeRhs);
  mlir::Value positions(mlir::Value start, int64_t count);
  mlir::Value lastRow(mlir::Value rows, mlir::Value count);
  /// What tokens are drawn by, a value a row (SampleOp).
  struct Sampling {
    mlir::Value temperature, topK, topP, minP; ///< [b]
    mlir::Value seed;                          ///< [b, 2]
    mlir::Value start, count;                  ///< [b]
  };
  mlir::Value sample(mlir::Value logits, const Sampling &options);
  mlir::Value rmsNorm(mlir::Value x, mlir::Value weight, double eps);
  mlir::Value layerNorm(mlir::Value x, mlir::Value weight, mlir::Value bias, double eps);
  mlir::Value rotary(mlir::Value x, mlir::Value cos, mlir::Value sin, mlir::Value start,
                     bool interleaved);
  mlir::Value cacheAppend(mlir::Value cache, mlir::Value rows, mlir::Value start,
                          mlir::Value count);

  /// What an attention does beyond softmax(scale q.k).v; it is causal.
  struct Attention {
    double scale = 1;
    int64_t window = 0;      ///< 0: none
    double softcap = 0;      ///< 0: none
    mlir::Value alibiSlopes; ///< or null
    mlir::Value sinks;       ///< f32 [h], or null: a score that takes a part of the weights
    mlir::Value first;       ///< the first key that a query may see, [b, t], or null
    double dropout = 0;      ///< probability that a weight is dropped
    mlir::Value seed;        ///< of dropout, or null
    int64_t stream = 0;      ///< keeps its random numbers apart from others'
  };
  /// @param start null where queries and keys are the same positions.
  mlir::Value attention(mlir::Value query, mlir::Value key, mlir::Value value, mlir::Value start,
                        const Attention &options);

  /// @param state, start, count null where sequences are whole (LinearAttentionOp)
  LinearAttentionOp linearAttention(mlir::Value query, mlir::Value key, mlir::Value value,
                                    mlir::Value decay, mlir::Value beta, double scale,
                                    mlir::Value state, mlir::Value start, mlir::Value count,
                                    bool additive = false);

  /// What a cross-entropy does beyond -log softmax(hidden . weight)[target].
  struct CrossEntropy {
    bool transposeWeight = false;
    mlir::Value bias;   ///< or null
    double softcap = 0; ///< 0: none
    double zLoss = 0;
    int64_t chunk = 1; ///< rows whose logits are held at once
  };
  mlir::Value linearCrossEntropy(mlir::Value hidden, mlir::Value weight, mlir::Value targets,
                                 const CrossEntropy &options);

private:
  mlir::Value addArgument(mlir::RankedTensorType type, llvm::StringRef attribute,
                          llvm::StringRef name, llvm::ArrayRef<mlir::NamedAttribute> more = {});
  mlir::RankedTensorType getType(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }

  struct State {
    unsigned argument;
    mlir::Value next;
  };

  /// The rows of a value in 8 bits, made once.
  QuantizeOp quantize(mlir::Value rows, mlir::Type element);

  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, QuantizeOp> quantized;
  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> parameters;
  llvm::SmallVector<std::pair<std::string, State>> states;
  llvm::SmallVector<std::pair<std::string, mlir::Value>> outputs;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes;
};

} // namespace sinter
