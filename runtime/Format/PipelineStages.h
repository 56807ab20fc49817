//===- PipelineStages.h - Who runs which stage of a pipeline ----*- C++ -*-===//
//
// The ranks at each place along the axis `pipeline` have stages of their own. Of an entry "prefill"
// a stage runs "prefill.1.forward", "prefill.1.backward", ..., as far as there are such programs;
// what weights are preprocessed by is a program of each place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// The axis that the stages of a pipeline are along.
constexpr const char *kPipelineAxis = "pipeline";

/// What a stage does of an entry while values go to the last stage, while they come back, and once
/// nobody waits for it any more.
enum class PipelinePass : uint8_t { Forward, Backward, Weights };

/// The program that a stage computes a pass of an entry by: "accumulate.1.backward".
std::string nameOfPass(std::string_view entry, uint32_t stage, PipelinePass pass);

/// The entry that a program computes, or a pass of: "accumulate" of "accumulate.1.backward".
std::string_view entryOfProgram(const fb::Program &program);

/// What a pass of one stage sends to a pass of another one. It arrives in the order of sending:
/// both take microbatches in one order, and of each its messages by their channels.
struct StageLink {
  uint32_t sender = 0; ///< a stage
  PipelinePass sends = PipelinePass::Forward;
  uint32_t receiver = 0; ///< a stage
  PipelinePass receives = PipelinePass::Forward;

  auto operator<=>(const StageLink &) const = default;
};

/// The links that an executable's channels belong to; none of a channel without a sender or a
/// receiver.
std::map<uint32_t, StageLink> findLinks(const fb::Executable &executable);

/// Whether a program writes a part of State that is there once, for all microbatches in flight, and
/// that another program sends.
bool writesSentState(const fb::Executable &executable, const fb::Program &writer,
                     const fb::Program &sender);

/// The program that preprocesses weights for the ranks at a place; without a pipeline for all.
std::string nameOfPreprocess(bool pipelined, uint64_t place);

/// Whether a program of this name preprocesses weights, of any place.
bool isPreprocess(std::string_view program);

/// A program that a rank runs an entry by.
struct EntryPass {
  std::string name;
  uint32_t stage = 0;
  PipelinePass pass = PipelinePass::Forward;
};

/// A program, for a slot of the microbatches in flight where it is a pipeline's.
struct PlannedRun {
  std::string program;
  uint64_t slot = 0;
};

/// The programs by which the ranks at a place run an entry, in their order: of a pipeline the
/// passes that there are of their stages.
std::vector<EntryPass> listPasses(const Executable &executable, uint64_t place,
                                  std::string_view entry);

/// The program that preprocesses weights for the ranks at a place, or null.
const fb::Program *findPreprocess(const Executable &executable, uint64_t place);

/// Bytes of the preprocessed weights that the ranks at a place have; of all of them without a
/// pipeline.
uint64_t parameterBytesOf(const Executable &executable, uint64_t place);

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
