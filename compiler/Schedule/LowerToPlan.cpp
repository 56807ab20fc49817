#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Schedule/Buffers.h"
#include "compiler/Schedule/Passes.h"
#include "compiler/Schedule/ProgramLowering.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "runtime/Base/Initializer.h"
#include "runtime/Format/PipelineStages.h"

namespace sinter {
#define GEN_PASS_DEF_LOWERTOPLANPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;
using plan::Space;

namespace {
struct LowerToPlanPass : sinter::impl::LowerToPlanPassBase<LowerToPlanPass> {
  using LowerToPlanPassBase::LowerToPlanPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SharedSpaces spaces;
    SmallVector<func::FuncOp> entries = getEntries(module);
    SymbolTable kernels(module);
    for (func::FuncOp entry : entries)
      if (failed(lowerEntry(entry, kernels, spaces)))
        return signalPassFailure();
    for (func::FuncOp entry : entries)
      entry.erase();
    placeFlights(module, spaces);
    for (const auto &[place, tensors] : spaces.unprocessed)
      copyUnprocessed(module, place, tensors, spaces.parameters[place]);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      // A GPU's kernels are still to be printed, with what they compute in their heads.
      if (function->hasAttr(SinterDialect::kKernel) && !function->hasAttr(kBlockAttribute))
        function.erase();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    declareParameters(builder, module.getLoc(), spaces);
    spaces.constants.materialize(builder, module.getLoc());
  }

private:
  /// Puts what is in flight behind the states of a place: of each of its stages as many slots as it
  /// has microbatches at a time.
  static void placeFlights(ModuleOp module, SharedSpaces &spaces) {
    auto slots = module->getAttrOfType<DenseI64ArrayAttr>(kPipelineSlots);
    if (!slots)
      return;
    std::map<int64_t, int64_t> ends;
    for (const auto &[place, states] : spaces.states)
      ends[place] = states.getBytes();
    SmallVector<int64_t> layout, begins;
    for (auto [stage, count] : llvm::enumerate(slots.asArrayRef())) {
      int64_t &end = ends[getPipelinePlace(module, stage)];
      int64_t bytes = spaces.flights[stage].getBytes();
      begins.push_back(end);
      layout.append({end, bytes, count});
      end += bytes * count;
    }
    for (auto [slice, stage] : spaces.flightSlices)
      slice.setOffset(begins[stage] + slice.getOffset());
    module->setAttr(kPipelineLayout, Builder(module.getContext()).getDenseI64ArrayAttr(layout));
  }

  static void declareParameters(OpBuilder &builder, Location loc, const SharedSpaces &spaces) {
    for (auto &[name, parameter] : spaces.checkpoint) {
      auto [type, normal] = parameter;
      Initializer initializer = normal ? Initializer{normal.getMean().convertToDouble(),
                                                     normal.getDeviation().convertToDouble()}
                                       : defaultInitializer(name.getValue(), type.getRank());
      plan::ParameterOp::create(builder, loc, name.getValue(), type,
                                llvm::APFloat(initializer.mean),
                                llvm::APFloat(initializer.deviation));
    }
  }

  /// Copies what steps read of the checkpoint as it is, in `@preprocess`, which is made if need be.
  static void copyUnprocessed(ModuleOp module, int64_t place,
                              const llvm::MapVector<StringAttr, Type> &tensors,
                              NamedSpace &parameters) {
    Location loc = module.getLoc();
    bool pipelined = module->hasAttr(kPipelineSlots);
    std::string name = runtime::nameOfPreprocess(pipelined, static_cast<uint64_t>(place));
    auto program = module.lookupSymbol<plan::ProgramOp>(name);
    if (!program) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      program = plan::ProgramOp::create(builder, loc, name, IntegerAttr(), IntegerAttr());
      if (pipelined)
        program->setAttr(kPipelineStage, builder.getI64IntegerAttr(place));
      program.getBody().emplaceBlock();
    }
    llvm::DenseMap<StringRef, Value> checkpoint;
    for (auto slice : program.getBlock()->getOps<plan::SliceOp>())
      if (slice.getSpace() == Space::Checkpoint && slice.getType())
        checkpoint[*slice.getName()] = slice;
    OpBuilder builder = OpBuilder::atBlockEnd(program.getBlock());
    auto createSlice = [&](Space space, int64_t offset, StringAttr name, Type type) -> Value {
      return plan::SliceOp::create(builder, loc, plan::SliceType::get(type.getContext()), space,
                                   offset, getStorageBytes(type), name, TypeAttr::get(type));
    };
    for (auto [tensor, type] : tensors) {
      Value &source = checkpoint[tensor];
      if (!source)
        source = createSlice(Space::Checkpoint, 0, tensor, type);
      StringAttr name = builder.getStringAttr(getUnprocessedName(tensor));
      Value out = createSlice(Space::Parameter, *parameters.place(name, type), name, type);
      plan::CopyOp::create(builder, loc, source, out, /*flops=*/0, /*narrow_flops=*/0,
                           /*byte_flops=*/0, /*nibble_flops=*/0, 2 * getStorageBytes(type),
                           /*shared_bytes=*/0, /*private_bytes=*/0,
                           /*predicted_ns=*/0, "copy", "");
    }
  }
};
} // namespace
