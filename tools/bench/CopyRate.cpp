#include "tools/bench/CopyRate.h"
#include "runtime/Device/Cuda/CudaEvent.h"
#include "runtime/Device/Cuda/CudaPool.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::runtime::cuda;

Expected<bench::CopyRate> bench::measureCopyRate() {
  SINTER_TRY(auto context, CudaContext::open());
  CudaContext::Current current(*context);
  SINTER_TRY(uint64_t free, context->getFreeBytes());
  const uint64_t bytes = std::min(uint64_t(4) << 30, free / 8);
  SINTER_TRY(auto pool, CudaPool::create(*context));
  SINTER_TRY(DeviceMemory source, pool->allocate(bytes, "a copy's source"));
  SINTER_TRY(DeviceMemory out, pool->allocate(bytes, "a copy"));
  SINTER_TRY(CudaEvent begin, CudaEvent::create(*context, /*timed=*/true));
  SINTER_TRY(CudaEvent end, CudaEvent::create(*context, /*timed=*/true));
  const CudaApi &api = context->getApi();
  auto copy = [&] {
    return context->check(
        api.cuMemcpyDtoDAsync(out.getAddress(), source.getAddress(), bytes, context->getStream()),
        "a copy");
  };
  SINTER_CHECK(context->check(
      api.cuMemsetD8Async(source.getAddress(), 1, bytes, context->getStream()), "a copy's source"));
  CopyRate rate{context->getName(), 0};
  constexpr int kRepetitions = 10, kWarmup = 2;
  for (int i = 0; i < kWarmup + kRepetitions; ++i) {
    SINTER_CHECK(begin.record());
    SINTER_CHECK(copy());
    SINTER_CHECK(end.record());
    SINTER_CHECK(end.wait());
    SINTER_TRY(float milliseconds, end.millisecondsSince(begin));
    if (i >= kWarmup && milliseconds > 0)
      rate.bytesPerSecond = std::max(rate.bytesPerSecond, 2e3 * double(bytes) / milliseconds);
  }
  return rate;
}
