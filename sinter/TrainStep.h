//===- Training.h - What a training step is compiled for --------*- C++ -*-===//
//
// Requests that all share which look at a training step: what trains runs it, what measures and
// plans wants to know of the same step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "sinter/Compile.h"
#include <set>

namespace sinter {

/// The bounds of its arena to try in turn, until a step that holds `peak` bytes, `arena` of them in
/// its arena, holds no more than `budget`. The last is the least (kLeastArena): what such a step
/// holds is what an error asks for, so that it is enough when it is given. @pre peak > budget
std::vector<uint64_t> getArenaBounds(uint64_t peak, uint64_t arena, uint64_t budget);

/// Keeps a run of `compiled` within the budget (0: any): where it would hold more, the step of a
/// model is compiled again, with values of the forward pass computed twice. Returns what the run
/// holds then, which may still be more. `validates` says that it evaluates, too.
Expected<runtime::TrainMemory> fitBudget(CompileRequest request, const RunOptions &options,
                                         uint64_t budget, const runtime::TrainOptions &run,
                                         bool validates, Compiled &compiled);

/// Tokens of a row where nothing says how many: 256, or as many as the model has positions; those
/// that a text is for.
int64_t getDefaultSequence(const Model &model);

/// Fails where one of the `given` options is of training steps alone, which `what` is not and
/// `remedy` makes: "decode", "`mode` train".
Expected<void> checkNoTraining(const RunOptions &options,
                               const std::set<std::string, std::less<>> &given,
                               const std::string &what, const std::string &remedy);

/// Takes `microbatches` for `accumulate`, which it is another name of. Fails where both are given
/// and differ, or there is no pipeline.
Expected<void> resolveMicrobatches(RunOptions &options);

/// What the compiler needs to know to make the programs of a training run: steps over options.batch
/// rows of `sequence` tokens, and `evaluate` too if there is something to evaluate. Fails where an
/// option of the step is wrong or the model has fewer positions than that.
Expected<CompileRequest> makeTrainRequest(const Model &model, const RunOptions &options,
                                          int64_t sequence, bool evaluate);

/// What a training step was compiled for, by the ids of its options: a run may only be resumed with
/// the same.
std::map<std::string, std::string> describeStep(const RunOptions &options, int64_t sequence);

/// Floating-point operations of forward and backward passes over batch rows of `sequence` tokens
/// that the mathematics asks for, nothing counted twice that is computed twice: with n tokens, W
/// the elements of all weight matrices (the head's too, also where it is the embedding) and, for
/// each layer, d wide heads of which there are h and V pairs of a query and a key that it sees,
///
///   3 * (2 n W + sum over layers of 4 V h d)
///
/// 2 for multiply and add, 3 for forward, gradients of operands, gradients of weights.
double getUsefulFlops(const ModelSpec &spec, int64_t batch, int64_t sequence);

} // namespace sinter
