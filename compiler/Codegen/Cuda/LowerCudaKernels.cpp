#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sinter {
#define GEN_PASS_DEF_LOWERCUDAKERNELSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Drops a loop kernel's body and its range of work items: what a template gives.
static void makeDeclaration(func::FuncOp function) {
  function.eraseBody();
  unsigned pointers = function.getNumArguments() - 2;
  SmallVector<Type> types(function.getArgumentTypes().take_front(pointers));
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < pointers; ++i)
    attributes.push_back(function.getArgAttrDict(i));
  function.setFunctionType(FunctionType::get(function.getContext(), types, {}));
  function.setAllArgAttrs(attributes);
  function.setPrivate();
}

namespace {
struct LowerCudaKernelsPass : sinter::impl::LowerCudaKernelsPassBase<LowerCudaKernelsPass> {
  using LowerCudaKernelsPassBase::LowerCudaKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = collectKernels(module);
    if (failed(kernels))
      return signalPassFailure();
    llvm::erase_if(*kernels, [](auto &kernel) { return kernel.second == FusionKind::LibraryGemm; });
    if (kernels->empty())
      return markAllAnalysesPreserved();
    FailureOr<ModuleOp> code = createKernelsModule(module);
    if (failed(code))
      return signalPassFailure();
    TargetAttr target = TargetAttr::lookup(module);
    OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
    for (auto [kernel, kind] : *kernels)
      if (failed(lower(builder, kernel, kind, target)))
        return signalPassFailure();
  }

private:
  static void addScratch(func::FuncOp function, int64_t bytes) {
    Type word = IntegerType::get(function.getContext(), 32);
    SmallVector<Type> types(function.getArgumentTypes());
    types.push_back(MemRefType::get({bytes / 4}, word));
    function.setType(FunctionType::get(function.getContext(), types, {}));
  }

  LogicalResult lower(OpBuilder &builder, func::FuncOp kernel, FusionKind kind,
                      const TargetAttr &target) {
    TemplateGenerator generator = lookupTemplate(kind, kernel);
    if (!generator && kind != FusionKind::Rows)
      return kernel.emitError("expected a kind of kernel that there is CUDA code for, got ")
             << stringifyFusionKind(kind);
    func::FuncOp function = createLoopKernel(builder, kernel);
    if (generator) {
      makeDeclaration(function);
      FailureOr<CudaLaunch> launch = generator(kernel, function, target);
      if (failed(launch))
        return failure();
      setLaunch(kernel, *launch);
      if (launch->scratchBytes != 0)
        addScratch(function, launch->scratchBytes);
      return success();
    }
    RowsOptions options;
    options.bufferBytes = std::min(options.bufferBytes, target.getL1Bytes());
    options.keepsLoads = options.keepsSums = options.callsLibrary = true;
    options.sumItems = 2 * target.getCores();
    options.sumColumns = 32;
    options.sumGroups = 16;
    options.pieces = target.getCores();
    FailureOr<int64_t> items = lowerRowsKernel(kernel, function, options);
    if (failed(items))
      return failure();
    kernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(*items));
    return success();
  }
};
} // namespace
