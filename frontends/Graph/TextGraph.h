//===- TextGraph.h - MLIR text as a graph -----------------------*- C++ -*-===//
//
// A module as `sinter compile --emit graph` prints it, or as a person writes it: entry functions
// whose arguments say what they are (dialects/Sinter/SinterDialect.td). Nothing here speaks of
// MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/GraphSource.h"
#include "frontends/Spec/ModelSpec.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter {

/// What a module says of itself.
struct TextDescription {
  std::vector<std::string> entries; ///< the names of its entry functions, in their order
  /// What its executable's callers have to know: its own `sinter.metadata`, and of `batch`,
  /// `seq`, `max_seq` and `vocab_size` what the entries' types tell where it does not.
  std::map<std::string, std::string> metadata;
  std::vector<ParameterInfo> parameters; ///< the checkpoint's tensors, each once
  /// Whether a training step is one already, with its backward pass and its optimizer.
  bool hasOptimizer = false;

  /// A number among the metadata; 0 where there is none of this name.
  int64_t getNumber(const std::string &key) const;
};

/// Reads MLIR text. Fails, with line and column, on what is no module of this dialect, and on one
/// without entries.
/// @param file names the text in errors.
Expected<TextDescription> describeText(const std::string &text, const std::string &file);

/// The graph that MLIR text is, of the entries of these names; of all where there are none. To
/// build it fails as describeText does, and on the name of an entry that is not there.
std::shared_ptr<const GraphSource> makeTextGraph(std::string text, std::string file,
                                                 std::vector<std::string> entries = {});

} // namespace sinter
