#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Families/CommandBuilder.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"
#include "compiler/Families/PackCommand.h"

using namespace mlir;
using namespace sinter;

/// Integers that products multiply by.
static bool isSmallInteger(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger(8) || element.isInteger(4);
}

namespace {
struct PackFamily : KernelFamily {
  PackFamily() : KernelFamily("pack") {}

  bool isRoot(Operation *op) const override { return isa<PackOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *root) const override {
    constexpr StringRef reason = "packing takes slices, casts and transposes of matrices";
    unsigned used = 1;
    auto strip = [&](Value &value, auto matches) {
      if (!isInside(value, ops) || !matches(value.getDefiningOp()))
        return false;
      ++used;
      value = value.getDefiningOp()->getOperand(0);
      return true;
    };
    SmallVector<Value> sources{root->getOperand(0)};
    if (isInside(sources[0], ops) && isa<ConcatOp>(sources[0].getDefiningOp())) {
      auto concat = cast<ConcatOp>(sources[0].getDefiningOp());
      if (concat.getDim() != 1)
        return reason;
      ++used;
      sources.assign(concat.getOperands().begin(), concat.getOperands().end());
    }
    for (Value source : sources) {
      strip(source, [](Operation *op) { return isa<TransposeOp>(op); });
      if (typeOf(source).getRank() != 2)
        return reason;
      bool reshaped = strip(source, isAlias);
      strip(source, [](Operation *op) {
        return isa<CastOp>(op) && isFloat(op->getOperand(0).getType()) &&
               isFloat(op->getResult(0).getType());
      });
      reshaped |= strip(source, isAlias);
      if (!reshaped)
        // Part of an argument has an address of its own; part of what a step makes has none.
        strip(source, [](Operation *op) {
          return isa<SliceOp>(op) && isa<BlockArgument>(op->getOperand(0));
        });
      if (isInside(source, ops) ||
          (!isFloat(source.getType()) && !isSmallInteger(source.getType())) ||
          (!reshaped && typeOf(source).getRank() != 2))
        return reason;
    }
    bool oneResult =
        llvm::none_of(ops, [&](Operation *op) { return op != root && escapes(op, ops); });
    if (used != ops.size() || !oneResult)
      return reason;
    return {};
  }

  bool isCommand() const override { return true; }

  LogicalResult lowerToCommand(FusionOp fusion, CommandBuilder &commands) const override {
    std::string reason;
    FailureOr<PackCommand> pack = matchPack(*fusion.getBlock(), reason);
    if (failed(pack))
      return fusion.emitError(reason);
    OpBuilder &builder = commands.getBuilder();
    SmallVector<Value> sources;
    SmallVector<Attribute> layouts;
    for (const PackSource &source : pack->sources) {
      Value slice = commands.getSlice(fusion.getInputs()[source.argument.getArgNumber()]);
      if (source.bytes != getStorageBytes(source.argument.getType())) {
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
      layouts.push_back(source.layout);
    }
    CommandInfo info = describeCommand(fusion, commands.getTarget());
    plan::PackOp::create(builder, fusion.getLoc(), pack->k, pack->n, pack->dtype,
                         pack->panels.getWidth(), pack->panels.getInterleave(),
                         pack->panels.getDepth(), sources, commands.makeSlice(fusion.getResult(0)),
                         builder.getArrayAttr(layouts), info.flops, info.narrowFlops, info.bytes,
                         info.sharedBytes, info.privateBytes, info.predictedNs, info.label,
                         info.layer, stringifyStage(info.stage));
    return success();
  }
};
} // namespace

const KernelFamily &sinter::getPackFamily() {
  static const PackFamily family;
  return family;
}
