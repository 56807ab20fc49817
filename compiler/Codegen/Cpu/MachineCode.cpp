#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Codegen/Cpu/ObjectLinker.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Base/ThreadPool.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>
#include <numeric>
#include <optional>

using namespace mlir;
using namespace sinter;

static tl::unexpected<Error> makeDefect(std::string why) {
  auto error =
      fail("machine code", std::move(why), "please report it with the model's config.json");
  error.value().defect = true;
  return error;
}

static void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser(); // of what kernels have as assembly (MatrixTiles.h)
  });
}

/// A target machine that emits position-independent code. Nothing of floating-point
/// arithmetic is reordered or contracted.
static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const TargetAttr &target) {
  initializeBackend();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.getChip(), target.getFeatures(), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// What is left to do of kernels whose loops our passes have vectorized and unrolled: scalars and
/// addresses. -O2 makes the same inner loops in two and a half times the time; GVN in place of the
/// second CSE nothing better.
static constexpr const char *kPasses =
    "function("
    "sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion),"
    "early-cse<memssa>,dse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// The only lane that a mask leaves on, where it is a constant that leaves on one.
static std::optional<unsigned> findOnlyLane(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  if (!constant)
    return std::nullopt;
  std::optional<unsigned> only;
  auto *type = llvm::cast<llvm::FixedVectorType>(mask->getType());
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    llvm::Constant *on = constant->getAggregateElement(lane);
    if (!on || (!on->isNullValue() && (only || !on->isOneValue())))
      return std::nullopt;
    if (!on->isNullValue())
      only = lane;
  }
  return only;
}

/// Makes a masked store of one lane a store of its element. Instruction selection does so, too, but
/// in LLVM 22 with AVX-512 it takes the element as it was before a truncation in front of the
/// store: of integers of 8 or 16 bits that were of 32 it stores four bytes, over what lies behind.
static void storeSingleLanes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
        auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
          continue;
        std::optional<unsigned> lane = findOnlyLane(store->getArgOperand(2));
        if (!lane)
          continue;
        llvm::IRBuilder<> builder(store);
        llvm::Value *element = builder.CreateExtractElement(store->getArgOperand(0), *lane);
        llvm::Value *address =
            builder.CreateConstInBoundsGEP1_64(element->getType(), store->getArgOperand(1), *lane);
        llvm::Align alignment = store->getParamAlign(1).valueOrOne();
        if (*lane != 0)
          alignment = llvm::Align(1);
        builder.CreateAlignedStore(element, address, alignment);
        store->eraseFromParent();
      }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  passes.run(module, modules);
  storeSingleLanes(module);
}

namespace {
/// Kernels as LLVM IR, with what they need to live: one unit shares nothing with another.
struct Unit {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static Expected<Unit> translate(ModuleOp kernels, const TargetAttr &target) {
  Unit unit;
  unit.machine = makeTargetMachine(target);
  if (!unit.machine)
    return makeDefect("LLVM has no x86-64 backend");
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  unit.module = translateModuleToLLVMIR(kernels, *unit.context, "kernels");
  if (!unit.module)
    return makeDefect("kernels do not translate to LLVM IR");
  unit.module->setDataLayout(unit.machine->createDataLayout());
  unit.module->setTargetTriple(unit.machine->getTargetTriple());
  // Kernels are data-parallel over whole vectors: the widest registers pay.
  std::string width = std::to_string(target.getVectorBits());
  for (llvm::Function &function : *unit.module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.getChip());
    function.addFnAttr("target-features", target.getFeatures());
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("no-builtins"); // loops stay loops: there is no memcpy to call
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return unit;
}

/// The code of an optimized unit as an ELF object or as assembly.
static Expected<KernelObject> emit(Unit &unit, llvm::CodeGenFileType type) {
  KernelObject bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (unit.machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return makeDefect("LLVM's backend cannot emit code");
  passes.run(*unit.module);
  return bytes;
}

/// The functions that have code, in their order.
static std::vector<LLVM::LLVMFuncOp> listKernels(ModuleOp kernels) {
  std::vector<LLVM::LLVMFuncOp> list;
  for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>())
    if (!kernel.isExternal())
      list.push_back(kernel);
  return list;
}

/// A module that holds copies of a function and of all that it refers to.
static OwningOpRef<ModuleOp> isolate(LLVM::LLVMFuncOp kernel, const SymbolTable &symbols) {
  OpBuilder builder(kernel.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, kernel.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  llvm::SetVector<Operation *> needed;
  needed.insert(kernel);
  for (size_t i = 0; i < needed.size(); ++i) {
    builder.clone(*needed[i]);
    auto uses = SymbolTable::getSymbolUses(needed[i]);
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *symbol = symbols.lookup(use.getSymbolRef().getLeafReference()))
        needed.insert(symbol);
  }
  return module;
}

/// The objects of all units, in their order. Optimization and code generation are nearly all of a
/// compilation's time, so they run on all processors, the largest unit first.
static Expected<std::vector<KernelObject>> emitObjects(std::vector<Unit> units) {
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return units[a].module->getInstructionCount() > units[b].module->getInstructionCount();
  });
  std::vector<Expected<KernelObject>> objects(units.size());
  runtime::ThreadPool(0).run(units.size(), 1, [&](uint64_t begin, uint64_t end) {
    for (size_t i : llvm::ArrayRef(order).slice(begin, end - begin)) {
      Unit unit = std::move(units[i]); // freed when done: IR is many times its code
      optimize(*unit.module, *unit.machine);
      objects[i] = emit(unit, llvm::CodeGenFileType::ObjectFile);
    }
  });
  std::vector<KernelObject> result;
  for (auto &object : objects) {
    SINTER_CHECK(object);
    result.push_back(std::move(*object));
  }
  return result;
}

/// "+avx2,-sse4a,+shstk" -> {"avx2"}: the features that kernels could have been made to use.
static std::vector<std::string> listFeatures(llvm::StringRef features) {
  std::vector<std::string> names;
  for (llvm::StringRef feature : llvm::split(features, ','))
    if (feature.consume_front("+") && runtime::isKnownCpuFeature(feature))
      names.push_back(feature.str());
  return names;
}

Expected<MachineCode> sinter::emitMachineCode(ModuleOp kernels, const TargetAttr &target,
                                              const KernelCache *cache) {
  SymbolTable symbols(kernels);
  std::vector<std::pair<llvm::StringRef, const KernelObject *>> all, made;
  std::vector<Unit> units;
  for (LLVM::LLVMFuncOp kernel : listKernels(kernels)) {
    all.emplace_back(kernel.getName(), cache ? cache->find(kernel.getName()) : nullptr);
    if (all.back().second)
      continue;
    SINTER_TRY(Unit unit, translate(*isolate(kernel, symbols), target));
    // An object is that of all kernels of the same code.
    unit.module->getFunction(kernel.getName())->setName("kernel");
    units.push_back(std::move(unit));
  }
  SINTER_TRY(std::vector<KernelObject> objects, emitObjects(std::move(units)));
  for (auto &[name, object] : all)
    if (!object) {
      object = &objects[made.size()];
      made.emplace_back(name, object);
    }
  MachineCode code;
  code.cpuFeatures = listFeatures(target.getFeatures());
  for (const auto &[name, object] : all) {
    auto entry = linkObject(llvm::StringRef(object->data(), object->size()), code.image);
    if (!entry)
      return makeDefect(name.str() + ": " + llvm::toString(entry.takeError()));
    code.offsets[name.str()] = *entry;
  }
  if (cache)
    cache->keep(made);
  return code;
}

Expected<std::string> sinter::printMachineCode(ModuleOp kernels, const TargetAttr &target,
                                               CodeText form) {
  SINTER_TRY(Unit unit, translate(kernels, target));
  optimize(*unit.module, *unit.machine);
  std::string text;
  if (form == CodeText::Llvm) {
    llvm::raw_string_ostream stream(text);
    unit.module->print(stream, nullptr);
    return text;
  }
  SINTER_TRY(auto assembly, emit(unit, llvm::CodeGenFileType::AssemblyFile));
  return std::string(assembly.data(), assembly.size());
}
