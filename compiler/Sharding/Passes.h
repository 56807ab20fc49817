//===- Passes.h - From a graph to the program of one rank -------*- C++ -*-===//
//
// A module for a grid (`sinter.grid`) becomes the program that every rank of it runs on its own
// part of what is split. Without a grid the phase does nothing.
//
// Two kinds of axes. Along `data` every rank computes on microbatches of its own: what a step
// computes there is the rank's, and its gradients are terms of a sum; a function says so with
// `sinter.manual = ["data"]`. Along all others ranks compute one result together: it is the values
// that are split, which the passes decide.
//
// Sums over ranks are made of parts that are moved (dialects/Sinter/CollectiveOps.td) and added by
// a `sinter.sum_parts`, in the order of one tree over the ranks' places, so that they are the same
// bits however many ranks there are:
//
//   place   0   1   2   3   4           the counter of a sum of n terms: a pair is added as soon as
//            \ /     \ /    |           there are two sums of as many terms
//             +       +     |
//              \     /      |
//                 +         |
//                  \        |
//                       +
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Sharding/Passes.h.inc"

/// Axes of an entry along which ranks compute on data of their own: names, on the func.func.
constexpr llvm::StringLiteral kManualAxes = "sinter.manual";

/// Makes the program of one rank. The module's values are dense before and behind it.
void buildShardingPipeline(mlir::OpPassManager &manager, const SeedShardingsPassOptions &seeds,
                           const PartitionPassOptions &partition,
                           const SplitStagesPassOptions &stages);

/// Registers `sinter-sharding-pipeline`.
void registerShardingPipeline();
} // namespace sinter
