//===- Training.h - What a training step is compiled for --------*- C++ -*-===//
//
// Options and requests that all commands share which look at a training step: train and compare run
// it, compile writes it, bench, plan, profile and explain with `--mode train` measure it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "tools/sinter/Model.h"

namespace sinter::cli {

/// The options of a training step beside --batch and --seq.
struct StepOptions {
  TrainingOptions training;
  std::string memoryBudget; ///< as given
  uint64_t budgetBytes = 0; ///< the same once options are checked; 0: any
};

/// The bounds of its arena to try in turn, until a step that holds `peak` bytes, `arena` of them in
/// its arena, holds no more than `budget`. The last is the least (kLeastArena): what such a step
/// holds is what an error asks for, so that it is enough when it is given. @pre peak > budget
std::vector<uint64_t> getArenaBounds(uint64_t peak, uint64_t arena, uint64_t budget);

/// Keeps a run of `compiled` within the budget (0: any): where it would hold more, the step of a
/// model is compiled again, with values of the forward pass computed twice. Returns what the run
/// holds then, which may still be more. `validates` says that it evaluates, too.
Expected<runtime::TrainMemory> fitBudget(CompileRequest request, const ModelOptions &options,
                                         uint64_t budget, const runtime::TrainOptions &run,
                                         bool validates, Compiled &compiled);

/// Adds all of them, in the groups "Optimizer", "Regularization" and "Memory".
void addStepOptions(CLI::App &command, StepOptions &options);

/// Reads the sizes and checks the numbers; errors name the option.
Expected<void> checkStepOptions(StepOptions &options);

/// Tokens of a row where --seq does not say: 256, or as many as the model has positions.
int64_t getDefaultSequence(const ModelSpec &spec);

/// What compile() needs to know to make the programs of a training run: steps over
/// options.batch rows of `sequence` tokens, and `evaluate` too if there is something to evaluate.
/// The options are checked. Fails where the model has fewer positions than that.
Expected<CompileRequest> makeTrainRequest(const Model &model, const ModelOptions &options,
                                          const StepOptions &step, int64_t sequence, bool evaluate);

/// What a training step was compiled for, option by option: "--optimizer" -> "adamw". An executable
/// carries it as metadata, and a run may only be resumed with the same.
std::map<std::string, std::string> describeStep(int64_t batch, int64_t sequence,
                                                const StepOptions &step);

/// Floating-point operations of forward and backward passes over batch rows of `sequence` tokens
/// that the mathematics asks for, nothing counted twice that is computed twice: with n tokens, W
/// the elements of all weight matrices (the head's too, also where it is the embedding) and, for
/// each layer, d wide heads of which there are h and V pairs of a query and a key that it sees,
///
///   3 * (2 n W + sum over layers of 4 V h d)
///
/// 2 for multiply and add, 3 for forward, gradients of operands, gradients of weights.
double getUsefulFlops(const ModelSpec &spec, int64_t batch, int64_t sequence);

} // namespace sinter::cli
