//===- PipelineStages.h - Who runs which stage of a pipeline ----*- C++ -*-===//
#pragma once

#include "runtime/Format/Executable_generated.h"
#include <cstddef>
#include <cstdint>

namespace sinter::runtime {

/// The axis that the stages of a pipeline are along.
constexpr const char *kPipelineAxis = "pipeline";

/// Stages of an executable's pipeline; 0 where it has none.
inline uint32_t countStages(const fb::Executable &executable) {
  return executable.stages() ? executable.stages()->size() : 0;
}

/// Places along the axis of the pipeline; 1 where there is none.
inline uint64_t countPlaces(const fb::Executable &executable) {
  if (executable.grid())
    for (const fb::GridAxis *axis : *executable.grid())
      if (axis->name()->string_view() == kPipelineAxis)
        return axis->size();
  return 1;
}

/// The place along the pipeline of the ranks that run a stage.
inline uint64_t placeOfStage(const fb::Executable &executable, uint32_t stage) {
  return stage % countPlaces(executable);
}

/// Microbatches that the ranks of a stage have at a time; 1 without a pipeline.
inline uint64_t countSlots(const fb::Executable &executable, uint32_t stage) {
  return stage < countStages(executable) ? executable.stages()->Get(stage)->slots() : 1;
}

/// Where a slice of State that begins at `offset` for the first slot of a stage begins for another.
inline uint64_t offsetInSlot(const fb::Executable &executable, uint32_t stage, uint64_t offset,
                             uint64_t slot) {
  if (stage >= countStages(executable))
    return offset;
  const fb::PipelineStage &own = *executable.stages()->Get(stage);
  return offset < own.slot_begin() ? offset : offset + slot * own.slot_bytes();
}

/// Bytes of State that the ranks of a stage have for it; of all of them without a pipeline.
inline uint64_t stateBytesOf(const fb::Executable &executable, uint32_t stage) {
  if (stage >= countStages(executable))
    return executable.state_bytes();
  const fb::PipelineStage &own = *executable.stages()->Get(stage);
  return own.slot_begin() + own.slots() * own.slot_bytes();
}

} // namespace sinter::runtime
