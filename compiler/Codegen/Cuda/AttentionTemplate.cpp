#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/AttentionOperands.h"

using namespace mlir;
using namespace sinter;

/// Whether rows of an input can be read 16 bytes at a time.
static bool hasAlignedRows(const StridedInput &input, int64_t headSize, Type element) {
  int64_t vector = 128 / element.getIntOrFloatBitWidth();
  return headSize % vector == 0 && input.offset % vector == 0 &&
         llvm::all_of(ArrayRef(input.strides).drop_back(),
                      [&](int64_t stride) { return stride % vector == 0; });
}

namespace {
/// The sizes of a launch, as attention_forward.cuh computes them.
struct ForwardShape {
  bool matrices;
  int64_t rows, keys, block, sharedBytes;

  ForwardShape(const AttentionOperands &operands, bool matrices, bool dropout,
               const TargetAttr &target, int64_t tile)
      : matrices(matrices) {
    int64_t d = operands.headSize;
    if (matrices) {
      keys = d > 128 ? 32 : 64;
      int64_t tiles = llvm::divideCeil(operands.length, 128);
      bool wanted = tile ? tile == 128 : operands.batch * operands.heads * tiles >= 264;
      bool large = wanted && 2 * (128 + 4 * keys) * (d + 8) <= target.getL1Bytes();
      rows = large ? 128 : 64;
      block = large && (d > 128 || dropout) ? 256 : 128;
      sharedBytes = 2 * (rows + 4 * keys) * (d + 8);
    } else {
      auto withSizes = [d](int64_t rows, int64_t keys) {
        int64_t pitch = static_cast<int64_t>(llvm::alignTo(d, 32)) + 4;
        return 4 * ((rows + 2 * keys) * pitch + rows * (keys + 4));
      };
      bool wide = d > kWidestMatrixHead, roomy = withSizes(32, 16) <= target.getL1Bytes();
      rows = wide ? (roomy ? 32 : 16) : d > 128 ? 32 : 64;
      keys = wide ? (roomy ? 16 : 8) : 32;
      block = 128;
      sharedBytes = withSizes(rows, keys);
    }
  }
};

/// The same of attention_decode.cuh.
struct DecodeShape {
  static constexpr int64_t warps = 8;
  int64_t groups, splits, sharedBytes, scratchBytes;

  DecodeShape(const AttentionOperands &operands, bool matrices, bool bytes) {
    int64_t d = operands.headSize;
    int64_t rows = !matrices ? (d > 128 ? 2 : 4) : d <= 128 && operands.rows > 8 ? 16 : 8;
    groups = operands.batch * operands.keyHeads * llvm::divideCeil(operands.rows, rows);
    int64_t blocks = d <= 64 && !bytes ? 264 : 132;
    splits = std::min<int64_t>(std::max<int64_t>(blocks / groups, 1),
                               llvm::divideCeil(operands.maxSequence, 16 * warps));
    sharedBytes = 4 * warps * rows * (d + 6);
    scratchBytes = static_cast<int64_t>(llvm::alignTo(4 * groups, 16)) +
                   (splits > 1 ? 4 * groups * splits * rows * (d + 2) : 0);
  }
};

/// The same of attention_backward.cuh, for the kernel of keys and values or that of queries.
struct BackwardShape {
  int64_t rows, block, sharedBytes;

  BackwardShape(const AttentionOperands &operands, bool matrices, bool warpgroups, bool keys,
                const TargetAttr &target) {
    int64_t d = operands.headSize;
    warpgroups &= matrices && (d == 64 || d == 128);
    int64_t heads = keys ? operands.keyHeads : operands.heads;
    int64_t tiles = llvm::divideCeil(keys ? operands.maxSequence : operands.length, 128);
    auto plainBytes = [d](int64_t rows, int64_t passing) {
      int64_t pitch = static_cast<int64_t>(llvm::alignTo(d, 32)) + 4;
      return 4 * ((2 * rows + 2 * passing) * pitch + 2 * rows * (passing + 4));
    };
    bool wide = d > kWidestMatrixHead, roomy = plainBytes(32, 16) + 512 <= target.getL1Bytes();
    int64_t passing = matrices  ? (d > 64 && !warpgroups ? 32 : 64)
                      : wide    ? (roomy ? 16 : 8)
                      : d > 128 ? 16
                                : 32;
    auto withRows = [&](int64_t rows) {
      int64_t info = 16 * (keys ? 2 * passing : rows);
      if (warpgroups)
        return 896 + info + 2 * (2 * rows + 4 * passing) * d;
      return info + (matrices ? 2 * (2 * rows + 4 * passing) * (d + 8) : plainBytes(rows, passing));
    };
    bool large = operands.batch * heads * tiles >= 264 && withRows(128) <= target.getL1Bytes();
    bool tall =
        matrices && large && (warpgroups || (d <= 128 && !operands.seedArgument.has_value()));
    rows = tall ? 128 : wide ? (roomy ? 32 : 16) : !matrices && d > 64 ? 32 : 64;
    block = warpgroups ? 2 * rows : wide ? 8 * rows : keys && matrices && d > 128 ? 256 : 128;
    sharedBytes = withRows(rows);
  }
};
} // namespace

/// What all attention templates are told of an op.
template <typename Op>
static void setAttention(TemplateInstance &instance, Op op, const AttentionOperands &operands,
                         const StridedInput &key, const StridedInput &value,
                         const TargetAttr &target) {
  instance.set("Query", getElementTypeOrSelf(op.getQuery()));
  instance.set("Element", getElementTypeOrSelf(op.getKey()));
  instance.set("batch", operands.batch);
  instance.set("length", operands.length);
  instance.set("heads", operands.heads);
  instance.set("headSize", operands.headSize);
  instance.set("maxSequence", operands.maxSequence);
  instance.set("keyHeads", operands.keyHeads);
  instance.setStrides("query", operands.query);
  instance.setStrides("key", key);
  instance.setStrides("value", value);
  instance.set("scale", op.getScale().convertToDouble());
  instance.set("causal", op.getCausal());
  instance.set("window", static_cast<int64_t>(op.getWindow().value_or(0)));
  instance.set("softcap", op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0.0);
  instance.set("hasStart", operands.startArgument.has_value());
  instance.set("hasFirst", operands.firstArgument.has_value());
  instance.set("hasSlopes", operands.slopesArgument.has_value());
  instance.set("dropout", op.getDropout().convertToDouble());
  instance.set("stream", static_cast<int64_t>(op.getStream()));
  auto [heads, queries, keys] = operands.numbered;
  instance.set("isPart", operands.isPart);
  instance.set("wholeHeads", heads);
  instance.set("wholeLength", queries);
  instance.set("wholeSequence", keys);
  instance.set("plain", false);
  instance.set("sharedMemory", target.getL1Bytes());
}

/// Whether the versions with matrix instructions are for an op.
template <typename Op>
static bool usesMatrices(Op op, const AttentionOperands &operands, const StridedInput &key,
                         const StridedInput &value) {
  Type element = getElementTypeOrSelf(op.getKey());
  int64_t d = operands.headSize;
  return element.getIntOrFloatBitWidth() == 16 && getElementTypeOrSelf(op.getQuery()) == element &&
         d <= kWidestMatrixHead && d % 16 == 0 && hasAlignedRows(operands.query, d, element) &&
         hasAlignedRows(key, d, element) && hasAlignedRows(value, d, element);
}

/// Whether they would be for queries of 16 bits once keys and values of 8 bits are as wide.
static bool usesMatricesOnceWidened(AttentionOp op, const AttentionOperands &operands,
                                    const StridedInput &key, const StridedInput &value) {
  Type element = getElementTypeOrSelf(op.getKey()), query = getElementTypeOrSelf(op.getQuery());
  int64_t d = operands.headSize;
  return element.getIntOrFloatBitWidth() == 8 && query.getIntOrFloatBitWidth() == 16 &&
         d <= kWidestMatrixHead && d % 16 == 0 && hasAlignedRows(operands.query, d, query) &&
         hasAlignedRows(key, d, element) && hasAlignedRows(value, d, element);
}

/// A tensor that lies element by element, as the templates read it: an argument of the kernel.
static FailureOr<unsigned> findDense(Value value, Operation *op, StringRef what) {
  FailureOr<StridedInput> rows = traceRows(value, op, what, /*f16=*/true);
  if (failed(rows))
    return failure();
  if (!rows->isDense(cast<RankedTensorType>(value.getType()).getShape()))
    return op->emitError("expected ") << what << " to be dense";
  return rows->argument;
}

FailureOr<CudaLaunch> sinter::instantiateAttention(func::FuncOp kernel, func::FuncOp function,
                                                   const TargetAttr &target, int64_t candidate) {
  FailureOr<AttentionOp> op = findOnly<AttentionOp>(kernel, "attention");
  if (failed(op))
    return failure();
  AttentionOperands operands;
  AttentionResults results;
  if (failed(operands.read(*op, /*f16=*/true, kWidestGpuHead)) ||
      failed(results.read(*op, kernel, /*f16=*/true)))
    return failure();
  FailureOr<StridedInput> key = traceRows(op->getKey(), *op, "keys", /*f16=*/true);
  FailureOr<StridedInput> value = traceRows(op->getValue(), *op, "values", /*f16=*/true);
  if (failed(key) || failed(value))
    return failure();
  if (results.roundings.size() > 2)
    return op->emitError("expected a result that is rounded once");
  SmallVector<std::optional<unsigned>> scales;
  for (auto [value, what] : {std::pair(op->getKeyScales(), "scales of keys"),
                             {op->getValueScales(), "scales of values"}}) {
    FailureOr<unsigned> argument = value ? findDense(value, *op, what) : FailureOr<unsigned>(0u);
    if (failed(argument))
      return failure();
    scales.push_back(value ? std::optional(*argument) : std::nullopt);
  }

  bool matrices = usesMatrices(*op, operands, *key, *value) ||
                  usesMatricesOnceWidened(*op, operands, *key, *value);
  // Few queries read many keys of a cache, whose number the device alone knows.
  constexpr int64_t kFewQueries = 4;
  bool decodes = operands.length <= kFewQueries && operands.startArgument &&
                 !operands.seedArgument && !results.logsumexpIndex;
  StringRef name = decodes ? "attention_decode" : "attention_forward";
  TemplateInstance instance(name, name, kernel.getContext());
  setAttention(instance, *op, operands, *key, *value, target);
  instance.set("Result", results.roundings.back());
  unsigned inputs = kernel.getNumArguments();
  instance.pass(operands.query.argument);
  instance.pass(key->argument);
  instance.pass(value->argument);
  instance.pass(operands.startArgument);
  instance.pass(operands.firstArgument);
  instance.pass(operands.slopesArgument);
  instance.set("hasScales", scales.front().has_value());
  for (std::optional<unsigned> argument : scales)
    instance.pass(argument);
  if (decodes) {
    DecodeShape shape(operands, matrices, scales.front().has_value());
    instance.pass(inputs + results.resultIndex);
    instance.pass(inputs + kernel.getNumResults());
    instance.write(function, /*usesShared=*/true);
    return CudaLaunch{.grid = shape.groups * shape.splits,
                      .block = 32 * DecodeShape::warps,
                      .sharedBytes = shape.sharedBytes,
                      .scratchBytes = shape.scratchBytes,
                      .waits = true};
  }
  ForwardShape shape(operands, matrices, operands.seedArgument.has_value(), target, candidate);
  instance.set("tile", candidate);
  instance.set("hasLogsumexp", results.logsumexpIndex.has_value());
  instance.pass(operands.seedArgument);
  instance.pass(inputs + results.resultIndex);
  instance.pass(results.logsumexpIndex ? std::optional(inputs + *results.logsumexpIndex)
                                       : std::nullopt);
  instance.write(function, /*usesShared=*/true);
  int64_t tiles = llvm::divideCeil(operands.length, shape.rows);
  return CudaLaunch{operands.batch * operands.heads * tiles, shape.block, shape.sharedBytes};
}

FailureOr<CudaLaunch> sinter::instantiateAttentionGrad(func::FuncOp kernel, func::FuncOp function,
                                                       const TargetAttr &target, int64_t) {
  FailureOr<AttentionGradOp> op = findOnly<AttentionGradOp>(kernel, "attention's gradient");
  if (failed(op))
    return failure();
  AttentionOperands operands;
  AttentionGradResults results;
  if (failed(operands.read(*op, /*f16=*/true, kWidestGpuGradHead)) ||
      failed(results.read(*op, kernel, /*narrow=*/true)))
    return failure();
  FailureOr<StridedInput> key = traceRows(op->getKey(), *op, "keys", /*f16=*/true);
  FailureOr<StridedInput> value = traceRows(op->getValue(), *op, "values", /*f16=*/true);
  FailureOr<unsigned> gradient = findDense(op->getGradient(), *op, "gradients");
  FailureOr<unsigned> logsumexp = findArgument(op->getLogsumexp(), *op, "logsumexp");
  FailureOr<unsigned> delta = findArgument(op->getDelta(), *op, "delta");
  if (failed(key) || failed(value) || failed(gradient) || failed(logsumexp) || failed(delta))
    return failure();
  bool keys = results.keyResult && results.valueResult;
  if (keys == results.queryResult.has_value())
    return kernel.emitError("expected the gradients of keys and values, or those of queries");

  bool matrices = usesMatrices(*op, operands, *key, *value) &&
                  getElementTypeOrSelf(op->getGradient()) == getElementTypeOrSelf(op->getKey());
  bool warpgroups = kernel->hasAttr(kWarpgroupsAttribute);
  BackwardShape shape(operands, matrices, warpgroups, keys, target);
  TemplateInstance instance("attention_backward",
                            keys ? "attention_backward_keys" : "attention_backward_queries",
                            kernel.getContext());
  setAttention(instance, *op, operands, *key, *value, target);
  instance.set("Gradient", getElementTypeOrSelf(op->getGradient()));
  instance.set("warpgroups", warpgroups);
  instance.set("Result",
               getElementTypeOrSelf(keys ? op->getKeyGradient() : op->getQueryGradient()));
  instance.pass(operands.query.argument);
  instance.pass(key->argument);
  instance.pass(value->argument);
  instance.pass(*gradient);
  instance.pass(*logsumexp);
  instance.pass(*delta);
  instance.pass(operands.startArgument);
  instance.pass(operands.firstArgument);
  instance.pass(operands.slopesArgument);
  instance.pass(operands.seedArgument);
  unsigned inputs = kernel.getNumArguments();
  if (keys) {
    instance.pass(inputs + *results.keyResult);
    instance.pass(inputs + *results.valueResult);
  } else {
    instance.pass(inputs + *results.queryResult);
  }
  instance.write(function, /*usesShared=*/true);
  int64_t rows = keys ? operands.maxSequence : operands.length;
  int64_t heads = keys ? operands.keyHeads : operands.heads;
  int64_t tiles = llvm::divideCeil(rows, shape.rows);
  return CudaLaunch{operands.batch * heads * tiles, shape.block, shape.sharedBytes};
}
