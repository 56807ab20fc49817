#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Families/CommandBuilder.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"
#include "compiler/Families/PackCommand.h"
#include "dialects/Plan/PlanDialect.h"

using namespace mlir;
using namespace sinter;

namespace {
struct PackFamily : KernelFamily {
  PackFamily() : KernelFamily("pack") {}

  bool isRoot(Operation *op) const override { return isa<PackOp>(op) && !isForGpu(op); }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    std::string reason;
    return succeeded(matchPack(ops, reason)) ? ""
                                             : "packing takes slices, casts and transposes of "
                                               "matrices";
  }

  bool isCommand() const override { return true; }

  LogicalResult lowerToCommand(FusionOp fusion, CommandBuilder &commands) const override {
    std::string reason;
    FailureOr<PackCommand> pack = matchPack(getOps(*fusion.getBlock()), reason);
    if (failed(pack))
      return fusion.emitError(reason);
    OpBuilder &builder = commands.getBuilder();
    SmallVector<Value> sources;
    SmallVector<Attribute> layouts;
    for (const PackSource &source : pack->sources) {
      Value slice =
          commands.getSlice(fusion.getInputs()[cast<BlockArgument>(source.value).getArgNumber()]);
      if (source.bytes != getStorageBytes(source.value.getType())) {
        auto whole = slice.getDefiningOp<plan::SliceOp>();
        if (!whole)
          return fusion.emitError("expected a part to be packed to be an argument's");
        slice = plan::SliceOp::create(
            builder, fusion.getLoc(), slice.getType(), whole.getSpace(),
            whole.getOffset() + source.offset, source.bytes,
            whole.getSpace() == plan::Space::Checkpoint ? whole.getNameAttr() : StringAttr(),
            TypeAttr());
      }
      sources.push_back(slice);
      layouts.push_back(plan::PackSourceAttr::get(fusion.getContext(), source.dtype, source.n,
                                                  source.stride, source.transposed));
    }
    CommandInfo info = describeCommand(fusion, commands.getTarget());
    plan::PackOp::create(
        builder, fusion.getLoc(), pack->k, pack->n, pack->dtype, pack->panels.getWidth(),
        pack->panels.getInterleave(), pack->panels.getDepth(), pack->panels.getValues(), sources,
        commands.makeSlice(fusion.getResult(0)), builder.getArrayAttr(layouts), info.flops,
        info.narrowFlops, info.byteFlops, info.nibbleFlops, info.bytes, info.sharedBytes,
        info.privateBytes, info.predictedNs, info.label, info.layer, stringifyStage(info.stage));
    return success();
  }
};
} // namespace

const KernelFamily &sinter::getPackFamily() {
  static const PackFamily family;
  return family;
}
