//===- CudaGraph.h - A program as one launch --------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/CudaProgram.h"

namespace sinter::runtime::cuda {

/// A captured walk over a program. Addresses never move, so it is never updated.
class CudaGraph {
public:
  CudaGraph(CudaGraph &&other) noexcept
      : context(other.context), graph(std::exchange(other.graph, nullptr)) {}
  CudaGraph &operator=(CudaGraph &&) = delete;
  ~CudaGraph() {
    if (graph)
      context.api().cuGraphExecDestroy(graph);
  }

  /// Captures `program` and uploads it. Nothing runs. Fails where something in it cannot be
  /// captured; the stream then is as before.
  static Expected<CudaGraph> capture(const CudaContext &context, const CudaProgram &program);

  /// Puts the whole program into the stream.
  Expected<void> enqueue() const {
    return context.check(context.api().cuGraphLaunch(graph, context.stream()), "");
  }

private:
  explicit CudaGraph(const CudaContext &context) : context(context) {}

  const CudaContext &context;
  CUgraphExec graph = nullptr;
};

} // namespace sinter::runtime::cuda
