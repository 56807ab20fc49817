#include "runtime/Train/PipelineSchedule.h"
#include <algorithm>

namespace sinter::runtime {
namespace {

/// The k-th forward or backward pass of a place. With several stages a place takes as many
/// microbatches as there are places of one stage, then those of the next.
PipelineTask makeTask(const PipelineShape &shape, uint32_t place, PipelinePass pass, uint64_t k) {
  uint64_t places = shape.places, chunks = shape.stages / shape.places;
  if (chunks == 1)
    return {place, pass, k};
  uint64_t chunk = k / places % chunks;
  if (pass != PipelinePass::Forward)
    chunk = chunks - 1 - chunk;
  return {static_cast<uint32_t>(chunk * places + place), pass,
          k / (places * chunks) * places + k % places};
}

/// Forward passes before the first backward pass.
uint64_t countWarmup(const PipelineShape &shape, uint32_t place) {
  uint64_t chunks = shape.stages / shape.places, behind = shape.places - 1 - place;
  uint64_t all = shape.microbatches * chunks;
  if (shape.schedule == PipelineSchedule::GPipe)
    return all;
  return std::min(all, chunks == 1 ? behind : 2 * behind + (chunks - 1) * shape.places);
}

} // namespace

Expected<PipelineSchedule> parsePipelineSchedule(std::string_view name) {
  if (name == "gpipe")
    return PipelineSchedule::GPipe;
  if (name.empty() || name == "1f1b")
    return PipelineSchedule::OneForwardOneBackward;
  if (name == "interleaved")
    return PipelineSchedule::Interleaved;
  if (name == "zero-bubble")
    return PipelineSchedule::ZeroBubble;
  return fail("`pipeline_schedule` " + std::string(name), "is not known",
              "give gpipe, 1f1b, interleaved or zero-bubble");
}

Expected<void> PipelineShape::check() const {
  std::string what = "`accumulate`: " + std::to_string(microbatches) + " microbatches a rank";
  if (microbatches < places)
    return fail(what, "keep no " + std::to_string(places) + " stages of a pipeline busy",
                "give " + std::to_string(places) + " or more of them");
  if (stages > places && microbatches % places != 0)
    return fail(what, "interleaved stages take " + std::to_string(places) + " at a time",
                "give a multiple of " + std::to_string(places));
  return {};
}

std::vector<PipelineTask> PipelineShape::tasksAt(uint32_t place) const {
  std::vector<PipelineTask> tasks;
  uint64_t all = microbatches * (stages / places), warmup = countWarmup(*this, place);
  bool defers = schedule == PipelineSchedule::ZeroBubble;
  auto add = [&](PipelinePass pass, uint64_t k) {
    tasks.push_back(makeTask(*this, place, pass, k));
  };
  for (uint64_t k = 0; k < warmup; ++k)
    add(PipelinePass::Forward, k);
  for (uint64_t k = 0; k < all; ++k) {
    if (warmup + k < all)
      add(PipelinePass::Forward, warmup + k);
    add(PipelinePass::Backward, k);
    // The first places wait for what the last ones send, which therefore put off more.
    if (defers && k >= place)
      add(PipelinePass::Weights, k - place);
  }
  for (uint64_t k = all - std::min<uint64_t>(all, place); defers && k < all; ++k)
    add(PipelinePass::Weights, k);
  return tasks;
}

uint64_t PipelineShape::slotsOf(uint32_t stage) const {
  PipelinePass last =
      schedule == PipelineSchedule::ZeroBubble ? PipelinePass::Weights : PipelinePass::Backward;
  uint64_t begun = 0, most = 0;
  for (const PipelineTask &task : tasksAt(stage % places)) {
    if (task.stage != stage)
      continue;
    begun += task.pass == PipelinePass::Forward;
    most = std::max(most, begun);
    begun -= task.pass == last;
  }
  return most;
}

} // namespace sinter::runtime
