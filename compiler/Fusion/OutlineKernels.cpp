#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Names longer than this say less, not more.
static constexpr size_t kNameLength = 48;

namespace {
struct OutlineKernelsPass : sinter::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    KernelFamilies families(&getContext());
    unsigned calls = 0;
    llvm::DenseMap<unsigned, SmallVector<func::FuncOp>> kernels;
    unsigned count = 0;
    for (FusionOp fusion : findFusions(getOperation())) {
      const KernelFamily *family = families.lookup(fusion);
      if (!family) {
        fusion.emitError("expected a fusion of a family of kernels, got ") << fusion.getFamily();
        return signalPassFailure();
      }
      if (family->isCommand())
        continue;
      // Kernels are shared between what is done first and what is done again; the calls must not
      // become one, as what stays a fusion must not.
      Attribute again;
      fusion.getBlock()->walk([&](Operation *op) {
        if (Attribute removed = op->removeAttr(SinterDialect::kRecompute))
          again = removed;
      });
      ++calls;
      sortFromResults(fusion);
      SmallVector<func::FuncOp> &alike = kernels[hash(fusion)];
      func::FuncOp kernel;
      std::optional<SmallVector<Value>> inputs;
      for (func::FuncOp known : alike)
        if (known->getAttr(SinterDialect::kKernel) == fusion.getFamilyAttr() &&
            (inputs = matchInputs(fusion, known))) {
          kernel = known;
          break;
        }
      if (!kernel) {
        ++count;
        kernel = alike.emplace_back(createKernel(fusion, symbols));
        inputs = llvm::to_vector(fusion.getInputs());
      }
      OpBuilder builder(fusion);
      auto call = CallKernelOp::create(builder, fusion.getLoc(), fusion.getResultTypes(),
                                       kernel.getName(), *inputs);
      if (again)
        call->setAttr(SinterDialect::kRecompute, again);
      fusion->replaceAllUsesWith(call);
      fusion->erase();
    }
    if (calls > 0)
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("KernelsShared").category("sinter-fusion"))
          << llvm::formatv("{0} launches of {1} kernels", calls, count).str();
  }

private:
  /// Puts a body's ops in the order in which its results ask for them, depth first. What is
  /// computed again was differentiated from, fused and moved on its own: it may come in another
  /// order than what it repeats, and yet be the same kernel.
  static void sortFromResults(FusionOp fusion) {
    Operation *yield = fusion.getBlock()->getTerminator();
    llvm::SmallPtrSet<Operation *, 16> placed;
    auto place = [&](auto &self, Operation *op) -> void {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && placed.insert(producer).second) {
          self(self, producer);
          producer->moveBefore(yield);
        }
    };
    place(place, yield);
  }

  static unsigned hash(FusionOp fusion) {
    llvm::hash_code code = llvm::hash_combine(fusion.getBlock()->getNumArguments());
    for (Operation &op : *fusion.getBlock())
      code = llvm::hash_combine(
          code, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::IgnoreLocations));
    return static_cast<unsigned>(code);
  }

  /// The inputs of a fusion in the order in which a kernel takes them; nothing where the two do not
  /// compute the same, op by op. Which input comes first is an accident of what was fused when.
  static std::optional<SmallVector<Value>> matchInputs(FusionOp fusion, func::FuncOp kernel) {
    Block &body = *fusion.getBlock(), &code = kernel.front();
    if (body.getNumArguments() != code.getNumArguments() ||
        body.getOperations().size() != code.getOperations().size())
      return std::nullopt;
    llvm::DenseMap<Value, Value> same;
    SmallVector<Value> inputs(code.getNumArguments());
    auto agree = [&](Value value, Value inKernel) {
      auto argument = dyn_cast<BlockArgument>(value), parameter = dyn_cast<BlockArgument>(inKernel);
      auto [known, isNew] = same.try_emplace(value, inKernel);
      if (!isNew || !argument || !parameter)
        return !isNew && known->second == inKernel;
      Value &input = inputs[parameter.getArgNumber()];
      if (input || argument.getType() != parameter.getType())
        return false;
      input = fusion.getInputs()[argument.getArgNumber()];
      return true;
    };
    for (auto [a, b] : llvm::zip_equal(body, code)) {
      bool isEnd = a.hasTrait<OpTrait::IsTerminator>();
      if ((!isEnd && !OperationEquivalence::isEquivalentTo(
                         &a, &b, OperationEquivalence::ignoreValueEquivalence, nullptr,
                         OperationEquivalence::IgnoreLocations)) ||
          a.getNumOperands() != b.getNumOperands())
        return std::nullopt;
      for (auto [x, y] : llvm::zip_equal(a.getOperands(), b.getOperands()))
        if (!agree(x, y))
          return std::nullopt;
      for (auto [x, y] : llvm::zip_equal(a.getResults(), b.getResults()))
        same[x] = y;
    }
    if (llvm::is_contained(inputs, Value()))
      return std::nullopt;
    return inputs;
  }

  func::FuncOp createKernel(FusionOp fusion, SymbolTable &symbols) {
    OpBuilder builder(&getContext());
    auto kernel = func::FuncOp::create(
        builder, fusion.getLoc(), makeName(fusion),
        builder.getFunctionType(fusion.getInputs().getTypes(), fusion.getResultTypes()));
    kernel.setPrivate();
    kernel->setAttr(SinterDialect::kKernel, fusion.getFamilyAttr());
    symbols.insert(kernel);
    Block *body = kernel.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    IRMapping mapping;
    mapping.map(fusion.getBlock()->getArguments(), body->getArguments());
    for (Operation &op : fusion.getBlock()->without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> results =
        llvm::map_to_vector(fusion.getYielded(), [&](Value v) { return mapping.lookup(v); });
    func::ReturnOp::create(builder, fusion.getLoc(), results);
    return kernel;
  }

  /// "matmul_add_gelu": what the kernel does, for people who read profiles.
  static std::string makeName(FusionOp fusion) {
    Operation *op = fusion;
    std::string text = describeOps(op);
    std::string name;
    for (StringRef rest = text; !rest.empty();) {
      auto [part, tail] = rest.split(" + ");
      if (name.size() + part.size() > kNameLength)
        break;
      name += (name.empty() ? "" : "_") + part.str();
      rest = tail;
    }
    // CUDA C++ has functions of its own that are called exp and tanh.
    TargetAttr target = TargetAttr::lookup(fusion);
    if (target && target.isGpu() && !StringRef(name).contains('_'))
      name += "_kernel";
    return name;
  }
};
} // namespace
