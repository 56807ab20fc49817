//===- Model.h - A model's description, weights and tokenizer ---*- C++ -*-===//
#pragma once

#include "frontends/Graph/TextGraph.h"
#include "frontends/Spec/ModelSpec.h"
#include "frontends/Weights/WeightFiles.h"
#include "sinter/LoadedModel.h"
#include "sinter/Observer.h"
#include <filesystem>
#include <optional>

namespace sinter {

/// A model's description with what lies beside it. Copies share the weights.
struct Model {
  std::filesystem::path path; ///< that it was opened from
  /// A .sinter file: all below is inside it, and empty here.
  std::shared_ptr<const runtime::Executable> executable;
  ModelSpec spec;
  std::optional<TextDescription> text;        ///< of MLIR text, of whose `spec` little is known
  std::string description;                    ///< the text that either was read from
  std::shared_ptr<const WeightFiles> weights; ///< of a model that has them; null: random ones
  Tokenizer::Files tokenizerFiles;            ///< name to content; empty where there are none

  /// Opens a Hugging Face directory, a GGUF file, a config.json alone, MLIR text (.mlir) or a
  /// .sinter file: reads its description and maps its weights, whose names and shapes must be the
  /// model's. Of the directory of a training run that has not ended the weights are those of its
  /// newest whole checkpoint, which a note says.
  static Expected<Model> open(const std::filesystem::path &path, const Observer &observer = {});

  bool isExecutable() const { return executable != nullptr; }
  /// The tensors of its checkpoint.
  std::vector<ParameterInfo> getParameters() const {
    return text ? text->parameters : spec.getParameters();
  }
  /// Fails where the model is an executable, which cannot be compiled in another way.
  Expected<void> requireDescription(const std::string &remedy) const;
};

} // namespace sinter
