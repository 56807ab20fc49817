#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Cuda/FindGpu.h"

namespace sinter::runtime::cuda {
namespace {

// cuLibraryLoadData came with 12.0.
constexpr int oldestDriver = 12000;

constexpr const char *useAnother = "use a machine with an NVIDIA GPU, or `target` cpu";

// What a kernel did, not the world.
bool isDefect(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_HANDLE:
    return true;
  default:
    return false;
  }
}

const char *remedyOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "use a smaller model, batch, sequence or type, or end what else runs on the GPU";
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "install a newer NVIDIA driver";
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return "use a GPU that drives no display";
  default:
    return "look at the GPU with nvidia-smi and restart it";
  }
}

Expected<void> checkResult(const CudaApi &driver, CUresult result, const std::string &what) {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *words = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &words);
  Error error;
  error.what = what;
  error.why = name ? name : "CUDA error " + std::to_string(static_cast<int>(result));
  if (words)
    error.why += std::string(" (") + words + ")";
  error.defect = isDefect(result);
  error.remedy = error.defect ? "report this" : remedyOf(result);
  return tl::unexpected(std::move(error));
}

} // namespace

Expected<GpuInfo> findGpu(int ordinal) {
  SINTER_TRY(const CudaApi *api, cudaApi());
  const CudaApi &driver = *api;
  GpuInfo gpu;
  int &version = gpu.driverVersion, count = 0;
  if (driver.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < oldestDriver)
    return fail("the NVIDIA driver",
                "it is for CUDA " + std::to_string(version / 1000) + "." +
                    std::to_string(version % 1000 / 10) + ", Sinter needs 12.0",
                "install a newer driver, or use `target` cpu");
  CUresult started = driver.cuInit(0);
  if (started == CUDA_SUCCESS)
    started = driver.cuDeviceGetCount(&count);
  if (started == CUDA_ERROR_NO_DEVICE || (started == CUDA_SUCCESS && count == 0))
    return fail("a GPU", "the NVIDIA driver finds none", useAnother);
  SINTER_CHECK(checkResult(driver, started, "the NVIDIA driver"));
  CUdevice device = 0;
  SINTER_CHECK(checkResult(driver, driver.cuDeviceGet(&device, ordinal), "the GPU"));
  char text[256] = {};
  SINTER_CHECK(
      checkResult(driver, driver.cuDeviceGetName(text, sizeof(text) - 1, device), "the GPU"));
  gpu.name = text;
  auto attribute = [&](int &value, CUdevice_attribute name) {
    return checkResult(driver, driver.cuDeviceGetAttribute(&value, name, device), gpu.name);
  };
  SINTER_CHECK(attribute(gpu.capability.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  SINTER_CHECK(attribute(gpu.capability.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  SINTER_CHECK(attribute(gpu.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  return gpu;
}

Expected<void> CudaContext::check(CUresult result, const std::string &what) const {
  return checkResult(driver, result, what);
}

Expected<std::unique_ptr<CudaContext>> CudaContext::open(int ordinal) {
  SINTER_TRY(const CudaApi *api, cudaApi());
  std::unique_ptr<CudaContext> context(new CudaContext(*api));
  SINTER_CHECK(context->start(ordinal));
  return context;
}

Expected<void> CudaContext::start(int number) {
  SINTER_TRY(GpuInfo gpu, findGpu(number));
  model = gpu.name;
  version = gpu.capability;
  SINTER_CHECK(check(driver.cuDeviceGet(&ordinal, number), "the GPU"));
  SINTER_CHECK(check(driver.cuDevicePrimaryCtxRetain(&context, ordinal), model));
  Current current(*this);
  return check(driver.cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING), model);
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  if (queue) {
    Current current(*this);
    driver.cuStreamDestroy(queue);
  }
  driver.cuDevicePrimaryCtxRelease(ordinal);
}

Expected<uint64_t> CudaContext::getFreeBytes() const {
  size_t free = 0, total = 0;
  SINTER_CHECK(check(driver.cuMemGetInfo(&free, &total), model));
  return uint64_t(free);
}

} // namespace sinter::runtime::cuda
