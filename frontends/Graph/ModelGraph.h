//===- ModelGraph.h - A model's description as a graph ----------*- C++ -*-===//
//
// Nothing here speaks of MLIR, so that a program can say what it wants compiled without it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/GraphSource.h"
#include "frontends/Spec/ModelSpec.h"
#include <memory>

namespace sinter {

/// The graph of a model (see buildGraph) for what a request's options say: sizes, entries, types of
/// the checkpoint's tensors.
std::shared_ptr<const GraphSource> makeModelGraph(ModelSpec spec);

} // namespace sinter
