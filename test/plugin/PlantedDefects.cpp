//===- PlantedDefects.cpp - Passes that are wrong on purpose ----------------===//
//
// A plugin whose passes each make one mistake that a compiler's pass could make, at the first place
// where it can be made. What checks passes must find every one of them: a check that misses one has
// stopped checking (test/differential/VerifyTest.cpp, test/cli/verify.test).
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Loops/Kernels.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace sinter;

namespace {
struct Defect {
  const char *argument;
  const char *description;
  /// Makes it; false where the module has no place for it.
  bool (*plant)(ModuleOp module);
};

/// Calls `plant` for ops of a kind until it has planted something.
template <typename Op> bool plantAtFirst(ModuleOp module, function_ref<bool(Op)> plant) {
  return module
      .walk([&](Op op) { return plant(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// In graphs
//===----------------------------------------------------------------------===//

bool swapOperands(ModuleOp module) {
  return plantAtFirst<AttentionOp>(module, [](AttentionOp op) {
    Value key = op.getKey(), value = op.getValue();
    op.getKeyMutable().assign(value);
    op.getValueMutable().assign(key);
    return true;
  });
}

bool dropMask(ModuleOp module) {
  return plantAtFirst<AttentionOp>(
      module, [](AttentionOp op) { return static_cast<bool>(op.removeCausalAttr()); });
}

bool dropScale(ModuleOp module) {
  return plantAtFirst<AttentionOp>(module, [](AttentionOp op) {
    op.setScaleAttr(Builder(op).getF64FloatAttr(1.0));
    return true;
  });
}

/// Attention reads the keys as they were before this step's were appended.
bool readStaleCache(ModuleOp module) {
  return plantAtFirst<AttentionOp>(module, [](AttentionOp op) {
    auto append = op.getKey().getDefiningOp<CacheAppendOp>();
    if (!append)
      return false;
    op.getKeyMutable().assign(append->getOperand(0));
    return true;
  });
}

bool roundTwice(ModuleOp module) {
  return plantAtFirst<MatmulOp>(module, [](MatmulOp op) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value result = op.getResult();
    auto type = cast<RankedTensorType>(result.getType());
    auto narrow =
        CastOp::create(builder, op.getLoc(),
                       RankedTensorType::get(type.getShape(), builder.getBF16Type()), result);
    auto wide = CastOp::create(builder, op.getLoc(), type, narrow);
    result.replaceAllUsesExcept(wide, narrow);
    return true;
  });
}

/// The second half of what two ways of a gradient add up to is the first once more.
bool accumulateWrongly(ModuleOp module) {
  return plantAtFirst<AddOp>(module, [](AddOp op) {
    auto add = op->getOperand(0).getDefiningOp(), other = op->getOperand(1).getDefiningOp();
    if (!isa_and_nonnull<MatmulOp>(add) || !isa_and_nonnull<MatmulOp>(other))
      return false;
    op->setOperand(1, op->getOperand(0));
    return true;
  });
}

/// Differentiates, and returns twice the last parameter's gradient.
bool doubleGradient(ModuleOp module) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  if (failed(parsePassPipeline("sinter-differentiate", manager)) || failed(manager.run(module)))
    return false;
  return plantAtFirst<func::ReturnOp>(module, [](func::ReturnOp end) {
    if (end.getNumOperands() < 2)
      return false;
    OpOperand &gradient = end->getOpOperands().back();
    OpBuilder builder(end);
    gradient.set(AddOp::create(builder, end.getLoc(), gradient.get().getType(), gradient.get(),
                               gradient.get()));
    return true;
  });
}

//===----------------------------------------------------------------------===//
// In kernels
//===----------------------------------------------------------------------===//

bool sliceElsewhere(ModuleOp module) {
  return plantAtFirst<SliceOp>(module, [](SliceOp op) {
    SmallVector<int64_t> offsets(op.getOffsets());
    auto moved = llvm::find_if(offsets, [](int64_t offset) { return offset > 0; });
    if (moved == offsets.end())
      return false;
    --*moved;
    op.setOffsets(offsets);
    return true;
  });
}

bool takeOtherGelu(ModuleOp module) {
  return plantAtFirst<GeluOp>(module, [](GeluOp op) {
    op.setTanh(!op.getTanh());
    return true;
  });
}

/// gelu(a + b) becomes gelu(a) + b.
bool fuseInWrongOrder(ModuleOp module) {
  return plantAtFirst<GeluOp>(module, [](GeluOp op) {
    auto add = op->getOperand(0).getDefiningOp<AddOp>();
    if (!add || !add->hasOneUse())
      return false;
    op->setOperand(0, add->getOperand(0));
    op.getResult().replaceAllUsesWith(add->getResult(0));
    add->moveAfter(op);
    add->setOperand(0, op.getResult());
    return true;
  });
}

//===----------------------------------------------------------------------===//
// In loops, commands and memory
//===----------------------------------------------------------------------===//

/// A kernel's last work item is not run.
bool runFewerItems(ModuleOp module) {
  return plantAtFirst<func::FuncOp>(module, [](func::FuncOp kernel) {
    auto grid = kernel->getAttrOfType<IntegerAttr>(kGridAttribute);
    if (!grid || grid.getInt() < 2)
      return false;
    kernel->setAttr(kGridAttribute, IntegerAttr::get(grid.getType(), grid.getInt() - 1));
    return true;
  });
}

/// A sum in machine code becomes a difference.
bool subtract(ModuleOp module) {
  return plantAtFirst<Operation *>(module, [](Operation *op) {
    if (op->getName().getStringRef() != "llvm.fadd")
      return false;
    OpBuilder builder(op);
    OperationState state(op->getLoc(), "llvm.fsub", op->getOperands(), op->getResultTypes(),
                         op->getAttrs());
    op->replaceAllUsesWith(builder.create(state));
    op->erase();
    return true;
  });
}

/// Two inputs of a kernel change places.
bool swapInputs(ModuleOp module) {
  return plantAtFirst<plan::LaunchOp>(module, [](plan::LaunchOp launch) {
    auto bytes = [](Value value) -> int64_t {
      if (auto slice = value.getDefiningOp<plan::SliceOp>())
        return slice.getBytes();
      return value.getDefiningOp<plan::AllocOp>().getBytes();
    };
    MutableOperandRange inputs = launch.getInputsMutable();
    for (OpOperand &a : inputs)
      for (OpOperand &b : inputs)
        if (a.get() != b.get() && bytes(a.get()) == bytes(b.get())) {
          Value value = a.get();
          a.set(b.get());
          b.set(value);
          return true;
        }
    return false;
  });
}

/// A command writes where a value lies that a later one reads.
bool overwriteTooEarly(ModuleOp module) {
  return plantAtFirst<plan::ProgramOp>(module, [](plan::ProgramOp program) {
    SmallVector<plan::CommandInterface> commands;
    for (Operation &op : *program.getBlock())
      if (auto command = dyn_cast<plan::CommandInterface>(op))
        commands.push_back(command);
    auto inArena = [](Value value) {
      auto slice = value.getDefiningOp<plan::SliceOp>();
      return slice && slice.getSpace() == plan::Space::Arena ? slice : plan::SliceOp();
    };
    for (size_t middle = 1; middle + 1 < commands.size(); ++middle)
      for (Value written : commands[middle].getWrites())
        for (Value kept : commands[middle - 1].getWrites()) {
          plan::SliceOp to = inArena(written), from = inArena(kept);
          bool readLater = llvm::any_of(ArrayRef(commands).drop_front(middle + 1),
                                        [&](plan::CommandInterface command) {
                                          return llvm::is_contained(command.getReads(), kept);
                                        });
          if (!to || !from || to == from || !readLater || to.getOffset() == from.getOffset())
            continue;
          to.setOffset(from.getOffset());
          return true;
        }
    return false;
  });
}

/// A kernel reads a weight 64 bytes before its first.
bool readElsewhere(ModuleOp module) {
  return plantAtFirst<plan::LaunchOp>(module, [](plan::LaunchOp launch) {
    for (Value input : launch.getInputs()) {
      auto slice = input.getDefiningOp<plan::SliceOp>();
      if (!slice || slice.getSpace() != plan::Space::Parameter || slice.getOffset() < 64)
        continue;
      slice.setOffset(slice.getOffset() - 64);
      return true;
    }
    return false;
  });
}

//===----------------------------------------------------------------------===//
// No miscompiles
//===----------------------------------------------------------------------===//

bool doNothing(ModuleOp) { return true; }

bool commute(ModuleOp module) {
  module.walk([](AddOp op) {
    if (op->getOperand(0).getType() == op->getOperand(1).getType()) {
      Value first = op->getOperand(0);
      op->setOperand(0, op->getOperand(1));
      op->setOperand(1, first);
    }
  });
  return true;
}

bool giveUp(ModuleOp module) {
  module.emitError("expected another module");
  return false;
}

constexpr Defect kDefects[] = {
    {"planted-swapped-operands", "attention's key and value change places", swapOperands},
    {"planted-dropped-mask", "attention sees what comes later", dropMask},
    {"planted-missing-scale", "attention's scores are not scaled", dropScale},
    {"planted-stale-cache", "attention reads the cache of the step before", readStaleCache},
    {"planted-double-rounding", "a product is rounded to bf16 on its way", roundTwice},
    {"planted-wrong-accumulation", "one of two gradients is added twice", accumulateWrongly},
    {"planted-wrong-gradient", "a gradient is twice what it is", doubleGradient},
    {"planted-wrong-offset", "a slice begins one element early", sliceElsewhere},
    {"planted-wrong-epilogue", "the other formula of gelu", takeOtherGelu},
    {"planted-wrong-order", "a bias is added behind the activation", fuseInWrongOrder},
    {"planted-fewer-items", "a kernel's last work item is not run", runFewerItems},
    {"planted-wrong-instruction", "a sum in machine code is a difference", subtract},
    {"planted-swapped-inputs", "two inputs of a kernel change places", swapInputs},
    {"planted-early-overwrite", "a value is written over before it is read", overwriteTooEarly},
    {"planted-wrong-address", "a kernel reads a weight 64 bytes early", readElsewhere},
    {"planted-nothing", "changes nothing", doNothing},
    {"planted-harmless", "terms of sums change places", commute},
    {"planted-error", "gives an error", giveUp},
};

class PlantedPass : public PassWrapper<PlantedPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedPass)

  explicit PlantedPass(const Defect &defect) : defect(&defect) {}
  PlantedPass(const PlantedPass &other) : PassWrapper(other), defect(other.defect) {}

  StringRef getArgument() const override { return defect->argument; }
  StringRef getDescription() const override { return defect->description; }

  void runOnOperation() override {
    if (!defect->plant(getOperation()) && StringRef(defect->argument) == "planted-error")
      signalPassFailure();
  }

private:
  const Defect *defect;
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "PlantedDefects", LLVM_VERSION_STRING, [] {
            for (const Defect &defect : kDefects)
              registerPass([&defect]() -> std::unique_ptr<Pass> {
                return std::make_unique<PlantedPass>(defect);
              });
          }};
}
