#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Codegen/Cpu/ObjectLinker.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/Device/Cpu/Features.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

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
  });
}

/// A target machine that emits position-independent code. Multiply-adds that the kernels allow
/// (contract) are fused; nothing else of floating-point arithmetic is reordered.
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
      triple, target.getCpu(), target.getFeatures(), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Scalar cleanup and addressing; loops are vectorized and unrolled before, by our passes.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

namespace {
/// The kernels as optimised LLVM IR, with what they need to live.
struct OptimizedModule {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static Expected<OptimizedModule> translate(ModuleOp kernels, const TargetAttr &target) {
  OptimizedModule result;
  result.machine = makeTargetMachine(target);
  if (!result.machine)
    return makeDefect("LLVM has no x86-64 backend");
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  result.module = translateModuleToLLVMIR(kernels, *result.context, "kernels");
  if (!result.module)
    return makeDefect("kernels do not translate to LLVM IR");
  result.module->setDataLayout(result.machine->createDataLayout());
  result.module->setTargetTriple(result.machine->getTargetTriple());
  // Kernels are data-parallel over whole vectors: the widest registers pay.
  std::string width = std::to_string(target.getVectorBits());
  for (llvm::Function &function : *result.module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.getCpu());
    function.addFnAttr("target-features", target.getFeatures());
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("no-builtins"); // loops stay loops: there is no memcpy to call
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  optimize(*result.module, *result.machine);
  return result;
}

/// The code as an ELF object or as assembly.
static Expected<llvm::SmallVector<char, 0>> emit(OptimizedModule &optimized,
                                                 llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (optimized.machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return makeDefect("LLVM's backend cannot emit code");
  passes.run(*optimized.module);
  return bytes;
}

/// "+avx2,-sse4a,+shstk" -> {"avx2"}: the features that kernels could have been made to use.
static std::vector<std::string> listFeatures(llvm::StringRef features) {
  std::vector<std::string> names;
  for (llvm::StringRef feature : llvm::split(features, ','))
    if (feature.consume_front("+") && runtime::isKnownCpuFeature(feature))
      names.push_back(feature.str());
  return names;
}

Expected<MachineCode> sinter::emitMachineCode(ModuleOp kernels, const TargetAttr &target) {
  SINTER_TRY(OptimizedModule optimized, translate(kernels, target));
  SINTER_TRY(auto object, emit(optimized, llvm::CodeGenFileType::ObjectFile));
  MachineCode code;
  code.cpuFeatures = listFeatures(target.getFeatures());
  auto linked = linkObject(llvm::StringRef(object.data(), object.size()), code.image, code.offsets);
  if (linked)
    return makeDefect(llvm::toString(std::move(linked)));
  return code;
}

Expected<std::string> sinter::printMachineCode(ModuleOp kernels, const TargetAttr &target,
                                               CodeText form) {
  SINTER_TRY(OptimizedModule optimized, translate(kernels, target));
  std::string text;
  if (form == CodeText::Llvm) {
    llvm::raw_string_ostream stream(text);
    optimized.module->print(stream, nullptr);
    return text;
  }
  SINTER_TRY(auto assembly, emit(optimized, llvm::CodeGenFileType::AssemblyFile));
  return std::string(assembly.data(), assembly.size());
}
