#include "compiler/Analysis/Machine.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/Target.h"
#include "mlir/IR/MLIRContext.h"

using namespace sinter;

Expected<Machine> sinter::describeMachine(std::string_view target, int64_t cores) {
  mlir::MLIRContext context;
  context.loadDialect<SinterDialect>();
  SINTER_TRY(TargetAttr attribute, parseTarget(&context, target, cores));
  CostModel model(attribute);
  Machine machine;
  machine.chip = attribute.getChip().str();
  machine.cores = attribute.getCores();
  machine.vectorBits = attribute.getVectorBits();
  machine.rates.flops = 1e9 * static_cast<double>(attribute.getGflopsF32());
  machine.rates.narrowFlops = 1e9 * static_cast<double>(attribute.getGflopsBf16());
  machine.rates.byteFlops = 1e9 * getGflopsOfBytes(attribute, 8);
  machine.rates.nibbleFlops = 1e9 * getGflopsOfBytes(attribute, 4);
  machine.rates.memoryBytes = 1e9 * model.getBandwidth(MemoryLevel::Memory);
  machine.rates.sharedBytes = 1e9 * model.getBandwidth(MemoryLevel::SharedCache);
  machine.rates.privateBytes = 1e9 * model.getBandwidth(MemoryLevel::PrivateCaches);
  machine.launchSeconds = 1e-9 * static_cast<double>(attribute.getLaunchNs());
  return machine;
}
