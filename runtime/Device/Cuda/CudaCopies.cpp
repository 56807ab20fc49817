#include "runtime/Device/Cuda/CudaCopies.h"

namespace sinter::runtime::cuda {

static constexpr const char *copyingStates = "copyingStates states from the GPU";

Expected<std::unique_ptr<CudaCopies>> CudaCopies::create(const CudaContext &context) {
  SINTER_TRY(CudaEvent reached, CudaEvent::create(context, /*timed=*/false));
  SINTER_TRY(CudaEvent done, CudaEvent::create(context, /*timed=*/false));
  std::unique_ptr<CudaCopies> result(new CudaCopies(context, std::move(reached), std::move(done)));
  SINTER_CHECK(context.check(
      context.getApi().cuStreamCreate(&result->stream, CU_STREAM_NON_BLOCKING), copyingStates));
  return result;
}

CudaCopies::~CudaCopies() {
  if (!stream)
    return;
  context.getApi().cuStreamSynchronize(stream);
  context.getApi().cuStreamDestroy(stream);
}

Expected<void> CudaCopies::allocate(uint64_t bytes) {
  SINTER_TRY(pinned, PinnedMemory::allocate(context, bytes, "copies of states"));
  return {};
}

Expected<void> CudaCopies::begin(std::span<const Copy> copies) {
  SINTER_CHECK(reached.record());
  SINTER_CHECK(reached.holdUp(stream));
  Expected<void> result;
  for (const Copy &copy : copies)
    if (result)
      result = context.check(
          context.getApi().cuMemcpyDtoHAsync(copy.out.data(), copy.source, copy.out.size(), stream),
          copyingStates);
  // Of what failed, too: copies before it are on their way.
  Expected<void> recorded = done.record(stream);
  return result ? std::move(recorded) : std::move(result);
}

} // namespace sinter::runtime::cuda
