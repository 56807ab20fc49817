//===- EntryStages.h - Which stage computes which op of an entry -*- C++ -*-===//
#pragma once

#include "compiler/Sharding/ModelStages.h"
#include "runtime/Train/PipelineSchedule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sinter {

/// A stage, and whether values go to the last one there or come back.
struct StagePlace {
  uint32_t stage = 0;
  runtime::PipelinePass pass = runtime::PipelinePass::Forward;

  auto operator<=>(const StagePlace &) const = default;
};

/// The places of an entry's ops. What is computed of inputs alone, or of parameters alone that the
/// entry does not change, has none: it is computed wherever it is used.
class EntryStages {
public:
  /// Emits an error and fails where a value would go to and fro more than once, or a pass would
  /// read a state before another one has changed it.
  /// @param separateWeights what no other stage waits for has a pass of its own.
  static mlir::FailureOr<EntryStages> assign(mlir::func::FuncOp entry, const ModelStages &model,
                                             bool separateWeights);

  /// The place of an op; none where it is computed wherever it is used.
  std::optional<StagePlace> find(mlir::Operation *op) const;
  /// The place of what defines a value; none of arguments.
  std::optional<StagePlace> find(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op ? find(op) : std::nullopt;
  }

private:
  EntryStages(mlir::func::FuncOp entry, const ModelStages &model) : entry(entry), model(model) {}
  void findSources();
  bool isReadByBackward(mlir::Operation *op) const;
  mlir::LogicalResult placeInStage(mlir::Operation *op);
  mlir::LogicalResult placeInPass(mlir::Operation *op);
  bool isMadeOfOne(mlir::Operation *op) const;
  void followUsers();
  std::optional<uint32_t> findStageOfUse(mlir::OpOperand &use);
  mlir::FailureOr<std::optional<uint32_t>> findHome(mlir::Operation *op);
  mlir::FailureOr<uint32_t> chooseStage(mlir::Operation *op);
  void separateWeights();
  mlir::LogicalResult checkStates();

  /// What a value is computed from.
  struct Sources {
    bool inputs = false, parameters = false;
    bool others = false; ///< states, or both of the above
  };

  mlir::func::FuncOp entry;
  const ModelStages &model;
  /// Whether an op is of the backward pass, in which values come back from the last stage.
  bool isBackward(mlir::Operation *op) const { return backward.contains(op); }

  llvm::DenseMap<mlir::Value, Sources> sources;
  llvm::DenseSet<mlir::Operation *> backward;
  llvm::DenseMap<mlir::Operation *, StagePlace> places;
  /// The last stage of all that an op is computed from.
  llvm::DenseMap<mlir::Operation *, uint32_t> lastStages;
};

} // namespace sinter
