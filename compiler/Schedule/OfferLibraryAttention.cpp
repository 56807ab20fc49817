#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Schedule/Passes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_OFFERLIBRARYATTENTIONPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// An instance of the template attention_forward: what it is instantiated with and given.
class Instance {
public:
  explicit Instance(DictionaryAttr description)
      : description(description), parameters(description.getAs<DictionaryAttr>("parameters")) {}

  int64_t number(StringRef name) const { return parameters.getAs<IntegerAttr>(name).getInt(); }
  bool flag(StringRef name) const { return parameters.getAs<BoolAttr>(name).getValue(); }
  double real(StringRef name) const { return parameters.getAs<FloatAttr>(name).getValueAsDouble(); }
  Type type(StringRef name) const { return parameters.getAs<TypeAttr>(name).getValue(); }
  /// Where heads of "query", "key" or "value" begin, as plan.attention has it: the offset, and the
  /// strides of batches, rows and heads, in elements.
  SmallVector<int64_t, 4> layout(StringRef of) const {
    auto part = [&](StringRef name) { return number((of + name).str()); };
    return {part("Offset"), part("BatchStride"), part("RowStride"), part("HeadStride")};
  }
  /// Which of the kernel's pointers an argument is; -1 where there is none.
  int64_t argument(StringRef name) const { return getTemplateArgument(description, name); }

private:
  DictionaryAttr description, parameters;
};
} // namespace

/// The reason why the library is not offered an attention; empty where it is.
static StringRef findObstacle(const Instance &instance, const LibraryAttention &library) {
  Type element = instance.type("Element"), result = instance.type("Result");
  if (element.getIntOrFloatBitWidth() != 16 || instance.type("Query") != element)
    return "expected queries and keys of one type of 16 bits";
  if (instance.flag("hasStart") || instance.flag("hasFirst"))
    return "expected no positions that only the device knows";
  if (instance.flag("hasSlopes") || instance.real("softcap") != 0 || instance.real("dropout") != 0)
    return "expected no ALiBi, soft cap or dropout";
  // A query without a key has weights of zero here, and equal ones there.
  if (instance.number("window") && instance.number("length") > instance.number("maxSequence"))
    return "expected a key for every query";
  if (instance.number("headSize") > 256)
    return "expected heads of 256 elements at the most";
  int64_t elements = library.alignedBytes / 2;
  bool aligned = instance.number("headSize") % elements == 0;
  for (StringRef operand : {"query", "key", "value"})
    aligned &= llvm::all_of(instance.layout(operand),
                            [&](int64_t distance) { return distance % elements == 0; });
  if (!aligned)
    return "expected heads that begin at multiples of 16 bytes";
  // The library takes plans of results in f32, and on an H200 writes other numbers (cuDNN 9.19).
  if (result != element)
    return "expected a result of the keys' type";
  return "";
}

namespace {
struct OfferLibraryAttentionPass
    : sinter::impl::OfferLibraryAttentionPassBase<OfferLibraryAttentionPass> {
  using OfferLibraryAttentionPassBase::OfferLibraryAttentionPassBase;

  void runOnOperation() override {
    ModuleOp code = lookupKernels(getOperation());
    TargetAttr target = code ? TargetAttr::lookup(code) : nullptr;
    std::optional<LibraryAttention> library =
        target ? describeLibraryAttention(target) : std::nullopt;
    if (!library)
      return markAllAnalysesPreserved();
    SymbolTable functions(code);
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      for (auto command : llvm::to_vector(program.getBlock()->getOps<plan::CommandInterface>()))
        offer(command, functions, *library);
  }

private:
  static void offer(plan::CommandInterface command, const SymbolTable &functions,
                    const LibraryAttention &library) {
    auto choice = dyn_cast<plan::AlternativesOp>(command.getOperation());
    SmallVector<plan::CommandInterface> ways =
        choice ? choice.getCommands() : SmallVector<plan::CommandInterface>{command};
    auto launch = dyn_cast<plan::LaunchOp>(ways.front().getOperation());
    auto function = launch ? functions.lookup<func::FuncOp>(launch.getKernel()) : func::FuncOp();
    auto description =
        function ? function->getAttrOfType<DictionaryAttr>(kTemplateAttribute) : DictionaryAttr();
    auto name = description ? description.getAs<StringAttr>("function") : StringAttr();
    if (!name || name.getValue() != "attention_forward")
      return;
    remark::RemarkOpts options = remark::RemarkOpts::name("OfferLibraryAttention")
                                     .category("sinter-schedule")
                                     .function(launch.getKernel());
    Instance instance(description);
    if (StringRef obstacle = findObstacle(instance, library); !obstacle.empty()) {
      remark::missed(launch.getLoc(), options) << remark::reason("{0}", obstacle);
      return;
    }
    remark::passed(launch.getLoc(), options) << remark::add(
        "the library may compute it, too, with {0} bytes of workspace", library.workspaceBytes);
    OpBuilder builder(command);
    SmallVector<Operation *> all(ways.begin(), ways.end());
    all.push_back(createAttention(builder, launch, instance, library.workspaceBytes));
    builder.setInsertionPointAfter(command);
    plan::AlternativesOp::create(builder, launch.getLoc(), all);
    if (choice)
      choice.erase();
  }

  static Operation *createAttention(OpBuilder &builder, plan::LaunchOp launch,
                                    const Instance &instance, int64_t workspaceBytes) {
    SmallVector<Value> pointers(launch.getInputs());
    llvm::append_range(pointers, launch.getOutputs());
    auto pointer = [&](StringRef argument) {
      int64_t index = instance.argument(argument);
      return index < 0 ? Value() : pointers[index];
    };
    auto layout = [&](StringRef operand) {
      return builder.getDenseI64ArrayAttr(instance.layout(operand));
    };
    Value workspace = plan::AllocOp::create(
        builder, launch.getLoc(), plan::SliceType::get(builder.getContext()), workspaceBytes);
    return plan::AttentionOp::create(
        builder, launch.getLoc(), instance.number("batch"), instance.number("length"),
        instance.number("maxSequence"), instance.number("heads"), instance.number("keyHeads"),
        instance.number("headSize"), instance.type("Element"), instance.type("Result"),
        layout("query"), layout("key"), layout("value"),
        APFloat(static_cast<float>(instance.real("scale"))), instance.flag("causal"),
        instance.number("window"), pointer("query"), pointer("key"), pointer("value"),
        pointer("result"), pointer("logsumexp"), workspace, launch.getFlops(),
        launch.getNarrowFlops(), launch.getByteFlops(), launch.getNibbleFlops(), launch.getBytes(),
        launch.getSharedBytes(), launch.getPrivateBytes(), launch.getPredictedNs(),
        launch.getLabel(), launch.getLayer(), launch.getStage());
  }
};
} // namespace
