//===- Compile.h - From a model to an executable ----------------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "sinter/Model.h"
#include "sinter/RunOptions.h"

namespace sinter {

/// What to compile for: the target asked for, with cuda as the GPU of this machine; where none is,
/// that GPU if there is one that can be used, else the processor. Fails where cuda is asked for and
/// there is none.
Expected<std::string> resolveTarget(const RunOptions &options);

/// Whether programs are compiled for a GPU.
bool isGpu(const RunOptions &options);

/// The number of threads to run with.
int64_t getThreads(const RunOptions &options);

/// What the compiler needs to know of a model, for the given entries and sizes: a step takes
/// `chunk` tokens of a slot, a KV cache has `maxSequence` positions. What the options leave open is
/// chosen: the compute type is the checkpoint's where the target computes in it, else f32. Fails
/// where the model has fewer positions, or the target has no such element types.
Expected<CompileRequest> makeRequest(const Model &model, const RunOptions &options,
                                     std::vector<std::string> entries, int64_t chunk,
                                     int64_t maxSequence);

/// An executable and how long it took to get.
struct Compiled {
  std::shared_ptr<const runtime::Executable> executable;
  double compileMs = 0;
  bool fromCache = false;
};

/// Compiles, or takes the executable of an equal request from the cache on disk
/// ($SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter). Errors call it `name`.
Expected<Compiled> compileCached(const CompileRequest &request, const RunOptions &options,
                                 const std::string &name);

/// compile(), in a process of its own where the options say so (RunOptions::compilesApart); of the
/// result there are then only the executable and the report on its memory.
Expected<CompileResult> compileIsolated(const CompileRequest &request, const RunOptions &options);

/// Gets a model ready to run: compiles it, or takes an executable as it is, of which the options
/// must not ask for another. Parameters are those of makeRequest.
Expected<LoadedModel> load(const Model &model, const RunOptions &options,
                           std::vector<std::string> entries, int64_t chunk, int64_t maxSequence);

/// The same, for a prompt of `promptTokens` and as many new tokens at most: sizes that the options
/// leave open are rounded up to powers of two, so that requests of about the same length share a
/// cached executable.
Expected<LoadedModel> loadForGeneration(const Model &model, RunOptions options,
                                        int64_t promptTokens, int64_t newTokens);

/// Completes a request that is to become a file: the executable carries the weights, or refers to
/// their files by size and hash.
Expected<void> addWeights(const Model &model, bool embed, const Observer &observer,
                          CompileRequest &request);

} // namespace sinter
