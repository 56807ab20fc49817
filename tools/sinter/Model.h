//===- Model.h - What MODEL on the command line names -----------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "frontends/Spec/ModelSpec.h"
#include "frontends/Weights/WeightFiles.h"
#include "runtime/Exec/Executable.h"
#include "tools/sinter/Options.h"
#include <filesystem>
#include <optional>

namespace sinter::cli {

/// A model's description with what lies beside it.
struct Model {
  std::filesystem::path path;
  bool isExecutable = false;                ///< a .sinter file: spec and weights are inside it
  ModelSpec spec;                           ///< unless isExecutable
  std::shared_ptr<const GraphSource> graph; ///< of MLIR text
  std::string description;                  ///< the text that spec was read from
  std::optional<WeightFiles> weights;       ///< of a directory that has them
  std::map<std::string, std::string>
      tokenizerFiles; ///< name to content; empty where there are none
};

/// Fails where an option asks for another executable than this one, which is compiled already.
Expected<void> checkCompiled(const runtime::Executable &executable, const ModelOptions &options);

/// Opens MODEL: checks that it exists, reads its config.json and maps its weights, whose names and
/// shapes must be the model's. Of the directory of a training run that has not ended the weights
/// are those of its newest whole checkpoint, which a note says.
Expected<Model> openModel(const ModelOptions &options);

/// The compute type: --dtype, else the checkpoint's where this processor computes in it, else f32.
Expected<DType> getComputeType(const Model &model, const ModelOptions &options);

/// What compile() needs to know of a model, for the given entries and sizes.
Expected<CompileRequest> makeRequest(const Model &model, const ModelOptions &options,
                                     std::vector<std::string> entries, int64_t chunk,
                                     int64_t capacity);

/// An executable and how long it took to get.
struct Compiled {
  std::shared_ptr<const runtime::Executable> executable;
  double compileMs = 0;
  bool fromCache = false;
};

/// Compiles, or takes the executable of an equal request from the cache on disk
/// ($SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter).
Expected<Compiled> compileCached(const CompileRequest &request, const ModelOptions &options);

/// What to compile for: --target, with cuda as the GPU of this machine; without it that GPU where
/// there is one that can be used, else the processor. Fails where --target cuda finds none.
Expected<std::string> getTarget(const ModelOptions &options);

/// Whether programs are compiled for a GPU.
bool isGpu(const ModelOptions &options);

/// The number of threads to run with.
int getThreads(const ModelOptions &options);

} // namespace sinter::cli
