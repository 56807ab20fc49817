// What a Sinter says of NCCL that was built where its header was not.
#include "runtime/Device/Cuda/NcclRanks.h"

namespace sinter::runtime::cuda {
namespace {

tl::unexpected<Error> builtWithout() {
  return fail("NCCL", "this Sinter was built without it, and ranks on GPUs need it",
              "build it where NCCL is installed");
}

} // namespace

Expected<std::unique_ptr<NcclRanks>> NcclRanks::open(const CudaContext &, Communicator &, bool) {
  return builtWithout();
}
NcclRanks::~NcclRanks() = default;
Expected<NcclCollective> NcclRanks::bind(const fb::Collective &, const RankGroup &, CUdeviceptr,
                                         CUdeviceptr) {
  return builtWithout();
}
Expected<void> NcclRanks::registerMemory(CUdeviceptr, uint64_t) { return builtWithout(); }
Expected<void> NcclRanks::enqueue(const NcclCollective &, CUstream) const { return builtWithout(); }
Expected<void> NcclRanks::openLinks(const Executable &, CUdeviceptr) { return builtWithout(); }
NcclMessage NcclRanks::bindMessage(uint32_t, CUdeviceptr, uint64_t) { return {}; }
Expected<void> NcclRanks::send(const NcclMessage &, CUstream, const CudaEvent &) const {
  return builtWithout();
}
Expected<void> NcclRanks::receive(const NcclMessage &, CUstream) const { return builtWithout(); }
void NcclRanks::end() {}
Expected<void> NcclRanks::wait(CUstream) { return builtWithout(); }

} // namespace sinter::runtime::cuda
