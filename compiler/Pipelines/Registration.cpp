#include "compiler/Pipelines/Registration.h"
#include "compiler/Analysis/Passes.h"
#include "compiler/Autodiff/Passes.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Families/Families.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Global/Passes.h"
#include "compiler/Import/Passes.h"
#include "compiler/Layout/Passes.h"
#include "compiler/Memory/Passes.h"
#include "compiler/Precision/Passes.h"
#include "compiler/Reference/Passes.h"
#include "compiler/Schedule/Passes.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Check/CheckDialect.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::registerDialects(DialectRegistry &registry) {
  registry.insert<SinterDialect, check::CheckDialect, plan::PlanDialect, arith::ArithDialect,
                  func::FuncDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  registerKernelFamilies(registry);
}

void sinter::registerPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  registerAnalysisPasses();
  registerAutodiffPasses();
  registerCodegenPasses();
  registerCudaCodegenPasses();
  registerFusionPasses();
  registerFusionPipeline();
  registerGlobalPasses();
  registerGlobalPipeline();
  registerImportPasses();
  registerLayoutPasses();
  registerLayoutPipeline();
  registerMemoryPasses();
  registerPrecisionPasses();
  registerPrecisionPipeline();
  registerReferencePasses();
  registerSchedulePasses();
  registerShardingPasses();
  registerShardingPipeline();
}

void sinter::registerEverything(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  registerDialects(registry);
  registerPasses();
}
