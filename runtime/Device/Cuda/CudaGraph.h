//===- CudaGraph.h - A run as one launch ------------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/CudaContext.h"
#include <functional>
#include <utility>

namespace sinter::runtime::cuda {

/// What was put into the stream, as one thing. Addresses never move, so it is never updated.
class CudaGraph {
public:
  CudaGraph(CudaGraph &&other) noexcept
      : context(other.context), graph(std::exchange(other.graph, nullptr)) {}
  CudaGraph &operator=(CudaGraph &&) = delete;
  ~CudaGraph() {
    if (graph)
      context.getApi().cuGraphExecDestroy(graph);
  }

  /// Captures what `enqueue` puts into the stream and uploads it. Nothing of it runs. Fails where
  /// something in it cannot be captured; the stream then is as before.
  static Expected<CudaGraph> capture(const CudaContext &context,
                                     const std::function<Expected<void>()> &enqueue);

  /// Puts all of it into the stream.
  Expected<void> enqueue() const {
    return context.check(context.getApi().cuGraphLaunch(graph, context.getStream()), "");
  }

private:
  explicit CudaGraph(const CudaContext &context) : context(context) {}

  const CudaContext &context;
  CUgraphExec graph = nullptr;
};

} // namespace sinter::runtime::cuda
