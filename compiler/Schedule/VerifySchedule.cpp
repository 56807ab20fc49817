#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Schedule/Passes.h"
#include "compiler/Schedule/ProgramLowering.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/Pipelining.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;
using plan::Space;

/// Whether commands of a program may write to a space.
static bool isWritable(Space space, plan::ProgramOp program) {
  switch (space) {
  case Space::State:
  case Space::Output:
  case Space::Arena:
    return true;
  case Space::Parameter:
    return runtime::isPreprocess(program.getSymName().str());
  default:
    return false;
  }
}

namespace {
struct VerifySchedulePass : sinter::impl::VerifySchedulePassBase<VerifySchedulePass> {
  using VerifySchedulePassBase::VerifySchedulePassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (Operation &op : *getOperation().getBody()) {
      auto program = dyn_cast<plan::ProgramOp>(op);
      bool expected = isa<plan::ProgramOp, plan::ConstantOp, plan::ParameterOp, ModuleOp>(op) ||
                      op.hasAttr(kBlockAttribute);
      if (!expected)
        op.emitError("expected only programs, constants, parameters and kernels after Schedule");
      if (!expected ||
          (program && (failed(verifyCommands(program)) || failed(verifyNames(program)))))
        return signalPassFailure();
    }
    if (failed(verifyPlaces()))
      signalPassFailure();
  }

private:
  LogicalResult verifyCommands(plan::ProgramOp program) {
    llvm::DenseSet<Value> written;
    for (Operation &op : *program.getBlock()) {
      if (isa<plan::AllocOp, plan::SliceOp>(op))
        continue;
      auto command = dyn_cast<plan::CommandInterface>(op);
      if (!command)
        return op.emitError("expected only slices and commands in a program");
      for (Value read : command.getReads()) {
        auto slice = read.getDefiningOp<plan::SliceOp>();
        if (slice && slice.getSpace() == Space::Checkpoint &&
            !runtime::isPreprocess(program.getSymName().str()))
          return op.emitError("expected the checkpoint to be read in @preprocess only");
        if (read.getDefiningOp<plan::AllocOp>() && !written.contains(read))
          return op.emitError("expected what it reads to be written before")
                     .attachNote(read.getLoc())
                 << "these bytes are not";
      }
      for (Value write : command.getWrites()) {
        auto slice = write.getDefiningOp<plan::SliceOp>();
        if (slice && !isWritable(slice.getSpace(), program))
          return op.emitError("expected nothing to be written to the ")
                 << plan::stringifySpace(slice.getSpace()) << " space in @" << program.getSymName();
        written.insert(write);
      }
    }
    return success();
  }

  /// Collects the named slices; one name of a space is one place and type.
  LogicalResult verifyNames(plan::ProgramOp program) {
    for (auto slice : program.getBlock()->getOps<plan::SliceOp>()) {
      if (!slice.getName() || slice.getSpace() == Space::Checkpoint)
        continue;
      // Inputs and outputs have offsets of their own in each program.
      bool shared = slice.getSpace() == Space::State || slice.getSpace() == Space::Parameter;
      auto key = std::tuple(static_cast<unsigned>(slice.getSpace()), *slice.getName(),
                            shared ? getPlaceOf(program) : program.getSymName());
      auto [entry, added] = places.insert({key, slice});
      plan::SliceOp first = entry->second;
      if (!added && (first.getOffset() != slice.getOffset() ||
                     first.getBytes() != slice.getBytes() || first.getType() != slice.getType()))
        return (slice.emitError("expected one place and type for ")
                << slice.getNameAttr() << " in all programs")
                   .attachNote(first.getLoc())
               << "the first one";
    }
    return success();
  }

  /// Where states and parameters are apart from those of other places along a pipeline, a name for
  /// it.
  StringRef getPlaceOf(plan::ProgramOp program) {
    if (!program->hasAttr(kPipelineStage))
      return {};
    int64_t place = getPipelinePlace(program, getPipelineStage(program));
    return StringAttr::get(program.getContext(), Twine(place)).getValue();
  }

  /// Slices of different names do not overlap.
  LogicalResult verifyPlaces() {
    SmallVector<std::tuple<unsigned, StringRef, uint64_t, plan::SliceOp>> sorted;
    for (auto &[key, slice] : places)
      sorted.push_back({std::get<0>(key), std::get<2>(key), slice.getOffset(), slice});
    llvm::sort(sorted, [](const auto &a, const auto &b) {
      return std::tuple(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
             std::tuple(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    for (size_t i = 1; i < sorted.size(); ++i) {
      auto [space, program, offset, slice] = sorted[i];
      auto [previousSpace, previousProgram, previousOffset, previous] = sorted[i - 1];
      if (space == previousSpace && program == previousProgram &&
          previousOffset + previous.getBytes() > offset)
        return (slice.emitError("expected ")
                << slice.getNameAttr() << " not to overlap with " << previous.getNameAttr())
                   .attachNote(previous.getLoc())
               << "which is here";
    }
    return success();
  }

  llvm::MapVector<std::tuple<unsigned, StringRef, StringRef>, plan::SliceOp,
                  std::map<std::tuple<unsigned, StringRef, StringRef>, unsigned>>
      places; ///< by space, name and, where it matters, program
};
} // namespace
