#include "runtime/Device/Cuda/NvrtcApi.h"
#include "runtime/Device/Cuda/CudaApi.h"
#include <filesystem>

namespace sinter::runtime::cuda {
namespace {

// The compiler opens its library of built-in functions by name alone, which finds it where the
// system looks, or where it is open already.
void openBuiltins(const NvrtcApi &table) {
  Dl_info compiler = {};
  int major = 0, minor = 0;
  if (table.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS ||
      ::dladdr(reinterpret_cast<const void *>(table.nvrtcVersion), &compiler) == 0)
    return;
  std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  ::dlopen((std::filesystem::path(compiler.dli_fname).parent_path() / name).c_str(),
           RTLD_NOW | RTLD_LOCAL);
}

const char *load(NvrtcApi &table, void *library) {
  SINTER_NVRTC_FUNCTIONS(SINTER_TABLE_LOAD)
  openBuiltins(table);
  return nullptr;
}

} // namespace

Expected<const NvrtcApi *> nvrtcApi() {
  auto names = [] {
    return driverIsForCuda12() ? std::vector{"libnvrtc.so.12", "libnvrtc.so.13"}
                               : std::vector{"libnvrtc.so.13", "libnvrtc.so.12"};
  };
  return LibraryTable<NvrtcApi>::instance().get(
      names, "install the CUDA toolkit, or name its folder in SINTER_CUDA_HOME", load);
}

void installNvrtcApi(const NvrtcApi *api) { LibraryTable<NvrtcApi>::instance().install(api); }

} // namespace sinter::runtime::cuda
