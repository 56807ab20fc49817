// What a Sinter says that was built where CUDA's headers were not.
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/Nvrtc.h"

namespace sinter::runtime::cuda {
namespace {

tl::unexpected<Error> builtWithout() {
  return fail("CUDA", "this Sinter was built without it",
              "build it where the CUDA toolkit is installed, or use `target` cpu");
}

} // namespace

Expected<GpuInfo> findGpu(int) { return builtWithout(); }

Expected<std::string> nvrtcVersion() { return builtWithout(); }

Expected<CompiledCuda> compileCuda(const CudaSource &, std::string_view) { return builtWithout(); }

Expected<std::unique_ptr<Device>> createCudaDevice(DevicePlan, Communicator *) {
  return builtWithout();
}

} // namespace sinter::runtime::cuda
