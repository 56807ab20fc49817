#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/StageEntries.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/PipelineStages.h"
#include <cmath>

namespace sinter {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct SplitStagesPass : sinter::impl::SplitStagesPassBase<SplitStagesPass> {
  using SplitStagesPassBase::SplitStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    GridAttr grid = GridAttr::lookup(module);
    if (!grid || grid.getSize(runtime::kPipelineAxis) == 1)
      return markAllAnalysesPreserved();
    auto kind = runtime::parsePipelineSchedule(schedule);
    if (!kind)
      return fail(kind.error());
    shape.places = shape.stages = static_cast<uint32_t>(grid.getSize(runtime::kPipelineAxis));
    func::FuncOp entry = findModelEntry(module);
    // Inference takes one step after the other.
    if (!entry || !infers(entry)) {
      shape.schedule = *kind;
      shape.stages *= runtime::PipelineShape::stagesOfPlace(*kind);
      shape.microbatches = static_cast<uint64_t>(microbatches / grid.getSize("data"));
      if (auto checked = shape.check(); !checked)
        return fail(checked.error());
    }
    auto model = ModelStages::make(module, shape.stages, layers);
    if (!model)
      return fail(model.error());
    // What a step ends in, each stage runs of its own parameters.
    std::optional<uint32_t> without = model->findStageWithoutParameters();
    if (without && module.lookupSymbol("update")) {
      module.emitError("stage ") << *without
                                 << " of the pipeline has nothing to update: its layers share the "
                                    "parameters of stages before it";
      return signalPassFailure();
    }
    for (auto entry : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (entry->hasAttr(SinterDialect::kEntry) && failed(split(entry, *model)))
        return signalPassFailure();
    shareCopies(*model);
    setSlots();
    explain(*model);
  }

private:
  void fail(const Error &error) {
    getOperation().emitError(error.message());
    signalPassFailure();
  }

  LogicalResult split(func::FuncOp entry, const ModelStages &model) {
    copyBroadcasts(entry);
    FailureOr<EntryStages> stages =
        EntryStages::assign(entry, model, shape.schedule == runtime::PipelineSchedule::ZeroBubble);
    if (failed(stages))
      return failure();
    StageEntries parts(entry, model, *stages, channels);
    parts.run();
    farSenders.insert_range(parts.getFarSenders());
    findTypes(entry, model);
    entry.erase();
    return success();
  }

  /// Gives each use of what an optimizer broadcasts, as the scale of all gradients, a broadcast of
  /// its own, so that stages send what is broadcast.
  static void copyBroadcasts(func::FuncOp entry) {
    for (auto broadcast : llvm::to_vector(entry.getOps<BroadcastOp>())) {
      if (getStage(broadcast.getLoc()) != Stage::Optimizer)
        continue;
      OpBuilder builder(broadcast);
      while (!broadcast->use_empty() && !broadcast->hasOneUse())
        broadcast->use_begin()->set(builder.clone(*broadcast)->getResult(0));
    }
  }

  /// Remembers what copied parameters are, as arguments.
  void findTypes(func::FuncOp entry, const ModelStages &model) {
    for (BlockArgument argument : entry.getArguments())
      if (auto name =
              entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kState);
          name && model.getCopies().contains(name))
        copied.try_emplace(name, argument.getType(), entry.getArgAttrDict(argument.getArgNumber()));
  }

  /// Makes entries that send parameters to the stages that have copies, and others that receive
  /// them.
  void shareCopies(const ModelStages &model) {
    for (uint32_t stage = 0; stage < shape.stages; ++stage) {
      Share share;
      for (const auto &[name, readers] : model.getCopies()) {
        auto [type, attributes] = copied.at(name);
        uint32_t home = *model.getHome(name.getValue());
        Builder builder(&getContext());
        for (uint32_t reader : readers) {
          int64_t channel = channelOfCopy.try_emplace({name.str(), reader}, channels).first->second;
          channels = std::max(channels, channel + 1);
          if (stage == reader) {
            NamedAttrList own = withoutRole(attributes);
            own.set(SinterDialect::kState, builder.getStringAttr(getCopyName(name, stage)));
            share.add(type, own, kReceive, {home, channel}, builder);
          }
          if (stage == home)
            share.add(type, attributes, kSend, {reader, channel}, builder);
        }
      }
      if (!share.types.empty())
        share.build(getOperation(), stage);
    }
  }

  static NamedAttrList withoutRole(DictionaryAttr attributes) {
    NamedAttrList list(attributes);
    for (StringRef name :
         {SinterDialect::kRole, SinterDialect::kInitializer, SinterDialect::kDonated})
      list.erase(name);
    return list;
  }

  /// An entry that returns its states as they are.
  struct Share {
    void add(Type type, NamedAttrList attributes, StringRef key, ArrayRef<int64_t> numbers,
             Builder &builder) {
      attributes.erase(SinterDialect::kDonated);
      types.push_back(type);
      NamedAttrList result;
      for (StringRef kept : {SinterDialect::kState, SinterDialect::kSharding, SinterDialect::kWhole,
                             SinterDialect::kBox})
        if (Attribute value = attributes.get(kept))
          result.set(kept, value);
      (key == kSend ? result : attributes).set(key, builder.getDenseI64ArrayAttr(numbers));
      arguments.push_back(attributes.getDictionary(builder.getContext()));
      results.push_back(result.getDictionary(builder.getContext()));
    }

    void build(ModuleOp module, uint32_t stage) {
      OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
      auto function =
          func::FuncOp::create(builder, module.getLoc(),
                               runtime::nameOfPass("share", stage, runtime::PipelinePass::Forward),
                               builder.getFunctionType(types, types));
      function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
      function->setAttr(kPipelineStage, builder.getI64IntegerAttr(stage));
      Block *block = function.addEntryBlock();
      builder.setInsertionPointToEnd(block);
      func::ReturnOp::create(builder, module.getLoc(), block->getArguments());
      for (auto [i, argument] : llvm::enumerate(arguments)) {
        NamedAttrList donated(argument);
        donated.set(SinterDialect::kDonated, builder.getI64IntegerAttr(i));
        function.setArgAttrs(i, donated.getDictionary(module.getContext()));
        function.setResultAttrs(i, results[i]);
      }
    }

    SmallVector<Type> types;
    SmallVector<DictionaryAttr> arguments, results;
  };

  void explain(const ModelStages &model) {
    auto slots = getOperation()->getAttrOfType<DenseI64ArrayAttr>(kPipelineSlots);
    for (auto [stage, part] : llvm::enumerate(model.getParts()))
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("PipelineStage").category("sinter-sharding"))
          << remark::add("stage {0} of a pipeline: layers {1} to {2}, {3} % of the predicted time, "
                         "microbatches in flight: {4}",
                         stage, part.begin, part.end - 1,
                         static_cast<int64_t>(std::lround(100 * part.share)), slots[stage]);
  }

  /// A stage that sends past its neighbour goes on before that has arrived, as far as all places
  /// are ahead of each other.
  void setSlots() {
    SmallVector<int64_t> slots;
    for (uint32_t stage = 0; stage < shape.stages; ++stage) {
      uint64_t own = shape.slotsOf(stage);
      if (farSenders.contains(stage))
        own = std::max<uint64_t>(own, std::min<uint64_t>(shape.microbatches, shape.stages));
      slots.push_back(static_cast<int64_t>(own));
    }
    getOperation()->setAttr(kPipelineSlots, Builder(&getContext()).getDenseI64ArrayAttr(slots));
  }

  runtime::PipelineShape shape;
  int64_t channels = 0;
  llvm::SetVector<uint32_t> farSenders;
  llvm::DenseMap<StringAttr, std::pair<Type, DictionaryAttr>> copied; ///< parameters
  std::map<std::pair<std::string, uint32_t>, int64_t> channelOfCopy;  ///< by name and stage
};
} // namespace
