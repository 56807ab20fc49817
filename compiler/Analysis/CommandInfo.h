//===- CommandInfo.h - What people want to know of a command ----*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"

namespace sinter {

/// What a command does, belongs to and costs, for printing and profiles.
struct CommandInfo {
  std::string label; ///< "rms_norm+cast"
  std::string layer; ///< "model.layers.3", or empty
  Stage stage = Stage::Forward;
  int64_t flops = 0;
  int64_t narrowFlops = 0, byteFlops = 0, nibbleFlops = 0; ///< of these, see Cost
  int64_t bytes = 0;
  int64_t sharedBytes = 0, privateBytes = 0; ///< of these, see Cost
  int64_t predictedNs = 0;                   ///< the cost model's estimate; 0 without a target
};

/// Describes an op of an entry after Fusion: a kernel call, a fusion or a copy.
/// @param target the module's, or null.
CommandInfo describeCommand(mlir::Operation *op, TargetAttr target);

/// The names of a block's ops that compute, in order, each once: "matmul+add+gelu". What only moves
/// elements is left out, unless there is nothing else.
std::string getLabel(mlir::Block &block);

/// The part of the model that an op belongs to by the names in its location: of the first name with
/// a number, all up to the number ("model.layers.3.mlp.up_proj" is "model.layers.3"); without one
/// the first name; empty for a location without names.
std::string getLayer(mlir::Location location);

} // namespace sinter
