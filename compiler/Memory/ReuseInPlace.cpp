#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Plan/PlanDialect.h"

namespace sinter {
#define GEN_PASS_DEF_REUSEINPLACEPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// The command of a program that an operation is, or that it is an option of.
static Operation *getCommand(Operation *op) {
  return isa<plan::ProgramOp>(op->getParentOp()) ? op : getCommand(op->getParentOp());
}

/// Whether an operand of a command is an alloc of `bytes` bytes that nobody needs afterwards, and
/// which the command reads through `allowed` operands only.
static bool isDying(Value slice, Operation *command, int64_t bytes,
                    llvm::function_ref<bool(unsigned)> allowed) {
  auto alloc = slice.getDefiningOp<plan::AllocOp>();
  if (!alloc || static_cast<int64_t>(alloc.getBytes()) != bytes)
    return false;
  return llvm::all_of(slice.getUses(), [&](OpOperand &use) {
    return use.getOwner() == command ? allowed(use.getOperandNumber())
                                     : getCommand(use.getOwner())->isBeforeInBlock(command);
  });
}

/// The input of a launch that its output may be written over, or null.
static Value findReusable(plan::LaunchOp launch, int64_t bytes) {
  // Operands begin with the inputs.
  auto allowed = [&](unsigned operand) {
    return llvm::is_contained(launch.getReusable(), int64_t(operand));
  };
  for (int64_t index : launch.getReusable())
    if (Value input = launch.getInputs()[index]; isDying(input, launch, bytes, allowed))
      return input;
  return nullptr;
}

/// The operand of an Add that a product may be written over, or null: the runtime takes an operand
/// that is the same matrix as out, of one type and stride.
static Value findReusable(plan::GemmOp gemm, int64_t bytes) {
  unsigned index = gemm.getExtras().getBeginOperandIndex();
  for (auto postOp : gemm.getPostOps().getAsRange<plan::PostOpAttr>()) {
    if (!postOp.hasOperand())
      continue;
    unsigned operand = index++;
    if (postOp.getKind() != plan::PostOpKind::Add || postOp.getDtype() != gemm.getOutDtype() ||
        postOp.getStride() != static_cast<int64_t>(gemm.getOutStride()))
      continue;
    Value extra = gemm->getOperand(operand);
    if (isDying(extra, gemm, bytes, [&](unsigned used) { return used == operand; }))
      return extra;
  }
  return nullptr;
}

/// Whether a slice that a command writes is written there first, and not read by it.
static bool isMadeBy(Value slice, Operation *command) {
  unsigned own = 0;
  return llvm::all_of(slice.getUses(), [&](OpOperand &use) {
    return use.getOwner() == command ? ++own == 1
                                     : command->isBeforeInBlock(getCommand(use.getOwner()));
  });
}

namespace {
struct ReuseInPlacePass : sinter::impl::ReuseInPlacePassBase<ReuseInPlacePass> {
  using ReuseInPlacePassBase::ReuseInPlacePassBase;

  void runOnOperation() override {
    // Of a choice nothing is reused: not every option may write over what it reads.
    getOperation().walk([&](plan::ProgramOp program) {
      for (plan::CommandInterface command : getCommands(program))
        for (Value out : command.getWrites())
          reuseFor(out, command);
    });
  }

private:
  void reuseFor(Value out, Operation *op) {
    auto alloc = out.getDefiningOp<plan::AllocOp>();
    if (!alloc || !isMadeBy(out, op))
      return;
    Value input;
    if (auto launch = dyn_cast<plan::LaunchOp>(op))
      input = findReusable(launch, alloc.getBytes());
    else if (auto gemm = dyn_cast<plan::GemmOp>(op); gemm && out == gemm.getOut())
      input = findReusable(gemm, alloc.getBytes());
    if (!input)
      return;
    out.replaceAllUsesWith(input);
    alloc.erase();
    ++numReused;
  }
};
} // namespace
