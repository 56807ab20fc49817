#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/CudaApi.h"

namespace sinter::runtime::cuda {

Expected<GpuInfo> findGpu() {
  SINTER_TRY(const CudaApi *api, cudaApi());
  auto failed = [&](CUresult result, const std::string &what) {
    const char *words = nullptr;
    api->cuGetErrorString(result, &words);
    return fail("the GPU", what + " failed: " + (words ? words : "unknown error"),
                "see what nvidia-smi says, or use --target cpu");
  };
  int count = 0;
  CUdevice device = 0;
  if (CUresult result = api->cuInit(0); result != CUDA_SUCCESS)
    return failed(result, "starting the driver");
  if (CUresult result = api->cuDeviceGetCount(&count); result != CUDA_SUCCESS)
    return failed(result, "counting GPUs");
  if (count == 0)
    return fail("the GPU", "the driver sees none",
                "look at CUDA_VISIBLE_DEVICES, or use --target cpu");
  if (CUresult result = api->cuDeviceGet(&device, 0); result != CUDA_SUCCESS)
    return failed(result, "opening it");
  GpuInfo gpu;
  char name[256] = {};
  api->cuDeviceGetName(name, sizeof(name) - 1, device);
  gpu.name = name;
  api->cuDriverGetVersion(&gpu.driverVersion);
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    api->cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  gpu.capability = {attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                    attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  gpu.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return gpu;
}

} // namespace sinter::runtime::cuda
