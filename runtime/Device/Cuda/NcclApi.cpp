#include "runtime/Device/Cuda/NcclApi.h"
#include <cstdlib>

namespace sinter::runtime::cuda {
namespace {

const char *load(NcclApi &table, void *library) {
  SINTER_NCCL_FUNCTIONS(SINTER_TABLE_LOAD)
  return nullptr;
}

} // namespace

Expected<const NcclApi *> ncclApi(bool ordered) {
  auto names = [ordered] {
    if (ordered)
      ::setenv(kNcclOrder, "1", /*overwrite=*/0);
    return std::vector{"libnccl.so.2"};
  };
  return LibraryTable<NcclApi>::instance().get(
      names,
      "install NCCL 2.19 or newer, or name the folder of CUDA in "
      "SINTER_CUDA_HOME",
      load);
}

void installNcclApi(const NcclApi *api) { LibraryTable<NcclApi>::instance().install(api); }

} // namespace sinter::runtime::cuda
