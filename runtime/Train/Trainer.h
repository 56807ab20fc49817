//===- Trainer.h - Runs a train executable, step after step -----*- C++ -*-===//
//
// Drives the programs of an executable that was compiled for training:
//
//   train_step           one microbatch and the update, or, with gradient accumulation,
//   accumulate, update   `accumulate` for each microbatch of a step, then `update` once
//   carry.1, carry.2...  between them, where the tree of the gradients has buffers (GradientTree.h)
//   accumulate_last      in accumulate's stead for a rank's last microbatch, where sums over ranks
//                        are made beside it
//   evaluate             the loss alone, where there are validation data
//
// Inputs are set by name, and only those that a program has: tokens, targets, first [B, T] and seed
// [2] of the microbatch (of the last one, where `update` has a seed); loss_weight, which is 1 /
// (targets of the whole step that are not masked), so that the loss and its gradient are means over
// all tokens however they are spread over microbatches; loss_scale (f16); learning_rate and
// adamw_learning_rate; bias_correction1 and 2, 1 - beta^t, and update, t, with t the number of
// updates made, this one included.
//
// The states that the executable's checkpoint table lists are the parameters; all others belong to
// the optimizer. A run is a function of the executable, the data and the options: stopped and
// resumed at any step, with any number of threads, it gives the same bits. Resumed with another
// schedule it goes on as that has it from the next step on, as if it had been so from the start.
//
// Where an executable is for several ranks (BindOptions::communicator), each has a trainer, and
// all call the same functions in the same order. Along the axis data they share a step's
// microbatches (GradientTree.h); all come to the same numbers, have the same errors, stop behind
// the same step, and write one checkpoint, from which a run goes on in any other layout. The first
// rank alone looks after the folder, warns of what all know and writes the model.
//
//   auto trainer = Trainer::create(executable, {train, validation}, options);
//   auto result = (*trainer)->run();
//   (*trainer)->writeModel(directory + "/model.safetensors");
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Data/Batches.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/LearningRate.h"
#include "runtime/Train/LossScaler.h"
#include "runtime/Train/RunState.h"
#include <atomic>

namespace sinter::runtime {

/// What is known after a step.
struct StepRecord {
  uint64_t step = 0;   ///< from 0
  double loss = 0;     ///< mean over the step's targets, of the parameters before the update
  double gradNorm = 0; ///< of all gradients, before clipping
  double learningRate = 0;
  uint64_t tokens = 0;                  ///< that the run has read up to here, this step included
  double stepMs = 0;                    ///< wall time, without evaluation and saving
  double tokensPerSecond = 0;           ///< of this step
  uint64_t peakBytes = 0;               ///< see Trainer::peakBytes()
  bool skipped = false;                 ///< f16: a gradient overflowed, nothing was updated
  std::optional<double> lossScale;      ///< f16: that this step's gradients were computed with
  std::optional<double> validationLoss; ///< of the parameters after the update
};

struct TrainOptions {
  LearningRateSchedule schedule; ///< its `steps` are the steps of the run
  uint64_t accumulate = 1;
  double adamwRate = 1; ///< learning rate of what AdamW updates beside another optimizer, in units
                        ///< of the schedule's
  LossScalerOptions scaler;

  DataOrder order = DataOrder::Shuffled;
  uint64_t seed = 0; ///< of random initial parameters, the data's order and dropout
  /// With it, documents that this token ends do not see each other.
  std::optional<int32_t> endOfText;

  /// The initial parameters (F32, BF16 or F16); without it they are random, as the executable's
  /// checkpoint table says.
  const WeightSource *weights = nullptr;

  /// Checkpoints go to DIRECTORY/checkpoints/step-N, N the steps done; none where it is empty.
  std::string directory;
  uint64_t saveEvery = 0; ///< steps; 0: only at the end and when stopped
  uint64_t keep = 3;      ///< checkpoints that stay, the newest ones; 0: all
  /// Goes on from the newest whole checkpoint, or from the start where there is none.
  bool resume = false;
  /// The file that the parameters are written to once the last step is done, as by writeModel();
  /// none where it is empty. It comes before the last checkpoint, which is several times as large:
  /// a disk may have room for the one alone.
  std::string model;
  /// What resuming must find unchanged, by the id of the option ("optimizer" -> "adamw") or in
  /// words ("the end of documents").
  std::map<std::string, std::string> identity;
  /// The same of what it may find changed, "" where it is not set: the steps that are left are done
  /// with these, and changes() tells.
  std::map<std::string, std::string> adjustable;

  /// Evaluates after every so many steps, and after the last; 0: only after the last. Without
  /// validation data never.
  uint64_t evaluateEvery = 0;

  BindOptions session; ///< pool or threads, kernels; the rest is the trainer's to set

  /// Called after each step.
  std::function<void(const StepRecord &)> onStep;
  /// Called with what went wrong but does not end the run: a damaged checkpoint that is passed
  /// over, one that could not be written.
  std::function<void(const Error &)> onWarning;
  /// Set by a signal handler: the run saves after the current step and returns.
  const std::atomic<bool> *stop = nullptr;
};

struct TrainData {
  TokenStream train;
  std::optional<TokenStream> validation;
};

/// Bytes that a trainer holds.
struct TrainMemory {
  MemoryUse session;
  uint64_t snapshot = 0; ///< the copy of all states that a checkpoint is written from
  uint64_t batches = 0;  ///< this step's and the next one's
  uint64_t process = 0;  ///< see predictProcessMemory()
  bool apart = false;    ///< the session has a device with memory of its own

  /// The most that is ever to be held where the session's memory is. On the processor that is all
  /// of the process that no file holds.
  uint64_t getPeak() const {
    return session.getPeak() + (apart ? 0 : snapshot + batches + process);
  }
};

/// What a trainer of these options would hold; nothing is allocated, opened or read.
Expected<TrainMemory> predictTrainMemory(std::shared_ptr<const Executable> executable,
                                         const TrainOptions &options, bool validation);

struct TrainResult {
  uint64_t steps = 0;   ///< done since the run began, by this process and those before
  bool stopped = false; ///< by TrainOptions::stop, before the last step
  double seconds = 0;   ///< in this process
};

class Trainer {
public:
  /// Binds the executable, fills the parameters and finds the data's position. Errors: options or
  /// data that cannot be, an executable that was not compiled for them, weights that do not fit,
  /// too little memory, a directory that holds checkpoints although `resume` is not set,
  /// checkpoints of other options or of another model (the first difference is named).
  static Expected<std::unique_ptr<Trainer>> create(std::shared_ptr<const Executable> executable,
                                                   TrainData data, TrainOptions options);
  ~Trainer();

  /// Does the steps that are left, evaluates and saves as the options say, writes the model, and at
  /// the end waits until the last checkpoint is on the disk.
  ///
  /// A loss or gradient norm that is not finite ends the run with an error that names the step and,
  /// found by doing the step again with checks on, the op and the layer where it first shows; no
  /// checkpoint is touched. With a loss scale such steps are skipped instead, until no scale helps.
  /// A checkpoint that cannot be written is a warning, and an error at the end if none after it
  /// could be either; earlier checkpoints stay as they are. So is a model that cannot be written an
  /// error at the end, after the last checkpoint.
  Expected<TrainResult> run();

  /// One step, without callbacks, evaluation or saving; for those who measure.
  Expected<StepRecord> step();

  /// The mean loss over the validation data. @pre there are such data
  Expected<double> evaluate();

  /// Writes the parameters under their checkpoint names: aside, synced, renamed into place.
  Expected<void> writeModel(const std::string &path) const;

  /// The step that comes next: 0, or where the run was resumed.
  uint64_t getNextStep() const;

  /// Which of TrainOptions::adjustable are others than before the run was resumed.
  const std::vector<OptionChange> &getChanges() const;

  /// What is planned, which predictTrainMemory() says, too.
  TrainMemory getMemory() const;

  /// The most that was held at the end of a step, or is held now, in bytes as the system counts
  /// them: of memory that no file holds, by all of this process; of a GPU's, by the session.
  uint64_t getPeakBytes();

  /// For traces and for a look at the states.
  Session &getSession() const;

private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::runtime
