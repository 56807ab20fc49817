#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Loops/ElementOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringSet.h"

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

/// Whether an argument of an entry is a weight that none of its kernels writes.
static bool isConstantWeight(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  auto argument = dyn_cast<BlockArgument>(value);
  auto entry =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return entry && (entry.getArgAttr(argument.getArgNumber(), SinterDialect::kParameter) ||
                   entry.getArgAttr(argument.getArgNumber(), SinterDialect::kPrepared));
}

/// Whether an entry is made of small kernels of ours: there are products, and none is so large that
/// it is the library's, whose kernels neither wait nor let others begin.
static bool hasSmallKernels(func::FuncOp entry, const llvm::StringSet<> &products) {
  if (!entry.getOps<FusionOp>().empty())
    return false;
  return llvm::any_of(entry.getOps<CallKernelOp>(),
                      [&](CallKernelOp call) { return products.contains(call.getKernel()); });
}

/// Says of each kernel which operands are constant, by all of its calls. The names of those that
/// entries of small kernels alone call.
static llvm::StringSet<> markKernels(ModuleOp module,
                                     ArrayRef<std::pair<func::FuncOp, FusionKind>> kernels) {
  llvm::StringSet<> products, small;
  for (auto [kernel, kind] : kernels)
    if (kind == FusionKind::Gemm)
      products.insert(kernel.getName());
  llvm::StringMap<SmallVector<CallKernelOp>> calls;
  for (auto entry : module.getOps<func::FuncOp>())
    for (auto call : entry.getOps<CallKernelOp>())
      calls[call.getKernel()].push_back(call);
  auto unit = UnitAttr::get(module.getContext());
  for (auto [kernel, kind] : kernels) {
    ArrayRef<CallKernelOp> all = calls[kernel.getName()];
    if (all.empty())
      continue;
    if (llvm::all_of(all, [&](CallKernelOp call) {
          return hasSmallKernels(call->getParentOfType<func::FuncOp>(), products);
        }))
      small.insert(kernel.getName());
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (llvm::all_of(all,
                       [&](CallKernelOp call) { return isConstantWeight(call.getInputs()[i]); }))
        kernel.setArgAttr(i, kConstantAttribute, unit);
  }
  return small;
}

namespace {
struct LowerCudaKernelsPass : sinter::impl::LowerCudaKernelsPassBase<LowerCudaKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerCudaKernelsPassBase::getDependentDialects(registry);
    registerElementModels(registry);
  }

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
    llvm::StringSet<> small = markKernels(module, *kernels);
    OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
    for (auto [kernel, kind] : *kernels)
      if (failed(lower(builder, kernel, kind, target, small.contains(kernel.getName()))))
        return signalPassFailure();
  }

private:
  static void addScratch(func::FuncOp function, int64_t bytes) {
    Type word = IntegerType::get(function.getContext(), 32);
    SmallVector<Type> types(function.getArgumentTypes());
    types.push_back(MemRefType::get({bytes / 4}, word));
    function.setType(FunctionType::get(function.getContext(), types, {}));
  }

  /// @param overlaps whether the kernel is one of those that may be launched early.
  LogicalResult lower(OpBuilder &builder, func::FuncOp kernel, FusionKind kind,
                      const TargetAttr &target, bool overlaps) {
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
      launch->waits &= overlaps;
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
    if (overlaps)
      kernel->setAttr(kWaitsAttribute, builder.getUnitAttr());
    return success();
  }
};
} // namespace
