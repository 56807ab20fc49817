//===- Pipelining.h - What entries of a pipeline's stages say of themselves -*- C++ -*-===//
//
// sinter-split-stages cuts an entry `f` into `f.S.PASS`, for each stage S of a pipeline. These are
// bound as any entry is (SinterDialect.td), and beside that:
//
//   func.func      sinter.pipeline_stage = 1 : i64         the stage whose ranks run it
//   argument       sinter.flight = "name"                  what an earlier pass of the stage has
//   made result                                                 of the same microbatch argument
//   sinter.receive = array<i64: 0, 3>       sent by stage 0 over channel 3 result sinter.send =
//   array<i64: 2, 3, 4, 5>    to stage 2 over channel 3, to 4 over 5 module sinter.pipeline_slots =
//   array<i64: 2, 1>   microbatches that each stage has at a
//                                                          time
//
// What is in flight lies in the State space, once a slot; what is received and not in flight is
// gone at the end of the pass.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

namespace sinter {

inline constexpr llvm::StringLiteral kPipelineStage = "sinter.pipeline_stage";
inline constexpr llvm::StringLiteral kFlight = "sinter.flight";
inline constexpr llvm::StringLiteral kReceive = "sinter.receive";
inline constexpr llvm::StringLiteral kSend = "sinter.send";
inline constexpr llvm::StringLiteral kPipelineSlots = "sinter.pipeline_slots";

/// Of a module of plans: for each stage where its slots begin in State, their bytes, and their
/// number.
inline constexpr llvm::StringLiteral kPipelineLayout = "sinter.pipeline_layout";

/// The stage of a pipeline that an entry or a program is of; 0 without one.
int64_t getPipelineStage(mlir::Operation *entry);

/// The place along the pipeline of a stage's ranks.
int64_t getPipelinePlace(mlir::Operation *entry, int64_t stage);

/// The name of the entry that preprocesses weights for the ranks that run this one.
std::string getPreprocessName(mlir::Operation *entry);

} // namespace sinter
