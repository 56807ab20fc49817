#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Schedule/Passes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Device/Cuda/CudnnProblem.h"
#include <map>
#include <optional>

namespace sinter {
#define GEN_PASS_DEF_OFFERLIBRARYATTENTIONPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;
using runtime::cuda::CudnnProblem;

namespace {
/// An instance of the template attention_forward as the library may compute it.
struct Instance {
  CudnnProblem problem;
  Type dtype, outDtype;
  /// The kernel's pointers; none for a logsumexp that is not wanted.
  int64_t query, key, value, result, logsumexp;
  int64_t queryOffset, keyOffset, valueOffset;
};

/// Reads the parameters that a kernel is instantiated with.
class Parameters {
public:
  explicit Parameters(DictionaryAttr all) : all(all) {}
  int64_t number(StringRef name) const { return all.getAs<IntegerAttr>(name).getInt(); }
  bool flag(StringRef name) const { return all.getAs<BoolAttr>(name).getValue(); }
  double real(StringRef name) const { return all.getAs<FloatAttr>(name).getValueAsDouble(); }
  Type type(StringRef name) const { return all.getAs<TypeAttr>(name).getValue(); }
  CudnnProblem::Strides strides(StringRef of) const {
    return {number((of + "BatchStride").str()), number((of + "RowStride").str()),
            number((of + "HeadStride").str())};
  }

private:
  DictionaryAttr all;
};
} // namespace

/// The instance that a kernel is, or the reason why the library is not asked for it.
static Expected<Instance> readInstance(func::FuncOp function) {
  auto describes = function->getAttrOfType<DictionaryAttr>(kTemplateAttribute);
  Parameters parameters(describes.getAs<DictionaryAttr>("parameters"));
  auto refuse = [](StringRef why) { return fail("", why.str(), ""); };
  Instance instance;
  instance.dtype = parameters.type("Element");
  instance.outDtype = parameters.type("Result");
  if (instance.dtype.getIntOrFloatBitWidth() != 16 || parameters.type("Query") != instance.dtype)
    return refuse("expected queries and keys of one type of 16 bits");
  if (instance.outDtype != instance.dtype && !instance.outDtype.isF32())
    return refuse("expected a result of the keys' type or f32");
  if (parameters.flag("hasStart") || parameters.flag("hasFirst"))
    return refuse("expected no positions that only the device knows");
  if (parameters.flag("hasSlopes") || parameters.real("softcap") != 0 ||
      parameters.real("dropout") != 0)
    return refuse("expected no ALiBi, soft cap or dropout");
  auto dtypeOf = [](Type type) {
    return type.isBF16() ? fb::DType::BF16 : type.isF16() ? fb::DType::F16 : fb::DType::F32;
  };
  CudnnProblem &problem = instance.problem;
  problem.dtype = dtypeOf(instance.dtype);
  problem.outDtype = dtypeOf(instance.outDtype);
  problem.batch = parameters.number("batch");
  problem.length = parameters.number("length");
  problem.keys = parameters.number("capacity");
  problem.heads = parameters.number("heads");
  problem.keyHeads = parameters.number("keyHeads");
  problem.headSize = parameters.number("headSize");
  problem.query = parameters.strides("query");
  problem.key = parameters.strides("key");
  problem.value = parameters.strides("value");
  problem.scale = static_cast<float>(parameters.real("scale"));
  problem.causal = parameters.flag("causal");
  problem.window = parameters.number("window");
  problem.logsumexp = parameters.flag("hasLogsumexp");
  instance.queryOffset = parameters.number("queryOffset");
  instance.keyOffset = parameters.number("keyOffset");
  instance.valueOffset = parameters.number("valueOffset");
  // A query without a key has weights of zero here, and equal ones there.
  if (problem.window && problem.length > problem.keys)
    return refuse("expected a key for every query");
  // 16 bytes, of every head.
  bool aligned = problem.headSize % 8 == 0;
  for (int64_t offset : {instance.queryOffset, instance.keyOffset, instance.valueOffset})
    aligned &= offset % 8 == 0;
  for (const CudnnProblem::Strides &strides : {problem.query, problem.key, problem.value})
    aligned &= llvm::all_of(strides, [](int64_t stride) { return stride % 8 == 0; });
  if (!aligned)
    return refuse("expected heads that begin at multiples of 16 bytes");
  ArrayRef<int64_t> passed = describes.getAs<DenseI64ArrayAttr>("arguments").asArrayRef();
  instance.query = passed[0];
  instance.key = passed[1];
  instance.value = passed[2];
  instance.result = passed[7];
  instance.logsumexp = passed[8];
  return instance;
}

namespace {
struct OfferLibraryAttentionPass
    : sinter::impl::OfferLibraryAttentionPassBase<OfferLibraryAttentionPass> {
  using OfferLibraryAttentionPassBase::OfferLibraryAttentionPassBase;

  void runOnOperation() override {
    ModuleOp code = lookupKernels(getOperation());
    if (!code)
      return markAllAnalysesPreserved();
    SymbolTable functions(code);
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      for (auto command : llvm::to_vector(program.getBlock()->getOps<plan::CommandInterface>()))
        offer(command, functions);
  }

private:
  void offer(plan::CommandInterface command, const SymbolTable &functions) {
    auto choice = dyn_cast<plan::AlternativesOp>(command.getOperation());
    SmallVector<plan::CommandInterface> ways =
        choice ? choice.getCommands() : SmallVector<plan::CommandInterface>{command};
    auto launch = dyn_cast<plan::LaunchOp>(ways.front().getOperation());
    auto function = launch ? functions.lookup<func::FuncOp>(launch.getKernel()) : func::FuncOp();
    if (!function || !isForward(function))
      return;
    remark::RemarkOpts options = remark::RemarkOpts::name("OfferLibraryAttention")
                                     .category("sinter-schedule")
                                     .function(launch.getKernel());
    Expected<Instance> instance = readInstance(function);
    Expected<uint64_t> bytes =
        instance.and_then([&](const Instance &known) { return findWorkspace(known.problem); });
    if (!bytes) {
      remark::missed(launch.getLoc(), options) << remark::reason("{0}", bytes.error().why);
      return;
    }
    remark::passed(launch.getLoc(), options)
        << remark::add("the library computes it, too, with {0} bytes of workspace", *bytes);
    OpBuilder builder(command);
    Operation *attention = createAttention(builder, launch, *instance, *bytes);
    SmallVector<Operation *> all(ways.begin(), ways.end());
    all.push_back(attention);
    builder.setInsertionPointAfter(command);
    plan::AlternativesOp::create(builder, launch.getLoc(), all);
    if (choice)
      choice.erase();
  }

  static bool isForward(func::FuncOp function) {
    auto describes = function->getAttrOfType<DictionaryAttr>(kTemplateAttribute);
    auto name = describes ? describes.getAs<StringAttr>("function") : StringAttr();
    return name && name.getValue() == "attention_forward";
  }

  /// Asks the library, once for all commands of a kind.
  Expected<uint64_t> findWorkspace(const CudnnProblem &problem) {
    if (workspace >= 0)
      return static_cast<uint64_t>(workspace);
    auto [known, isNew] = found.try_emplace(problem);
    if (isNew) {
      TargetAttr target = TargetAttr::lookup(getOperation());
      Expected<runtime::cuda::Capability> capability =
          runtime::cuda::capabilityOf("cuda:" + target.getChip().str(), "the target");
      known->second = capability.and_then([&](runtime::cuda::Capability capability) {
        return runtime::cuda::findCudnnWorkspace(problem, capability);
      });
    }
    return known->second;
  }

  static Operation *createAttention(OpBuilder &builder, plan::LaunchOp launch,
                                    const Instance &instance, uint64_t workspaceBytes) {
    const CudnnProblem &problem = instance.problem;
    auto layout = [&](int64_t offset, const CudnnProblem::Strides &strides) {
      return builder.getDenseI64ArrayAttr({offset, strides[0], strides[1], strides[2]});
    };
    SmallVector<Value> pointers(launch.getInputs());
    llvm::append_range(pointers, launch.getOutputs());
    Value workspace;
    if (workspaceBytes != 0)
      workspace = plan::AllocOp::create(builder, launch.getLoc(),
                                        plan::SliceType::get(builder.getContext()),
                                        static_cast<int64_t>(workspaceBytes));
    return plan::AttentionOp::create(
        builder, launch.getLoc(), problem.batch, problem.length, problem.keys, problem.heads,
        problem.keyHeads, problem.headSize, instance.dtype, instance.outDtype,
        layout(instance.queryOffset, problem.query), layout(instance.keyOffset, problem.key),
        layout(instance.valueOffset, problem.value), APFloat(problem.scale), problem.causal,
        problem.window, pointers[instance.query], pointers[instance.key], pointers[instance.value],
        pointers[instance.result], instance.logsumexp < 0 ? Value() : pointers[instance.logsumexp],
        workspace, launch.getFlops(), launch.getNarrowFlops(), launch.getBytes(),
        launch.getSharedBytes(), launch.getPrivateBytes(), launch.getPredictedNs(),
        launch.getLabel(), launch.getLayer(), launch.getStage());
  }

  std::map<CudnnProblem, Expected<uint64_t>> found;
};
} // namespace
