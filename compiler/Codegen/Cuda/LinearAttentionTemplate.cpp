#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"

using namespace mlir;
using namespace sinter;

namespace {
/// How vectors of n elements lie in lanes and in shared memory, as linear_parts.cuh has it.
struct VectorShape {
  int64_t lanes, pitch, tileTokens;

  explicit VectorShape(int64_t n)
      : lanes(n <= 128   ? 8
              : n <= 256 ? 16
                         : 32),
        pitch(static_cast<int64_t>(llvm::alignTo(n, 4 * lanes))),
        tileTokens(std::max<int64_t>(2048 / pitch, 1)) {}

  /// Bytes of shared memory that a tile's rows of so many elements take.
  int64_t getBytes(int64_t columns, Type element) const {
    return static_cast<int64_t>(
        llvm::alignTo(tileTokens * columns * element.getIntOrFloatBitWidth() / 8, 16));
  }
};
} // namespace

/// The only op of a kernel, of numbers that are computed with as f32.
template <typename Op> static FailureOr<Op> findAlone(func::FuncOp kernel) {
  auto op = dyn_cast<Op>(kernel.front().front());
  if (!op || !llvm::hasSingleElement(kernel.front().without_terminator()))
    return kernel.emitError("expected a linear attention to be alone in its kernel");
  for (Type type : op->getOperandTypes())
    if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() > 32)
      return op.emitError("expected numbers of at most 32 bits");
  if (op.getKey().getType().getShape().back() > kLongestLinearKey)
    return op.emitError("expected keys of ") << kLongestLinearKey << " elements at the most";
  return op;
}

/// What the templates are told of an op.
template <typename Op> static void setLinearAttention(TemplateInstance &instance, Op op) {
  ArrayRef<int64_t> keys = op.getKey().getType().getShape(),
                    values = op.getValue().getType().getShape();
  for (auto [name, operand] : {std::pair("Query", op.getQuery()),
                               {"Key", op.getKey()},
                               {"Value", op.getValue()},
                               {"Decay", op.getDecay()},
                               {"Beta", op.getBeta()}}) {
    instance.set(name, getElementTypeOrSelf(operand));
    instance.pass(cast<BlockArgument>(operand).getArgNumber());
  }
  instance.set("slots", values[0]);
  instance.set("tokens", values[1]);
  instance.set("groups", keys[2]);
  instance.set("heads", values[2]);
  instance.set("depth", keys[3]);
  instance.set("width", values[3]);
  instance.set("scale", op.getScale().convertToDouble());
  instance.set("additive", op.getAdditive());
}

/// Passes the pointer of a result, or none where nobody needs it.
static void passResult(TemplateInstance &instance, func::FuncOp kernel, Value result) {
  OperandRange returned = kernel.front().getTerminator()->getOperands();
  auto found = llvm::find(returned, result);
  instance.pass(found == returned.end()
                    ? std::nullopt
                    : std::optional<unsigned>(kernel.getNumArguments() +
                                              std::distance(returned.begin(), found)));
}

static FailureOr<CudaLaunch> instantiateForward(func::FuncOp kernel, func::FuncOp function) {
  FailureOr<LinearAttentionOp> op = findAlone<LinearAttentionOp>(kernel);
  if (failed(op))
    return failure();
  TemplateInstance instance("linear_attention", "linear_attention", kernel.getContext());
  setLinearAttention(instance, *op);
  bool hasState = static_cast<bool>(op->getState());
  instance.set("hasState", hasState);
  instance.set("Result", getElementTypeOrSelf(op->getResult()));
  for (Value operand : {Value(op->getState()), Value(op->getStart()), Value(op->getCount())})
    instance.pass(operand ? std::optional(cast<BlockArgument>(operand).getArgNumber())
                          : std::nullopt);
  passResult(instance, kernel, op->getResult());
  passResult(instance, kernel, op->getNext());
  instance.write(function, /*usesShared=*/true);

  ArrayRef<int64_t> values = op->getValue().getType().getShape();
  VectorShape vectors(op->getKey().getType().getShape().back());
  bool isStep = values[1] == 1;
  CudaLaunch launch;
  launch.block = isStep ? 64 : 128;
  int64_t columns = launch.block / vectors.lanes * (isStep && values[3] % 4 == 0 ? 4 : 1);
  launch.grid = values[0] * values[2] * llvm::divideCeil(values[3], columns);
  if (!isStep)
    launch.sharedBytes =
        2 * (vectors.getBytes(vectors.pitch, getElementTypeOrSelf(op->getQuery())) +
             vectors.getBytes(vectors.pitch, getElementTypeOrSelf(op->getKey())) +
             vectors.getBytes(columns, getElementTypeOrSelf(op->getValue())) +
             2 * vectors.getBytes(1, Float32Type::get(kernel.getContext())));
  launch.waits = true;
  return launch;
}

namespace {
/// The sizes of a launch, as linear_attention_grad.cuh computes them.
struct LinearGradShape {
  static constexpr int64_t threads = 128, warps = 4;
  int64_t grid, sharedBytes, scratchBytes;

  explicit LinearGradShape(LinearAttentionGradOp op) {
    ArrayRef<int64_t> keys = op.getKey().getType().getShape(),
                      values = op.getValue().getType().getShape();
    Type query = getElementTypeOrSelf(op.getQuery()), key = getElementTypeOrSelf(op.getKey()),
         gradient = getElementTypeOrSelf(op.getGradient()), f32 = Float32Type::get(op.getContext());
    int64_t slots = values[0], tokens = values[1], groups = keys[2], heads = values[2];
    VectorShape ofKeys(keys[3]), ofValues(values[3]);
    int64_t columns = threads / ofKeys.lanes, rows = threads / ofValues.lanes;
    int64_t rowBlocks = llvm::divideCeil(keys[3], rows);
    grid = 2 * slots * heads * llvm::divideCeil(values[3], columns) + slots * groups * rowBlocks;

    int64_t together = ofValues.pitch > 512 ? 1 : 4;
    while (heads / groups % together != 0)
      --together;
    int64_t first = 2 * (ofKeys.getBytes(ofKeys.pitch, query) + ofKeys.getBytes(ofKeys.pitch, key) +
                         ofKeys.getBytes(columns, f32) + 2 * ofKeys.getBytes(1, f32));
    VectorShape tile = ofValues;
    tile.tileTokens = std::max<int64_t>(2048 / (ofValues.pitch * together), 1);
    int64_t vectors = together * ofValues.pitch;
    int64_t second = 2 * (tile.getBytes(vectors, gradient) + 2 * tile.getBytes(vectors, f32) +
                          tile.getBytes(rows, query) + tile.getBytes(rows, key) +
                          2 * tile.getBytes(rows, f32) + 2 * tile.getBytes(together, f32)) +
                     tile.getBytes(2 * warps * together, f32);
    sharedBytes = std::max(first, second);
    scratchBytes = static_cast<int64_t>(llvm::alignTo(4 * (1 + 2 * slots * groups), 16)) +
                   4 * slots * tokens * heads * (values[3] + 2 * rowBlocks);
  }
};
} // namespace

static FailureOr<CudaLaunch> instantiateGradient(func::FuncOp kernel, func::FuncOp function) {
  FailureOr<LinearAttentionGradOp> op = findAlone<LinearAttentionGradOp>(kernel);
  if (failed(op))
    return failure();
  if (op->getValue().getType().getShape().back() > kLongestLinearKey)
    return op->emitError("expected values of ") << kLongestLinearKey << " elements at the most";
  for (Value result : op->getResults())
    if (!getElementTypeOrSelf(result).isF32())
      return op->emitError("expected gradients of f32, got ") << result.getType();
  if (!llvm::is_contained(kernel.front().getTerminator()->getOperands(), op->getValueGradient()))
    return op->emitError("expected the gradient of the value to be a result");
  TemplateInstance instance("linear_attention_grad", "linear_attention_grad", kernel.getContext());
  setLinearAttention(instance, *op);
  instance.set("Gradient", getElementTypeOrSelf(op->getGradient()));
  instance.pass(cast<BlockArgument>(op->getGradient()).getArgNumber());
  for (Value result : op->getResults())
    passResult(instance, kernel, result);
  instance.pass(kernel.getNumArguments() + kernel.getNumResults());
  instance.write(function, /*usesShared=*/true);
  LinearGradShape shape(*op);
  return CudaLaunch{.grid = shape.grid,
                    .block = LinearGradShape::threads,
                    .sharedBytes = shape.sharedBytes,
                    .scratchBytes = shape.scratchBytes,
                    .waits = true};
}

FailureOr<CudaLaunch> sinter::instantiateLinearAttention(func::FuncOp kernel, func::FuncOp function,
                                                         const TargetAttr &, int64_t) {
  return isa<LinearAttentionGradOp>(kernel.front().front()) ? instantiateGradient(kernel, function)
                                                            : instantiateForward(kernel, function);
}
