#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace sinter {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

using Generator = FailureOr<int64_t> (*)(func::FuncOp, func::FuncOp, const TargetAttr &);

/// The generator of a kind of kernel, or null where none is needed.
static Generator getGenerator(FusionKind kind) {
  switch (kind) {
  case FusionKind::Attention:
    return lowerAttentionKernel;
  case FusionKind::AttentionGrad:
    return lowerAttentionGradKernel;
  case FusionKind::Gemm:
    return lowerGemmKernel;
  case FusionKind::Rows:
    return lowerRowsKernel;
  default:
    return nullptr;
  }
}

/// The flat storage of a tensor.
static MemRefType getStorageType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t width = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  return MemRefType::get({getStorageBytes(tensor) / width}, tensor.getElementType());
}

/// An empty loop kernel for a kernel on tensors.
static func::FuncOp createLoopKernel(OpBuilder &builder, func::FuncOp kernel) {
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(getStorageType(type));
  for (Type type : kernel.getResultTypes())
    types.push_back(getStorageType(type));
  types.append(2, builder.getIndexType());
  auto loops = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                                    builder.getFunctionType(types, {}));
  llvm::BitVector shared(types.size());
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    if (BlockArgument operand = findInPlaceArgument(kernel.front(), result)) {
      shared.set(operand.getArgNumber());
      shared.set(kernel.getNumArguments() + result);
    }
  for (int64_t argument : findReusableArguments(kernel.front())) {
    shared.set(argument);
    for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
      if (type == kernel.getArgumentTypes()[argument])
        shared.set(kernel.getNumArguments() + i);
  }
  for (unsigned i = 0; i + 2 < types.size(); ++i)
    if (!shared[i])
      loops.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  OpBuilder body = OpBuilder::atBlockBegin(loops.addEntryBlock());
  func::ReturnOp::create(body, kernel.getLoc());
  return loops;
}

namespace {
struct LowerKernelsPass : sinter::impl::LowerKernelsPassBase<LowerKernelsPass> {
  using LowerKernelsPassBase::LowerKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<std::pair<func::FuncOp, Generator>> kernels;
    for (auto function : module.getOps<func::FuncOp>()) {
      auto name = function->getAttrOfType<StringAttr>(SinterDialect::kKernel);
      if (!name)
        continue;
      std::optional<FusionKind> kind = symbolizeFusionKind(name.getValue());
      if (!kind) {
        function.emitError("expected a kind of fusion as ")
            << SinterDialect::kKernel << ", got " << name;
        return signalPassFailure();
      }
      if (Generator generator = getGenerator(*kind))
        kernels.emplace_back(function, generator);
    }
    if (kernels.empty())
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(module);
    if (!target) {
      module.emitError("expected a module with a target (") << SinterDialect::kTarget << ")";
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto loops = ModuleOp::create(builder, module.getLoc(), kKernelsModule);
    loops->setAttr(SinterDialect::kTarget, target);
    builder.setInsertionPointToEnd(loops.getBody());
    for (auto [kernel, generator] : kernels) {
      FailureOr<int64_t> grid = generator(kernel, createLoopKernel(builder, kernel), target);
      if (failed(grid))
        return signalPassFailure();
      kernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(*grid));
    }
  }
};
} // namespace
