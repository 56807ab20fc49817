#include "runtime/Device/Cuda/CudaApi.h"

namespace sinter::runtime::cuda {
namespace {

LibraryTable<CudaApi> &libraryTable() {
  static LibraryTable<CudaApi> instance;
  return instance;
}

const char *load(CudaApi &table, void *library) {
  SINTER_CUDA_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const CudaApi *> cudaApi() {
  const char *names[] = {"libcuda.so.1"};
  return libraryTable().get(names,
                            "install NVIDIA's driver for CUDA " +
                                std::to_string(CUDA_VERSION / 1000) + "." +
                                std::to_string(CUDA_VERSION % 1000 / 10) + ", or use --target cpu",
                            load);
}

void installCudaApi(const CudaApi *api) { libraryTable().install(api); }

} // namespace sinter::runtime::cuda
