//===- PipelineSchedule.h - In which order a stage takes microbatches -*- C++ -*-===//
//
// The stages of a pipeline compute a step's microbatches one after the other, each forward and then
// backward; a schedule says in which order the ranks at one place do. Of three stages and four
// microbatches, F forward and B backward:
//
//   gpipe         F0 F1 F2 F3 B0 B1 B2 B3     all forward, then all backward
//   1f1b          F0 F1 F2 B0 F3 B1 B2 B3     (the first stage) as few in flight as keep all busy
//   interleaved   1f1b of several stages a place, which follow each other around all places
//   zero-bubble   1f1b where the gradients of weights, W, wait until there is nothing else to do
//
// In every schedule a stage takes the backward passes in the order of the microbatches, so that
// gradients are added in one order. The last stage goes backward as soon as it has gone forward:
// its backward pass is part of its forward pass.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/PipelineStages.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

enum class PipelineSchedule { GPipe, OneForwardOneBackward, Interleaved, ZeroBubble };

/// "gpipe", "1f1b", "interleaved" or "zero-bubble"; empty: 1f1b.
Expected<PipelineSchedule> parsePipelineSchedule(std::string_view name);

/// One pass of one microbatch.
struct PipelineTask {
  uint32_t stage = 0;
  PipelinePass pass = PipelinePass::Forward;
  uint64_t microbatch = 0;

  bool operator==(const PipelineTask &) const = default;
};

/// A pipeline and the microbatches of a step of it.
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  uint32_t places = 1, stages = 1; ///< stage i is at place i modulo `places`
  uint64_t microbatches = 1;

  /// Stages that a schedule asks for at each place: two where they are interleaved.
  static uint32_t stagesOfPlace(PipelineSchedule schedule) {
    return schedule == PipelineSchedule::Interleaved ? 2 : 1;
  }

  /// Fails where the microbatches are too few or do not divide as the schedule needs.
  Expected<void> check() const;

  /// What the ranks at a place do, in order.
  std::vector<PipelineTask> tasksAt(uint32_t place) const;

  /// The most microbatches that a stage has begun and not finished at a time.
  uint64_t slotsOf(uint32_t stage) const;
};

} // namespace sinter::runtime
