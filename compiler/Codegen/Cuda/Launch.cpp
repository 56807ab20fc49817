#include "compiler/Codegen/Cuda/Kernels.h"

using namespace mlir;
using namespace sinter;

void sinter::setLaunch(func::FuncOp tensorKernel, const CudaLaunch &launch) {
  Builder builder(tensorKernel.getContext());
  tensorKernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(launch.grid));
  tensorKernel->setAttr(kBlockAttribute, builder.getI64IntegerAttr(launch.block));
  tensorKernel->setAttr(kSharedAttribute, builder.getI64IntegerAttr(launch.sharedBytes));
  if (launch.scratchBytes != 0)
    tensorKernel->setAttr(kScratchAttribute, builder.getI64IntegerAttr(launch.scratchBytes));
  if (launch.waits)
    tensorKernel->setAttr(kWaitsAttribute, builder.getUnitAttr());
}

std::optional<CudaLaunch> sinter::getLaunch(func::FuncOp tensorKernel) {
  auto grid = tensorKernel->getAttrOfType<IntegerAttr>(kGridAttribute);
  auto block = tensorKernel->getAttrOfType<IntegerAttr>(kBlockAttribute);
  auto shared = tensorKernel->getAttrOfType<IntegerAttr>(kSharedAttribute);
  if (!grid || !block || !shared)
    return std::nullopt;
  auto scratch = tensorKernel->getAttrOfType<IntegerAttr>(kScratchAttribute);
  return CudaLaunch{grid.getInt(), block.getInt(), shared.getInt(), scratch ? scratch.getInt() : 0,
                    tensorKernel->hasAttr(kWaitsAttribute)};
}
