#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/ExpandFp8.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sinter {
#define GEN_PASS_DEF_LOWERKERNELSTOLLVMPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static bool isBF16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// Says of vectors in memory what they are aligned to, which is an element. Without that MLIR asks
/// LLVM, in a context of LLVM's that it makes for each load and store.
static void setAlignments(ModuleOp kernels) {
  kernels.walk([](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp, vector::MaskedStoreOp>(
            [](auto access) {
              unsigned bits = access.getMemRefType().getElementTypeBitWidth();
              access.setAlignment(llvm::divideCeil(bits, 8));
            });
  });
}

/// Every operation rounds as it is written: LLVM may neither reorder nor contract (`a * b + c`
/// rounded once). Which of them it would contract depends on what else a kernel computes, and so on
/// what is fused with it; but a value has to be the same number wherever it is computed, again in
/// the backward pass or on one rank of many.
static LogicalResult convertToLLVM(ModuleOp kernels, const TargetAttr &target) {
  MLIRContext *context = kernels.getContext();
  // Of a processor that has no instructions on bf16, its numbers are words of 16 bits: LLVM would
  // have them moved and rounded by calls into a compiler's support library.
  bool hasBF16 = hasPairDot(target);
  ConversionConfig config;
  config.allowPatternRollback = false; // what fails fails as a whole: there is nothing to undo
  {
    RewritePatternSet patterns(context);
    populateAffineToStdConversionPatterns(patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget legal(*context);
    legal.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    legal.addIllegalDialect<affine::AffineDialect, scf::SCFDialect>();
    populateExpandFp8Patterns(patterns);
    if (!hasBF16)
      arith::populateExpandBFloat16Patterns(patterns);
    auto isLegal = [hasBF16](Type type) { return !isFp8(type) && (hasBF16 || !isBF16(type)); };
    legal.addDynamicallyLegalOp<arith::TruncFOp>(
        [isLegal](arith::TruncFOp op) { return isLegal(op.getType()); });
    legal.addDynamicallyLegalOp<arith::ExtFOp>(
        [isLegal](arith::ExtFOp op) { return isLegal(op.getIn().getType()); });
    if (failed(applyPartialConversion(kernels, legal, std::move(patterns), config)))
      return failure();
  }
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  if (!hasBF16) {
    auto word = IntegerType::get(context, 16);
    converter.addConversion([word](BFloat16Type) -> Type { return word; });
    converter.addConversion([word](VectorType type) -> std::optional<Type> {
      if (!isBF16(type) || type.getRank() != 1)
        return std::nullopt;
      return type.clone(word);
    });
  }
  RewritePatternSet patterns(context);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  LLVMConversionTarget legal(*context);
  legal.addLegalOp<ModuleOp>();
  return applyFullConversion(kernels, legal, std::move(patterns), config);
}

/// Gives a kernel the runtime's calling convention: it loads its slices' addresses from an array.
/// That they do not alias is lost; LLVM made nothing better of it.
static void loadSlices(LLVM::LLVMFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  Location loc = kernel.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  unsigned addresses = entry.getNumArguments() - 2;
  BlockArgument slices = entry.insertArgument(0u, pointer, loc);
  for (unsigned i = 0; i < addresses; ++i) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, pointer, slices,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, place);
    entry.getArgument(1).replaceAllUsesWith(address);
    entry.eraseArgument(1);
  }
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(none, {pointer, i64, i64}));
  kernel.removeArgAttrsAttr();
  kernel.setVisibility_(LLVM::Visibility::Hidden);
}

namespace {
struct LowerKernelsToLLVMPass : sinter::impl::LowerKernelsToLLVMPassBase<LowerKernelsToLLVMPass> {
  using LowerKernelsToLLVMPassBase::LowerKernelsToLLVMPassBase;

  void runOnOperation() override {
    ModuleOp kernels = lookupKernels(getOperation());
    if (!kernels)
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(kernels);
    if (!target) {
      kernels.emitError("expected a module with a target (") << SinterDialect::kTarget << ")";
      return signalPassFailure();
    }
    setAlignments(kernels);
    if (failed(convertToLLVM(kernels, target)))
      return signalPassFailure();
    for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        loadSlices(function);
  }
};
} // namespace
