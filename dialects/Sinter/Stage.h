//===- Stage.h - Which part of a training step an op belongs to -*- C++ -*-===//
//
// An op's location says what part of the model it belongs to; in a training step it also says in
// which stage, so that plans and profiles can tell a layer's forward from its backward pass.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"
#include <optional>

namespace sinter {

enum class Stage { Forward, Backward, Recompute, Optimizer };

/// "forward", "backward", "recompute", "optimizer".
llvm::StringRef stringifyStage(Stage stage);

/// The stage of this name; none where no stage has it.
std::optional<Stage> parseStage(llvm::StringRef name);

/// The same place in a stage other than Forward.
mlir::Location inStage(Stage stage, mlir::Location location);

/// The stage of a location: Forward where it names none. Of a fused location, the latest stage of
/// its parts, in the order of the enumeration.
Stage getStage(mlir::Location location);

} // namespace sinter
