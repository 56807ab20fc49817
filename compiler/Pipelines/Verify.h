//===- Verify.h - Checking passes and pipelines -----------------*- C++ -*-===//
//
// Up to Fusion a module is a graph, and what stands before a pass is compared with what stands
// behind it by the reference evaluator. Later passes work on loops and commands, which it does not
// evaluate: there the rest of the pipeline is compiled, with the pass and without it, and the
// executable is run beside the reference of the graph.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "compiler/Reference/Outcome.h"
#include <functional>
#include <map>
#include <optional>
#include <span>

namespace sinter {

/// Elements of tensors by name, row-major.
using RunValues = std::map<std::string, std::vector<double>>;

/// An entry of an executable and what it is run on.
struct RunRequest {
  std::span<const std::byte> executable; ///< as CompileResult has it
  std::string entry;
  RunValues parameters;          ///< the checkpoint's, and states that begin as one of them
  std::vector<RunValues> inputs; ///< of each step
};

/// Runs an entry, step after step on one memory. Returns what is there after each: outputs by name,
/// states as "state:<name>" as they are stored.
using RunExecutable = std::function<Expected<std::vector<RunValues>>(const RunRequest &)>;

struct VerifyOptions {
  /// Largest relative error that passes; none: 1e-9 between graphs and 1e-5 of an executable in
  /// f32, more where a pass or the compute type rounds.
  std::optional<double> tolerance;
  uint64_t seed = 0;
  RunExecutable run; ///< where there is none, only graphs are compared
};

/// How one entry fared.
struct Verdict {
  std::string entry;
  Outcome outcome = Outcome::Failed;
  double error = 0;    ///< relative, the worst result's
  std::string message; ///< where there is no error to state, or more to say
  std::string pass;    ///< that was checked; of a pipeline the first that makes a difference, or ""
  std::string phase;   ///< of the pass
  /// Of what is not right: the op ("matmul", or of a kernel "matmul+add"), the layer
  /// ("model.layers.0") and the place in it ("model.layers.0.mlp.up_proj").
  std::string op, layer, place;
  /// MLIR text of a small module that shows it, with what to do with it as a comment.
  std::string reproducer;
};

/// Runs the pipeline of `request` up to the pass, and compares every entry before and after it, on
/// generated inputs. `pass` is the argument of one of the pipeline's, of one of a plugin, which
/// then runs after the phase `after` (empty: Import), or "all". Steps return their logits instead
/// of a token.
Expected<std::vector<Verdict>> verifyPass(const CompileRequest &request, const std::string &pass,
                                          const std::string &after, const VerifyOptions &options);

/// Compares what the whole pipeline of `request` makes of every entry with the reference, and names
/// the first pass that makes a difference.
Expected<std::vector<Verdict>> verifyPipeline(const CompileRequest &request,
                                              const VerifyOptions &options);

} // namespace sinter
