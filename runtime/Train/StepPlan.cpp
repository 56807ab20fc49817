#include "runtime/Train/StepPlan.h"
#include "runtime/Base/Options.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Session/RanksVerifier.h"
#include "runtime/Train/PipelineSchedule.h"
#include <algorithm>

namespace sinter::runtime {
namespace {

std::vector<std::string> namesOf(const std::vector<EntryPass> &passes) {
  std::vector<std::string> names;
  for (const EntryPass &pass : passes)
    names.push_back(pass.name);
  return names;
}

/// The order in which a rank takes the passes of a step's microbatches.
Expected<std::vector<PipelineTask>> orderPasses(const Executable &executable, size_t rank,
                                                uint64_t microbatches) {
  const fb::Executable &root = executable.getRoot();
  std::vector<PipelineTask> order;
  if (countStages(root) == 0) {
    for (uint64_t i = 0; i < microbatches; ++i)
      order.push_back({0, PipelinePass::Forward, i});
    return order;
  }
  PipelineShape shape;
  SINTER_TRY(shape.schedule,
             parsePipelineSchedule(executable.metadata("pipeline_schedule").value_or("")));
  shape.places = static_cast<uint32_t>(countPlaces(root));
  shape.stages = countStages(root);
  shape.microbatches = microbatches;
  SINTER_CHECK(shape.check());
  for (uint32_t stage = 0; stage < shape.stages; ++stage)
    if (countSlots(root, stage) < shape.slotsOf(stage))
      return fail(executable.getName(),
                  "stage " + std::to_string(stage) + " of its pipeline has slots for " +
                      std::to_string(countSlots(root, stage)) + " of the " +
                      std::to_string(shape.slotsOf(stage)) + " microbatches at a time",
                  "compile the model for this training");
  return shape.tasksAt(static_cast<uint32_t>(findPlace(root, kPipelineAxis, rank)));
}

} // namespace

Expected<GradientTree> makeGradientTree(const Executable &executable, uint64_t accumulate) {
  uint64_t leaves = 1, zero = 0; // as in executables of older versions
  for (auto [id, number] : {std::pair("leaves", &leaves), std::pair("zero", &zero)})
    if (std::optional<std::string_view> text = executable.metadata(id))
      if (!readOption(*text, *number) || leaves == 0)
        return failMetadata(id, executable.getName());
  return GradientTree::make(accumulate, leaves, countRanks(executable.getRoot(), "data"),
                            zero >= 2 ? Sharing::Interleaved : Sharing::Blocks);
}

Expected<StepPlan> StepPlan::make(const Executable &executable, size_t rank, uint64_t accumulate,
                                  bool validation) {
  StepPlan plan;
  uint64_t place = findPlace(executable.getRoot(), kPipelineAxis, rank);
  SINTER_TRY(plan.tree, makeGradientTree(executable, accumulate));
  std::string step = "a step of " + std::to_string(accumulate) + " microbatches";
  auto find = [&](const std::string &entry) -> Expected<std::vector<EntryPass>> {
    std::vector<EntryPass> passes = listPasses(executable, place, entry);
    if (!passes.empty())
      return passes;
    return fail(executable.getName(),
                "it has no program '" + entry + "', which " + step +
                    (entry == "evaluate" ? " with validation data" : "") + " needs",
                "compile the model for this training");
  };
  bool accumulates = accumulate > 1 || !executable.program("train_step");
  // A rank's last microbatch may have a program of its own, and then be all that it has.
  std::vector<EntryPass> last = listPasses(executable, place, kLastMicrobatch), passes;
  if (last.empty() || plan.tree.getMicrobatches() > 1) {
    SINTER_TRY(passes, find(accumulates ? "accumulate" : "train_step"));
  }
  if (accumulates) {
    SINTER_TRY(std::vector<EntryPass> update, find("update"));
    plan.update = namesOf(update);
  }
  std::vector<std::vector<EntryPass>> carries;
  for (uint64_t carry = 1; carry < plan.tree.getBuffers(); ++carry) {
    SINTER_TRY(std::vector<EntryPass> own, find(carryProgram(carry)));
    carries.push_back(std::move(own));
  }
  if (validation) {
    SINTER_TRY(std::vector<EntryPass> evaluate, find("evaluate"));
    plan.evaluate = namesOf(evaluate);
  }
  std::string more = carryProgram(plan.tree.getBuffers());
  if (!listPasses(executable, place, more).empty())
    return fail(executable.getName(), "it has a program '" + more + "', for more than " + step,
                "compile the model for this training");
  plan.share = namesOf(listPasses(executable, place, "share"));
  SINTER_TRY(std::vector<PipelineTask> order,
             orderPasses(executable, rank, plan.tree.getMicrobatches()));
  for (const PipelineTask &next : order) {
    auto ofStage = [&](const EntryPass &pass) { return pass.stage == next.stage; };
    bool isLast = !last.empty() && next.microbatch + 1 == plan.tree.getMicrobatches();
    const std::vector<EntryPass> &those = isLast ? last : passes;
    auto own = std::ranges::find_if(
        those, [&](const EntryPass &pass) { return ofStage(pass) && pass.pass == next.pass; });
    if (own == those.end())
      continue; // the last stage has gone backward already
    uint64_t slots = countSlots(executable.getRoot(), next.stage);
    PlannedTask &task = plan.tasks.emplace_back(
        PlannedTask{{own->name, next.microbatch % slots}, next.microbatch, {}});
    // Behind the stage's last pass it has the gradients of the microbatch.
    if (!isLast && std::ranges::none_of(passes, [&](const EntryPass &pass) {
          return ofStage(pass) && pass.pass > next.pass;
        }))
      for (uint64_t carry = 0; carry < plan.tree.carriesAfter(next.microbatch); ++carry)
        for (const EntryPass &pass : carries[carry])
          if (ofStage(pass))
            task.carries.push_back(pass.name);
  }
  return plan;
}

Expected<void> verifySteps(const Executable &executable, uint64_t accumulate, bool validation) {
  const fb::Executable &root = executable.getRoot();
  if (countStages(root) == 0)
    return {};
  std::vector<RankRuns> runs;
  for (uint32_t place = 0; place < countPlaces(root); ++place) {
    SINTER_TRY(StepPlan plan,
               StepPlan::make(executable, findRankOfStage(root, place, 0), accumulate, validation));
    std::vector<PlannedRun> &own = runs.emplace_back().emplace_back();
    auto add = [&](const std::vector<std::string> &names) {
      for (const std::string &name : names)
        own.push_back({name});
    };
    add(plan.share);
    for (int step = 0; step < 2; ++step) {
      for (const PlannedTask &task : plan.tasks) {
        own.push_back(task.run);
        add(task.carries);
      }
      add(plan.update);
      add(plan.share);
      add(plan.evaluate);
    }
  }
  return verifyRanks(executable, runs);
}

size_t findLargestRank(const Executable &executable) {
  const fb::Executable &root = executable.getRoot();
  size_t largest = 0;
  uint64_t most = 0;
  for (uint32_t place = 0; place < countPlaces(root) && countStages(root) != 0; ++place) {
    uint64_t state = 0, arena = 0;
    const fb::Program *preprocess = findPreprocess(executable, place);
    for (const fb::Program *program : *root.programs())
      if (placeOfStage(root, program->stage()) == place &&
          !isPreprocess(program->name()->string_view())) {
        state = std::max(state, stateBytesOf(root, program->stage()));
        arena = std::max<uint64_t>(arena, program->arena_bytes());
      }
    // As MemoryUse::peak().
    uint64_t all = parameterBytesOf(executable, place) +
                   std::max(state + arena, preprocess ? preprocess->arena_bytes() : 0);
    if (all > most) {
      most = all;
      largest = findRankOfStage(root, place, 0);
    }
  }
  return largest;
}

std::vector<std::string> StepPlan::getNames() const {
  std::vector<std::string> all;
  for (const PlannedTask &task : tasks) {
    all.push_back(task.run.program);
    all.insert(all.end(), task.carries.begin(), task.carries.end());
  }
  for (const auto *some : {&update, &evaluate, &share})
    all.insert(all.end(), some->begin(), some->end());
  std::ranges::sort(all);
  auto rest = std::ranges::unique(all);
  all.erase(rest.begin(), rest.end());
  return all;
}

} // namespace sinter::runtime
