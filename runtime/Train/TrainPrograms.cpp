#include "runtime/Train/TrainPrograms.h"
#include "runtime/Base/Options.h"
#include "runtime/Collective/Grid.h"
#include <algorithm>

namespace sinter::runtime {
namespace {

using Shape = std::vector<int64_t>;
constexpr const char *remedy = "compile the model for training again";

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

Expected<TrainProgram> TrainProgram::find(const Session &session, std::string_view name) {
  TrainProgram result;
  SINTER_TRY(result.program, session.program(name));
  const fb::Program &program = *session.executable().program(name);
  // The microbatch's own shape is that of its tokens.
  if (contains(program.inputs(), "tokens"))
    SINTER_CHECK(result.bindInput(session, "tokens"));
  if (program.inputs())
    for (const fb::Binding *binding : *program.inputs())
      if (binding->name()->string_view() != "tokens")
        SINTER_CHECK(result.bindInput(session, binding->name()->str()));
  SINTER_CHECK(result.bindOutputs(session, name));
  return result;
}

Expected<void> TrainProgram::bindInput(const Session &session, const std::string &name) {
  auto bad = [&](const std::string &why) {
    return fail(session.executable().name(), "its input '" + name + "' " + why, remedy);
  };
  const std::pair<const char *, std::span<int32_t> *> arrays[] = {
      {"tokens", &tokens}, {"targets", &targets}, {"first", &first}, {"seed", &seed}};
  for (const auto &[known, array] : arrays)
    if (name == known) {
      SINTER_TRY(TensorView view, session.input(program, name, DType::I32));
      if (name == "tokens" && view.shape.size() == 2) {
        rows = static_cast<uint64_t>(view.shape[0]);
        length = static_cast<uint64_t>(view.shape[1]);
      }
      Shape expected = {int64_t(rows), int64_t(length)};
      if (name == "seed")
        expected = {2};
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
  const fb::Program &found = *session.executable().program(name);
  const std::pair<const char *, const float **> outputs[] = {{"loss", &lossOut},
                                                             {"grad_norm", &gradNormOut}};
  for (const auto &[output, value] : outputs)
    if (contains(found.outputs(), output)) {
      SINTER_TRY(TensorView view, session.output(program, output, DType::F32));
      if (view.bytes.size() != sizeof(float))
        return fail(session.executable().name(),
                    "its output '" + std::string(output) + "' is no single number", remedy);
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

Expected<GradientTree> makeGradientTree(const Executable &executable, uint64_t accumulate) {
  uint64_t leaves = 1, zero = 0; // as in executables of older versions
  for (auto [id, number] : {std::pair("leaves", &leaves), std::pair("zero", &zero)})
    if (std::optional<std::string_view> text = executable.metadata(id))
      if (!readOption(*text, *number) || leaves == 0)
        return failMetadata(id, executable.name());
  return GradientTree::make(accumulate, leaves, countRanks(executable.root(), "data"),
                            zero >= 2 ? Sharing::Interleaved : Sharing::Blocks);
}

Expected<std::vector<std::string>> TrainPrograms::choose(const Executable &executable,
                                                         uint64_t accumulate, bool validation) {
  SINTER_TRY(GradientTree tree, makeGradientTree(executable, accumulate));
  std::vector<std::string> names = {"train_step"};
  if (accumulate > 1 || !executable.program("train_step"))
    names = {"accumulate", "update"};
  for (uint64_t carry = 1; carry < tree.buffers(); ++carry)
    names.push_back(carryProgram(carry));
  if (validation)
    names.push_back("evaluate");
  auto refuse = [&](const std::string &why) {
    return fail(executable.name(), why, "compile the model for this training");
  };
  std::string step = "a step of " + std::to_string(accumulate) + " microbatches";
  for (const std::string &name : names)
    if (!executable.program(name))
      return refuse("it has no program '" + name + "', which " + step +
                    (name == "evaluate" ? " with validation data" : "") + " needs");
  if (std::string more = carryProgram(tree.buffers()); executable.program(more))
    return refuse("it has a program '" + more + "', for more than " + step);
  return names;
}

Expected<TrainPrograms> TrainPrograms::find(const Session &session, uint64_t accumulate,
                                            bool validation) {
  const Executable &executable = session.executable();
  SINTER_TRY(std::vector<std::string> names, choose(executable, accumulate, validation));
  TrainPrograms programs;
  SINTER_TRY(programs.step, TrainProgram::find(session, names[0]));
  if (names[0] == "accumulate") {
    SINTER_TRY(programs.update, TrainProgram::find(session, "update"));
  }
  SINTER_TRY(programs.tree, makeGradientTree(executable, accumulate));
  for (uint64_t carry = 1; carry < programs.tree.buffers(); ++carry) {
    SINTER_TRY(size_t handle, session.program(carryProgram(carry)));
    programs.carries.push_back(handle);
  }
  if (validation) {
    SINTER_TRY(programs.evaluate, TrainProgram::find(session, "evaluate"));
  }
  const TrainProgram &last = programs.update ? *programs.update : programs.step;
  auto takesBatch = [&](const TrainProgram &program) {
    return program.batch() == programs.step.batch() && program.sequence() != 0 &&
           program.sequence() == programs.step.sequence() && program.hasLoss();
  };
  if (!takesBatch(programs.step) || !last.hasGradNorm() ||
      (programs.evaluate && !takesBatch(*programs.evaluate)))
    return fail(executable.name(),
                "its programs lack tokens, 'loss' or 'grad_norm', or do not fit each other",
                remedy);
  return programs;
}

} // namespace sinter::runtime
