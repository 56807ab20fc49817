#include "runtime/Device/Cuda/NvrtcApi.h"
#include "runtime/Device/Cuda/CudaApi.h"

namespace sinter::runtime::cuda {
namespace {

LibraryTable<NvrtcApi> &libraryTable() {
  static LibraryTable<NvrtcApi> instance;
  return instance;
}

const char *load(NvrtcApi &table, void *library) {
  SINTER_NVRTC_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const NvrtcApi *> nvrtcApi() {
  auto names = [] {
    return driverIsForCuda12() ? std::vector{"libnvrtc.so.12", "libnvrtc.so.13"}
                               : std::vector{"libnvrtc.so.13", "libnvrtc.so.12"};
  };
  return libraryTable().get(
      names, "install the CUDA toolkit, or name its folder in SINTER_CUDA_HOME", load);
}

void installNvrtcApi(const NvrtcApi *api) { libraryTable().install(api); }

} // namespace sinter::runtime::cuda
