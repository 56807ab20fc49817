#include "runtime/Device/Cuda/CudaGraph.h"

namespace sinter::runtime::cuda {

Expected<CudaGraph> CudaGraph::capture(const CudaContext &context,
                                       const std::function<Expected<void>()> &enqueue) {
  const CudaApi &api = context.getApi();
  const std::string what = "capturing a graph";
  // Other threads may go on using the driver meanwhile.
  SINTER_CHECK(context.check(
      api.cuStreamBeginCapture(context.getStream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), what));
  Expected<void> enqueued = enqueue();
  CUgraph recorded = nullptr;
  Expected<void> ended =
      context.check(api.cuStreamEndCapture(context.getStream(), &recorded), what);
  CudaGraph result(context);
  if (enqueued && ended)
    ended = context.check(api.cuGraphInstantiate(&result.graph, recorded, 0), what);
  if (recorded)
    api.cuGraphDestroy(recorded);
  if (!enqueued)
    enqueued.error().what = what + ": " + enqueued.error().what;
  SINTER_CHECK(std::move(enqueued));
  SINTER_CHECK(std::move(ended));
  SINTER_CHECK(context.check(api.cuGraphUpload(result.graph, context.getStream()), what));
  return result;
}

} // namespace sinter::runtime::cuda
