//===- Compile.h - From a graph to an executable ----------------*- C++ -*-===//
//
// The compiler's one door. Nothing here speaks of MLIR, so that a program can hold this header and
// open the compiler, a large shared library, only when there is something to compile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Executable/Contents.h"
#include "compiler/Pipelines/GraphSource.h"
#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// What the compiler has to know of a training run. What changes from step to step (the learning
/// rate, the weight of a token) is an input of the step instead.
struct TrainingOptions {
  std::string optimizer = "adamw";                  ///< adamw, sgd, adafactor or muon
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8; ///< of adamw and muon
  std::optional<double> momentum;                   ///< of sgd and muon; none: 0.9 and 0.95
  bool nesterov = false;                            ///< of sgd
  /// Of adafactor: its own rate instead of the step's, and one that follows the parameter's size.
  bool relativeStep = true, scaleParameter = true;
  std::string stateType = "f32"; ///< of what adamw, muon and sgd keep of a parameter: f32 or bf16
  double weightDecay = 0.1;      ///< of parameters of two dimensions or more ...
  std::string noDecay;           ///< ... whose names contain none of these, separated by commas
  double gradientClip = 1;       ///< the largest global norm; 0: any
  int64_t accumulate = 1;        ///< microbatches of a step
  double dropout = 0;            ///< of embeddings, attention and residual branches
  double zLoss = 0;              ///< times the squared log-partition function of each token
  bool documentMask = false;     ///< an input `first` says which keys a query may see at all
  /// Bytes that the step's arena may take, 0 for as many as it needs. Within them values of the
  /// forward pass are computed again instead of kept; where that is not enough, the arena is what
  /// comes closest. kLeastArena: all of them are, at once and without a search.
  uint64_t arenaBudget = 0;
  static constexpr uint64_t kLeastArena = 1;
  std::string rematerialize = "op"; ///< what is recomputed under a budget: op, layer or block

  double getMomentum() const { return momentum.value_or(optimizer == "muon" ? 0.95 : 0.9); }
};

/// What to compile a model for.
struct CompileOptions {
  std::string target = "cpu"; ///< as parseTarget takes it: "cpu" (this machine), "cuda:sm_90"
  /// That the cost model reckons with. Other numbers may fuse other ops and so give other last
  /// bits; the threads that an executable runs on never do.
  int64_t cores = 1;
  DType computeType = DType::F32; ///< F32, BF16 or F16, of matrix products
  DType cacheType = DType::F32;   ///< F32, BF16 or (of a GPU) F16, of KV caches
  bool tf32 = false;              ///< products of f32 may round their operands to TF32
  bool tune = false;              ///< a GPU chooses between ways of doing the same by their times
  int64_t batch = 1;              ///< slots
  int64_t chunk = 128;            ///< tokens of a slot that `prefill` and `logits` take at a time
  int64_t capacity = 1024;        ///< positions of a slot's KV cache
  int64_t ropeLength = 0;         ///< as in GraphOptions; 0: the capacity
  /// Of prefill, decode, logits, train_step and evaluate.
  std::vector<std::string> entries = {"prefill", "decode"};
  TrainingOptions training;                ///< of train_step and evaluate
  std::vector<std::string> disabledPasses; ///< speed passes to leave out, by argument
  std::vector<std::string> passPlugins;    ///< shared libraries that register passes
  std::vector<std::string> addedPasses;    ///< "after:<Phase>:<pass pipeline>"
  std::string stopAfter;                   ///< the last phase to run; empty: all of them
  /// graph, fused, program, llvm, asm or cuda: print that stage; empty: an executable.
  std::string emit;
  bool elidesConstants = false; ///< what is printed leaves out large constants, and is no model
  bool cubins =
      false; ///< for a GPU: the executable carries compiled kernels, not only their source
};

/// A graph and how it is to be compiled.
struct CompileRequest {
  std::shared_ptr<const GraphSource> graph;
  std::string description; ///< what `graph` is made from, for the cache's key
  /// Element types of the checkpoint's tensors; those that it does not name are F32.
  std::map<std::string, DType> parameterTypes;
  ExecutableContents contents; ///< what the executable is to carry along
  /// Whether the result says what was decided and where the memory goes, too. That takes
  /// time of its own.
  bool reports = false;
  /// Without code the result is for planning alone: all that an executable says of its memory, at a
  /// part of the time, but kernels that only end the process.
  bool code = true;
  CompileOptions options;
};

/// A decision of the compiler.
struct Decision {
  bool taken;           ///< done, or weighed and declined
  std::string pass;     ///< "sinter-form-fusions"
  std::string name;     ///< "NormIntoCast"
  std::string function; ///< the entry
  std::string where;    ///< "model.layers.3.mlp.up_proj"
  std::string text;     ///< with the predicted cost of both sides
  /// Nanoseconds that doing it saves by the cost model, below zero where it costs, if that was
  /// what decided.
  std::optional<double> gainNs;
};

struct CompileResult {
  std::vector<std::byte> executable;     ///< as writeExecutable and Executable::fromBytes take it
  std::string text;                      ///< what `emit` or `stopAfter` asked for
  std::vector<Decision> decisions;       ///< where the request wants reports
  std::map<std::string, double> phaseMs; ///< wall time of each phase
  /// JSON, see compiler/Executable/MemoryReport.h; empty unless the request wants reports.
  std::string memoryReport;
};

/// Compiles. Fails on what a user can mend (options, sizes, MLIR text, plugins); an error with
/// `defect` set is Sinter's own fault.
Expected<CompileResult> compile(const CompileRequest &request);

/// A hash of all that two compilations with the same result share: the request (a graph by its
/// description), this machine's processor and the compiler's build.
std::string getCacheKey(const CompileRequest &request);

} // namespace sinter
