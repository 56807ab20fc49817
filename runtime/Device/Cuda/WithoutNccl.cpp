// What a Sinter says of NCCL that was built where its header was not.
#include "runtime/Device/Cuda/NcclRanks.h"

namespace sinter::runtime::cuda {
namespace {

tl::unexpected<Error> builtWithout() {
  return fail("NCCL", "this Sinter was built without it, and ranks on GPUs need it",
              "build it where NCCL is installed");
}

} // namespace

Expected<std::unique_ptr<NcclRanks>> NcclRanks::open(const CudaContext &, Communicator &) {
  return builtWithout();
}
NcclRanks::~NcclRanks() = default;
Expected<NcclCollective> NcclRanks::bind(const fb::Collective &, const RankGroup &, CUdeviceptr,
                                         CUdeviceptr) {
  return builtWithout();
}
Expected<void> NcclRanks::registerMemory(CUdeviceptr, uint64_t) { return builtWithout(); }
Expected<void> NcclRanks::enqueue(const NcclCollective &, CUstream) const { return builtWithout(); }
Expected<void> NcclRanks::wait() { return builtWithout(); }

} // namespace sinter::runtime::cuda
