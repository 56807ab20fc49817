#include "runtime/Device/Cuda/CudaApi.h"

namespace sinter::runtime::cuda {
namespace {

const char *load(CudaApi &table, void *library) {
  SINTER_CUDA_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const CudaApi *> cudaApi() {
  return LibraryTable<CudaApi>::instance().get(
      [] { return std::vector{"libcuda.so.1"}; },
      "install NVIDIA's driver for CUDA " + std::to_string(CUDA_VERSION / 1000) + "." +
          std::to_string(CUDA_VERSION % 1000 / 10) + ", or use `target` cpu",
      load);
}

bool driverIsForCuda12() {
  int version = 0;
  Expected<const CudaApi *> api = cudaApi();
  return api && (*api)->cuDriverGetVersion(&version) == CUDA_SUCCESS && version / 1000 == 12;
}

void installCudaApi(const CudaApi *api) { LibraryTable<CudaApi>::instance().install(api); }

} // namespace sinter::runtime::cuda
