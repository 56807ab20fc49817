#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_ASSIGNCOMPUTETYPEPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// The same tensor of other elements, layout included.
static RankedTensorType withElements(Type type, Type elementType) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), elementType, tensor.getEncoding());
}

namespace {
/// Values in other element types, each cast once.
class Casts {
public:
  /// `value` as `elementType`, defined as early as can be.
  Value get(Value value, Type elementType) {
    if (getElementTypeOrSelf(value) == elementType)
      return value;
    // A widened value narrows to what it was without loss.
    if (auto cast = value.getDefiningOp<CastOp>())
      if (getElementTypeOrSelf(cast.getOperand()) == elementType && isa<FloatType>(elementType) &&
          elementType.getIntOrFloatBitWidth() < getElementTypeOrSelf(value).getIntOrFloatBitWidth())
        return cast.getOperand();
    // One cast serves a value under all its shapes.
    if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && isDense(reshape)) {
      Value source = get(reshape.getOperand(), elementType);
      Value &made = casts[{value, elementType}];
      if (!made) {
        OpBuilder builder(reshape);
        builder.setInsertionPointAfterValue(value);
        made = ReshapeOp::create(builder, value.getLoc(),
                                 withElements(value.getType(), elementType), source);
      }
      return made;
    }
    Value &made = casts[{value, elementType}];
    if (!made) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      made = CastOp::create(builder, value.getLoc(), withElements(value.getType(), elementType),
                            value);
    }
    return made;
  }

private:
  static bool isDense(ReshapeOp reshape) {
    return !reshape.getOperand().getType().getEncoding() && !reshape.getType().getEncoding();
  }

  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};

struct AssignComputeTypePass : sinter::impl::AssignComputeTypePassBase<AssignComputeTypePass> {
  using AssignComputeTypePassBase::AssignComputeTypePassBase;

  void runOnOperation() override {
    target = TargetAttr::lookup(getOperation());
    tileDots = target && target.hasMatrixUnits();
    Type compute = parseElementType(computeType, /*allowF16=*/true);
    Type cache = parseElementType(cacheType, /*allowF16=*/tileDots);
    if (!compute || !cache)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        assignProducts(function, compute);
        assignStates(function, cache);
      }
  }

private:
  TargetAttr target;
  bool tileDots = false;

  Type parseElementType(StringRef name, bool allowF16) {
    if (name == "f32")
      return Float32Type::get(&getContext());
    if (name == "bf16")
      return BFloat16Type::get(&getContext());
    if (name == "f16" && allowF16)
      return Float16Type::get(&getContext());
    getOperation().emitError("expected an element type ")
        << (allowF16 ? "f32, bf16 or f16" : "f32 or bf16") << ", got " << name;
    return nullptr;
  }

  void assignProducts(func::FuncOp function, Type compute) {
    Casts casts;
    unsigned products = 0;
    auto round = [&](Value value) {
      Value rounded = casts.get(value, compute);
      return compute.isF16() && !tileDots ? casts.get(rounded, Float32Type::get(&getContext()))
                                          : rounded;
    };
    function.walk([&](MatmulOp matmul) {
      if (matmul.getScales()) {
        Type f32 = Float32Type::get(&getContext());
        for (OpOperand &operand : matmul->getOpOperands()) {
          // Matrix units multiply weights that are widened to the compute type.
          bool narrows = tileDots && &operand == &matmul.getLhsMutable();
          // Kernels widen scales while they multiply: what is read is less. A library that
          // multiplies rows of bytes wants f32.
          bool stays =
              &operand == matmul.getScalesMutable().begin() && !(tileDots && matmul.getRowScales());
          if (!stays && getElementTypeOrSelf(operand.get()).getIntOrFloatBitWidth() > 8)
            operand.set(casts.get(operand.get(), narrows ? compute : f32));
        }
        return widenResults(matmul);
      }
      matmul.getLhsMutable().assign(round(matmul.getLhs()));
      matmul.getRhsMutable().assign(round(matmul.getRhs()));
      widenResults(matmul);
      matmul.setTf32(tileDots && tf32 && compute.isF32());
      ++products;
    });
    function.walk([&](Operation *op) {
      if (!isa<GroupedMatmulOp, GroupedOuterOp>(op))
        return;
      auto matmul = dyn_cast<GroupedMatmulOp>(op);
      if (matmul && matmul.getScales()) {
        // As a product's: kernels widen the scales.
        Type f32 = Float32Type::get(&getContext());
        matmul.getLhsMutable().assign(casts.get(matmul.getLhs(), tileDots ? compute : f32));
        if (Value minima = matmul.getMinima())
          matmul.getMinimaMutable().assign(casts.get(minima, f32));
        return widenResults(op);
      }
      for (OpOperand &operand : op->getOpOperands())
        if (isa<FloatType>(getElementTypeOrSelf(operand.get())))
          operand.set(round(operand.get()));
      widenResults(op);
      ++products;
    });
    function.walk([&](FusibleOpInterface op) {
      if (!llvm::is_contained({FusionRole::Attention, FusionRole::AttentionGrad},
                              op.getFusionRole()))
        return;
      widenResults(op);
      int64_t headSize = cast<RankedTensorType>(op->getOperand(0).getType()).getShape().back();
      bool multipliesNarrow =
          tileDots ? !compute.isF32() : target && usesKeyTiles(compute, headSize, target);
      if (multipliesNarrow)
        for (OpOperand &operand : getRows(op))
          operand.set(casts.get(operand.get(), compute));
    });
    // What the casts replaced may have lost its last use.
    eraseDeadOps(function.front());
    if (products > 0)
      remark::passed(function.getLoc(),
                     remark::RemarkOpts::name("ComputeType").category("sinter-precision"))
          << llvm::formatv("{0} matrix products of {1} in {2}, accumulated in f32", products,
                           function.getName(), computeType.getValue())
                 .str();
  }

  /// The operands of an attention, or of its gradient, that are `[b, t, h, d]`: not a cache, which
  /// has a type of its own.
  static SmallVector<std::reference_wrapper<OpOperand>> getRows(Operation *op) {
    SmallVector<std::reference_wrapper<OpOperand>> rows;
    for (OpOperand &operand : op->getOpOperands())
      if (cast<RankedTensorType>(operand.get().getType()).getRank() == 4 &&
          isa<FloatType>(getElementTypeOrSelf(operand.get())) &&
          !operand.get().getDefiningOp<CacheAppendOp>())
        rows.push_back(operand);
    return rows;
  }

  /// Makes the results f32; where one was another type, users get it cast back.
  void widenResults(Operation *op) {
    for (Value result : op->getResults()) {
      Type before = result.getType();
      if (getElementTypeOrSelf(result).isF32())
        continue;
      result.setType(withElements(before, Float32Type::get(&getContext())));
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      auto narrow = CastOp::create(builder, op->getLoc(), before, result);
      result.replaceAllUsesExcept(narrow, narrow);
    }
  }

  /// States that ops round into change their element type along the chain of updates.
  void assignStates(func::FuncOp function, Type cache) {
    for (BlockArgument argument : function.getArguments()) {
      if (!function.getArgAttr(argument.getArgNumber(), SinterDialect::kState) ||
          !isa<FloatType>(getElementTypeOrSelf(argument)))
        continue;
      bool updated = false;
      for (Value value = argument; value;) {
        Value next;
        for (OpOperand &use : value.getUses())
          if (auto inPlace = dyn_cast<InPlaceOpInterface>(use.getOwner());
              inPlace && inPlace.roundsIntoMemory())
            for (OpResult result : use.getOwner()->getResults())
              if (inPlace.getInPlaceOperand(result) == &use)
                next = result;
        updated |= static_cast<bool>(next);
        if (updated)
          value.setType(withElements(value.getType(), cache));
        value = next;
      }
    }
    SmallVector<Type> results =
        llvm::to_vector(function.front().getTerminator()->getOperandTypes());
    function.setFunctionType(FunctionType::get(
        &getContext(), llvm::to_vector(function.front().getArgumentTypes()), results));
  }
};
} // namespace
