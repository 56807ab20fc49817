//===- CompiledModel.h - A kept model, compiled and bound -------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "frontends/Spec/ModelSpec.h"
#include "frontends/Weights/WeightFiles.h"
#include "runtime/Generate/Generator.h"
#include "runtime/Session/Session.h"
#include "runtime/Weights/WeightSource.h"
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

namespace sinter::test {

/// The folder with models: test/e2e/models, or $SINTER_MODELS, where make_reference_models.py wrote
/// more of them.
std::filesystem::path modelsFolder();

/// The names of all models, sorted.
std::vector<std::string> modelNames();

/// The names of the models under test/e2e/wide, sorted: one of each kind of layer, wide enough for
/// tiles, tails and threads.
std::vector<std::string> wideModelNames();

/// The names of the models under test/e2e/families, sorted: of families that no other kept model is
/// of.
std::vector<std::string> familyModelNames();

/// The folder of a model of any list.
std::filesystem::path findModel(const std::string &name);

/// What ranks of one process run: compiled by the first that asks.
class SharedExecutables {
public:
  std::shared_ptr<const runtime::Executable> compile(const CompileRequest &request);

private:
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const runtime::Executable>> executables; ///< by their keys
};

/// A kept model, through the compiler and the runtime.
class CompiledModel {
public:
  /// Reads the model; failures are failures of the test.
  explicit CompiledModel(const std::string &name);

  /// Has each matrix as integers of a format, with scales that are numbers of `scales`; or as what
  /// these stand for.
  void useIntegers(const IntegerFormat &format, DType scales, bool widened = false);

  /// Compiles and binds. Sizes and types are those of `options`; max_sequence, where it is 0, is
  /// the length of the expected sequence.
  void compile(CompileOptions options, unsigned threads = 1);

  /// The same with steps that return logits instead of the tokens drawn from them.
  void compileForLogits(const CompileOptions &options);

  /// Runs an entry on tokens [start, start + count) of each slot; returns its logits.
  /// @pre compileForLogits, or the entry `logits`.
  std::vector<float> step(const std::string &entry, const std::vector<int64_t> &start,
                          const std::vector<int64_t> &count);

  /// All logits of one sequence, `chunk` tokens at a time, through `logits`.
  std::vector<float> logits();

  /// ||rows - expected rows|| / ||expected rows|| of the logits of `count` positions from `first`.
  double errorOf(std::span<const float> rows, int64_t first, int64_t count) const;

  /// ||logits - expected|| / ||expected|| over all positions.
  double errorOf(std::span<const float> logits) const { return errorOf(logits, 0, length); }

  /// The largest errorOf() of a single position.
  double worstError(std::span<const float> logits) const;

  /// A ragged run of two slots: chunks of at most 7 through `prefill`, then token by token through
  /// `decode`. Calls `check` with each row of logits and its position.
  void runRagged(const std::function<void(std::span<const float> row, int64_t position)> &check);

  /// The new tokens of requests, with programs `prefill` and `decode`.
  std::vector<std::vector<int32_t>> generate(const std::vector<runtime::GenerateRequest> &requests);

  /// Of the ranks that run it together, as many as options.grid has; null: one.
  runtime::Communicator *communicator = nullptr;
  SharedExecutables *shared = nullptr; ///< with these ranks; may be null

  ModelSpec spec;
  std::vector<int32_t> tokens;
  int64_t length = 0; ///< tokens

private:
  void bind(CompileOptions options, unsigned threads, bool returnsLogits);

  std::string name;
  std::unique_ptr<runtime::WeightSource> weights;
  std::map<std::string, IntegerFormat> integerFormats; ///< of matrices that are integers
  WeightFiles expected;
  std::unique_ptr<runtime::Session> session;
  int64_t chunk = 0;
};

} // namespace sinter::test
