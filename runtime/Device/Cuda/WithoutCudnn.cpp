// What a Sinter says of cuDNN that was built where its headers were not.
#include "runtime/Device/Cuda/CudnnAttention.h"

namespace sinter::runtime::cuda {
namespace {

tl::unexpected<Error> builtWithout() {
  return fail("cuDNN", "this Sinter was built without it", "build it where cuDNN is installed");
}

} // namespace

struct CudnnAttention::State {};
CudnnAttention::CudnnAttention(CudnnAttention &&) noexcept = default;
CudnnAttention::~CudnnAttention() = default;
Expected<void> CudnnAttention::enqueue(CUstream) const { return builtWithout(); }

struct CudnnLibrary::State {};
CudnnLibrary::CudnnLibrary(const CudaContext &) {}
CudnnLibrary::~CudnnLibrary() = default;
std::string CudnnLibrary::describe(const fb::Attention &) const { return {}; }
Expected<CudnnAttention> CudnnLibrary::bind(const fb::Attention &, const Address &) {
  refused = builtWithout().value();
  return tl::unexpected(*refused);
}

} // namespace sinter::runtime::cuda
