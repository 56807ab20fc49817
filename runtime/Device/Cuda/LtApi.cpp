#include "runtime/Device/Cuda/LtApi.h"
#include "runtime/Device/Cuda/CudaApi.h"

namespace sinter::runtime::cuda {
namespace {

const char *load(LtApi &table, void *library) {
  SINTER_LT_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const LtApi *> ltApi() {
  auto names = [] {
    return driverIsForCuda12() ? std::vector{"libcublasLt.so.12", "libcublasLt.so.13"}
                               : std::vector{"libcublasLt.so.13", "libcublasLt.so.12"};
  };
  return LibraryTable<LtApi>::instance().get(
      names, "install the CUDA toolkit, or name its folder in SINTER_CUDA_HOME", load);
}

void installLtApi(const LtApi *api) { LibraryTable<LtApi>::instance().install(api); }

} // namespace sinter::runtime::cuda
