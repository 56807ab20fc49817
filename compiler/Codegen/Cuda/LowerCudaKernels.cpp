#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/ElementOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

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
                   entry.getArgAttr(argument.getArgNumber(), SinterDialect::kPreprocessed));
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
static llvm::StringSet<>
markKernels(ModuleOp module, ArrayRef<std::pair<func::FuncOp, const KernelFamily *>> kernels) {
  llvm::StringSet<> products, small;
  for (auto [kernel, family] : kernels)
    if (!kernel.front().getOps<MatmulOp>().empty())
      products.insert(kernel.getName());
  llvm::StringMap<SmallVector<CallKernelOp>> calls;
  for (auto entry : module.getOps<func::FuncOp>())
    for (auto call : entry.getOps<CallKernelOp>())
      calls[call.getKernel()].push_back(call);
  auto unit = UnitAttr::get(module.getContext());
  for (auto [kernel, family] : kernels) {
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
    auto lowering = createKernelsModule(module);
    if (failed(lowering))
      return signalPassFailure();
    if (!lowering->code)
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(module);
    llvm::StringSet<> small = markKernels(module, lowering->kernels);
    OpBuilder builder = OpBuilder::atBlockEnd(lowering->code.getBody());
    for (auto [kernel, family] : lowering->kernels) {
      bool overlaps = small.contains(kernel.getName());
      if (failed(lower(builder, kernel, *family, target, overlaps)) ||
          (tune && failed(addAlternatives(builder, kernel, *family, target, overlaps))))
        return signalPassFailure();
    }
  }

private:
  static void addScratch(func::FuncOp function, int64_t bytes) {
    Type word = IntegerType::get(function.getContext(), 32);
    SmallVector<Type> types(function.getArgumentTypes());
    types.push_back(MemRefType::get({bytes / 4}, word));
    function.setType(FunctionType::get(function.getContext(), types, {}));
  }

  static LogicalResult instantiate(TemplateGenerator generator, func::FuncOp kernel,
                                   func::FuncOp function, const TargetAttr &target, bool overlaps,
                                   int64_t candidate) {
    makeDeclaration(function);
    FailureOr<CudaLaunch> launch = generator(kernel, function, target, candidate);
    if (failed(launch))
      return failure();
    launch->waits &= overlaps;
    setLaunch(kernel, *launch);
    if (launch->scratchBytes != 0)
      addScratch(function, launch->scratchBytes);
    return success();
  }

  /// How long a launch takes, were all blocks of it as long and the work divided among them: rounds
  /// of blocks over the machine. Two launches of the same work can be compared by it.
  static double predictRounds(const CudaLaunch &launch, const TargetAttr &target) {
    return static_cast<double>(llvm::divideCeil(launch.grid, target.getCores())) / launch.grid;
  }

  static std::string describeLaunch(const CudaLaunch &launch) {
    return llvm::formatv("{0} blocks of {1} threads", launch.grid, launch.block).str();
  }

  /// Instances of a kernel's template with the candidates of its parameter, as kernels of their
  /// own.
  LogicalResult addAlternatives(OpBuilder &builder, func::FuncOp kernel, const KernelFamily &family,
                                const TargetAttr &target, bool overlaps) {
    TemplateGenerator generator = family.getTemplate();
    if (!generator)
      return success();
    auto module = kernel->getParentOfType<ModuleOp>();
    auto code = cast<ModuleOp>(builder.getInsertionBlock()->getParentOp());
    auto instance = code.lookupSymbol<func::FuncOp>(kernel.getName());
    StringRef name =
        instance->getAttrOfType<DictionaryAttr>(kTemplateAttribute).getAs<StringAttr>("function");
    std::optional<TemplateCandidates> candidates = getTemplateCandidates(name);
    if (!candidates)
      return success();
    CudaLaunch pick = *getLaunch(kernel);
    std::string options = "by the rule: " + describeLaunch(pick);
    SmallVector<Attribute> alternatives;
    for (int64_t value : candidates->values) {
      func::FuncOp other = kernel.clone();
      other.setName((kernel.getName() + "_" + candidates->parameter + llvm::Twine(value)).str());
      SymbolTable(module).insert(other, std::next(kernel->getIterator()));
      func::FuncOp function = createLoopKernel(builder, other);
      if (failed(instantiate(generator, other, function, target, overlaps, value)))
        return failure();
      CudaLaunch launch = *getLaunch(other);
      bool isPick = launch.grid == pick.grid && launch.block == pick.block &&
                    launch.sharedBytes == pick.sharedBytes;
      if (isPick || predictRounds(launch, target) > kMuchSlower * predictRounds(pick, target)) {
        function.erase();
        other.erase();
        continue;
      }
      options +=
          llvm::formatv("; {0} {1}: {2}", candidates->parameter, value, describeLaunch(launch));
      alternatives.push_back(FlatSymbolRefAttr::get(other.getNameAttr()));
    }
    auto remark = remark::RemarkOpts::name("Alternatives")
                      .category("sinter-codegen")
                      .function(kernel.getName());
    if (alternatives.empty()) {
      remark::missed(kernel.getLoc(), remark)
          << remark::reason("every other {0} of {1} is the same launch or takes {2} times as long",
                            candidates->parameter, name, kMuchSlower);
      return success();
    }
    kernel->setAttr(kAlternativesAttribute, builder.getArrayAttr(alternatives));
    remark::passed(kernel.getLoc(), remark) << "left to the device: " + options;
    return success();
  }

  /// What is predicted to take more times as long as the pick is not tried.
  static constexpr double kMuchSlower = 2;

  /// @param overlaps whether the kernel is one of those that may be launched early.
  LogicalResult lower(OpBuilder &builder, func::FuncOp kernel, const KernelFamily &family,
                      const TargetAttr &target, bool overlaps) {
    TemplateGenerator generator = family.getTemplate();
    func::FuncOp function = createLoopKernel(builder, kernel);
    if (generator)
      return instantiate(generator, kernel, function, target, overlaps, /*candidate=*/0);
    FailureOr<int64_t> items = family.lowerToLoops(kernel, function, target);
    if (failed(items))
      return failure();
    kernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(*items));
    if (overlaps)
      kernel->setAttr(kWaitsAttribute, builder.getUnitAttr());
    return success();
  }
};
} // namespace
