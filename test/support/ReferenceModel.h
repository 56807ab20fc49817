//===- ReferenceModel.h - A kept model, run by its definition ---*- C++ -*-===//
//
// The models under test/e2e/models come with the logits that transformers (or, for `sinter` models,
// the plain forward pass of make_reference_models.py) gave. Here such a model's module is run by
// the reference evaluator on the checkpoint's own weights, at any point of the pipeline.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Reference/Evaluator.h"
#include "frontends/Graph/BuildGraph.h"
#include "frontends/Weights/WeightFiles.h"
#include <filesystem>

namespace sinter::test {

/// An element of a weight file's tensor (F32, BF16, F16 or I32).
double elementOf(const Tensor &tensor, size_t index);

/// The folder with models: test/e2e/models, or $SINTER_MODELS, where make_reference_models.py wrote
/// more of them.
std::filesystem::path modelsFolder();

/// The names of all models, sorted.
std::vector<std::string> modelNames();

/// The name with '_' where a test's name cannot have '-'.
std::string testNameOf(const std::string &model);

class ReferenceModel {
public:
  /// Reads the model; failures are failures of the test.
  explicit ReferenceModel(const std::string &name);

  /// Builds the graph for chunks of `chunk` tokens of each of `batch` slots; steps return logits.
  void build(int64_t batch, int64_t chunk, std::vector<std::string> entries);

  /// To be called when a pass has changed the module: caches are empty again and `preprocess`,
  /// where there is one, will run anew.
  void reset();

  /// Runs an entry on tokens [start, start + count) of each slot; returns its logits.
  ReferenceTensor step(const std::string &entry, const std::vector<int64_t> &start,
                       const std::vector<int64_t> &count);

  /// ||row - expected row|| / ||expected row|| of logits at a position.
  double errorOf(llvm::ArrayRef<double> row, int64_t position) const;

  /// The largest errorOf() over a whole sequence: `logits` in one chunk.
  double logitsError();

  /// The largest errorOf() over a ragged run of two slots, in chunks of at most 7 through `prefill`
  /// and then token by token through `decode`.
  double raggedError();

  ModelSpec spec;
  WeightFiles weights, expected;
  std::vector<double> tokens;
  int64_t length = 0; ///< tokens
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  ReferenceTensor argument(mlir::func::FuncOp function, unsigned index,
                           const std::vector<int64_t> &start, const std::vector<int64_t> &count);
  void preprocess();
  double stepError(const std::string &entry, std::vector<int64_t> &start,
                   const std::vector<int64_t> &count);

  std::map<std::string, ReferenceTensor> states, preprocessed;
};

} // namespace sinter::test
