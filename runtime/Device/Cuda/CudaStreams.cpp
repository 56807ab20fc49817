#include "runtime/Device/Cuda/CudaStreams.h"

namespace sinter::runtime::cuda {

CudaStreams::~CudaStreams() {
  for (const Stream &stream : others) {
    context.getApi().cuStreamSynchronize(stream.handle);
    context.getApi().cuStreamDestroy(stream.handle);
  }
}

Expected<void> CudaStreams::require(size_t count) {
  while (others.size() + 1 < count) {
    if (begin.empty()) {
      SINTER_TRY(CudaEvent event, CudaEvent::create(context, /*timed=*/false));
      begin.push_back(std::move(event));
    }
    SINTER_TRY(CudaEvent end, CudaEvent::create(context, /*timed=*/false));
    CUstream handle = nullptr;
    SINTER_CHECK(context.check(context.getApi().cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING),
                               "a stream"));
    others.push_back({handle, std::move(end)});
  }
  return {};
}

Expected<void> CudaStreams::fork(const std::vector<uint32_t> &streams) const {
  if (!streams.empty())
    SINTER_CHECK(begin.front().record());
  for (uint32_t stream : streams)
    SINTER_CHECK(begin.front().holdUp((*this)[stream]));
  return {};
}

Expected<void> CudaStreams::join(const std::vector<uint32_t> &streams) const {
  for (uint32_t stream : streams) {
    const Stream &joined = others[stream - 1];
    SINTER_CHECK(joined.end.record(joined.handle));
    SINTER_CHECK(joined.end.holdUp(context.getStream()));
  }
  return {};
}

} // namespace sinter::runtime::cuda
