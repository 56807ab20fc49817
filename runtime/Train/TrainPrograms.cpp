#include "runtime/Train/TrainPrograms.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include <algorithm>

namespace sinter::runtime {
namespace {

using Shape = std::vector<int64_t>;
constexpr const char *programRemedy = "compile the model for training again";

template <typename T> void assign(T *input, double value) {
  if (input)
    *input = static_cast<T>(value);
}

template <typename Bindings> bool contains(const Bindings *bindings, std::string_view name) {
  if (bindings)
    for (const fb::Binding *binding : *bindings)
      if (binding->name()->string_view() == name)
        return true;
  return false;
}

} // namespace

Expected<TrainProgram> TrainProgram::find(const Session &session, std::string_view name,
                                          uint64_t slot) {
  TrainProgram result;
  SINTER_TRY(result.program, session.program(name, slot));
  const fb::Program &program = *session.getExecutable().program(name);
  auto [rows, length] = findMicrobatchShape(session.getExecutable());
  if (program.inputs())
    for (const fb::Binding *binding : *program.inputs())
      SINTER_CHECK(
          result.bindInput(session, binding->name()->str(), {int64_t(rows), int64_t(length)}));
  SINTER_CHECK(result.bindOutputs(session, name));
  return result;
}

Expected<void> TrainProgram::bindInput(const Session &session, const std::string &name,
                                       const Shape &microbatch) {
  auto bad = [&](const std::string &why) {
    return fail(session.getExecutable().getName(), "its input '" + name + "' " + why,
                programRemedy);
  };
  const std::pair<const char *, std::span<int32_t> *> arrays[] = {
      {"tokens", &tokens}, {"targets", &targets}, {"first", &first}, {"seed", &seed}};
  for (const auto &[known, array] : arrays)
    if (name == known) {
      SINTER_TRY(TensorView view, session.input(program, name, DType::I32));
      Shape expected = name == "seed" ? Shape{2} : microbatch;
      if (view.shape != expected || view.bytes.empty())
        return bad("has another shape than its tokens");
      *array = view.as<int32_t>();
      return {};
    }
  const std::pair<const char *, float **> scalars[] = {{"loss_weight", &lossWeight},
                                                       {"loss_scale", &lossScale},
                                                       {"learning_rate", &learningRate},
                                                       {"adamw_learning_rate", &adamwLearningRate},
                                                       {"bias_correction1", &biasCorrection1},
                                                       {"bias_correction2", &biasCorrection2},
                                                       {"update", &update}};
  for (const auto &[known, scalar] : scalars)
    if (name == known) {
      SINTER_TRY(TensorView view, session.input(program, name, DType::F32));
      if (view.bytes.size() != sizeof(float))
        return bad("is no single number");
      *scalar = view.as<float>().data();
      return {};
    }
  return bad("is none that training sets");
}

Expected<void> TrainProgram::bindOutputs(const Session &session, std::string_view name) {
  const fb::Program &found = *session.getExecutable().program(name);
  const std::pair<const char *, const float **> outputs[] = {{"loss", &lossOut},
                                                             {"grad_norm", &gradNormOut}};
  for (const auto &[output, value] : outputs)
    if (contains(found.outputs(), output)) {
      SINTER_TRY(TensorView view, session.output(program, output, DType::F32));
      if (view.bytes.size() != sizeof(float))
        return fail(session.getExecutable().getName(),
                    "its output '" + std::string(output) + "' is no single number", programRemedy);
      *value = view.as<float>().data();
    }
  return {};
}

void TrainProgram::set(const Microbatch &microbatch) const {
  if (!tokens.empty())
    std::copy(microbatch.tokens.begin(), microbatch.tokens.end(), tokens.begin());
  if (!targets.empty())
    std::copy(microbatch.targets.begin(), microbatch.targets.end(), targets.begin());
  std::fill(first.begin(), first.end(), 0); // without a document mask all is one document
  if (!first.empty())
    std::copy(microbatch.first.begin(), microbatch.first.end(), first.begin());
  setSeed(microbatch.seed);
}

void TrainProgram::setSeed(const std::array<int32_t, 2> &words) const {
  if (!seed.empty())
    std::copy(words.begin(), words.end(), seed.begin());
}

void TrainProgram::set(const StepScalars &scalars) const {
  assign(lossWeight, scalars.lossWeight);
  assign(lossScale, scalars.lossScale);
  assign(learningRate, scalars.learningRate);
  assign(adamwLearningRate, scalars.adamwLearningRate);
  assign(biasCorrection1, scalars.biasCorrection1);
  assign(biasCorrection2, scalars.biasCorrection2);
  assign(update, scalars.update);
}

std::array<uint64_t, 2> findMicrobatchShape(const Executable &executable) {
  for (const fb::Program *program : *executable.getRoot().programs())
    if (program->inputs() && program->name()->string_view() != "evaluate")
      for (const fb::Binding *input : *program->inputs())
        if (input->name()->string_view() == "tokens" && input->shape() &&
            input->shape()->size() == 2)
          return {static_cast<uint64_t>(input->shape()->Get(0)),
                  static_cast<uint64_t>(input->shape()->Get(1))};
  return {0, 0};
}

bool hasInput(const Executable &executable, std::string_view name) {
  return std::ranges::any_of(*executable.getRoot().programs(), [&](const fb::Program *program) {
    return contains(program->inputs(), name);
  });
}

static Expected<std::vector<TrainProgram>> findAll(const Session &session,
                                                   const std::vector<std::string> &names) {
  std::vector<TrainProgram> programs;
  for (const std::string &name : names) {
    SINTER_TRY(TrainProgram program, TrainProgram::find(session, name));
    programs.push_back(program);
  }
  return programs;
}

Expected<TrainPrograms> TrainPrograms::find(const Session &session, const StepPlan &plan,
                                            size_t rank) {
  const Executable &executable = session.getExecutable();
  TrainPrograms programs;
  programs.tree = plan.tree;
  for (const PlannedTask &task : plan.tasks) {
    StepTask &found = programs.tasks.emplace_back();
    found.microbatch = task.microbatch;
    SINTER_TRY(found.program, TrainProgram::find(session, task.run.program, task.run.slot));
    for (const std::string &carry : task.carries) {
      SINTER_TRY(size_t handle, session.program(carry));
      found.carries.push_back(handle);
    }
  }
  SINTER_TRY(programs.update, findAll(session, plan.update));
  SINTER_TRY(programs.evaluate, findAll(session, plan.evaluate));
  SINTER_TRY(programs.share, findAll(session, plan.share));
  auto [rows, length] = findMicrobatchShape(executable);
  auto gives = [](const auto &some, auto has) { return std::ranges::any_of(some, has); };
  auto hasLoss = [](const TrainProgram &program) { return program.hasLoss(); };
  auto hasNorm = [](const TrainProgram &program) { return program.hasGradNorm(); };
  bool isLastStage =
      findPlace(executable.getRoot(), kPipelineAxis, rank) + 1 == countPlaces(executable.getRoot());
  bool whole = rows != 0 && length != 0;
  if (isLastStage)
    whole = whole &&
            gives(programs.tasks, [&](const StepTask &task) { return hasLoss(task.program); }) &&
            (programs.update.empty() ? programs.tasks.back().program.hasGradNorm()
                                     : gives(programs.update, hasNorm)) &&
            (programs.evaluate.empty() || gives(programs.evaluate, hasLoss));
  if (!whole)
    return fail(executable.getName(),
                "its programs lack tokens, 'loss' or 'grad_norm', or do not fit each other",
                programRemedy);
  return programs;
}

double TrainPrograms::getGradNorm() const {
  for (const TrainProgram &program : update)
    if (program.hasGradNorm())
      return program.getGradNorm();
  return update.empty() ? tasks.back().program.getGradNorm() : 0;
}

} // namespace sinter::runtime
