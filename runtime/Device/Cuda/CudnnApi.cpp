#include "runtime/Device/Cuda/CudnnApi.h"

namespace sinter::runtime::cuda {
namespace {

const char *load(CudnnApi &table, void *library) {
  SINTER_CUDNN_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const CudnnApi *> cudnnApi() {
  return LibraryTable<CudnnApi>::instance().get(
      [] { return std::vector{"libcudnn.so.9"}; },
      "install cuDNN 9, or name the folder of CUDA in SINTER_CUDA_HOME", load);
}

void installCudnnApi(const CudnnApi *api) { LibraryTable<CudnnApi>::instance().install(api); }

} // namespace sinter::runtime::cuda
