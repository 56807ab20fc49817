#include "compiler/Codegen/Loops/Kernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sinter;

/// The flat storage of a tensor; of integers of four bits, its bytes.
static MemRefType getStorageType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  if (element.isInteger(4))
    element = IntegerType::get(type.getContext(), 8);
  int64_t width = element.getIntOrFloatBitWidth() / 8;
  return MemRefType::get({getStorageBytes(tensor) / width}, element);
}

func::FuncOp sinter::createLoopKernel(OpBuilder &builder, func::FuncOp kernel) {
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

FailureOr<KernelsToLower> sinter::createKernelsModule(ModuleOp module) {
  KernelFamilies families(module.getContext());
  KernelsToLower lowering;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(SinterDialect::kKernel))
      continue;
    FailureOr<const KernelFamily *> family = families.require(function);
    if (failed(family))
      return failure();
    lowering.kernels.emplace_back(function, *family);
  }
  if (lowering.kernels.empty())
    return lowering;
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return module.emitError("expected a module with a target (") << SinterDialect::kTarget << ")";
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  lowering.code = ModuleOp::create(builder, module.getLoc(), kKernelsModule);
  lowering.code->setAttr(SinterDialect::kTarget, target);
  return lowering;
}
