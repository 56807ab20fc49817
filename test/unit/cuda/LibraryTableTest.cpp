// The names that the tables of functions are filled by, against the libraries themselves. Of the
// driver there is its stub, which NVIDIA puts beside the toolkit for linking: it does nothing, but
// exports what a driver does.
#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/LtApi.h"
#include "runtime/Device/Cuda/NvrtcApi.h"
#if __has_include(<nccl.h>)
#include "runtime/Device/Cuda/NcclApi.h"
#endif

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;

#define SINTER_NAME(name) SINTER_NAME_EXPANDED(name)
#define SINTER_NAME_EXPANDED(name) #name,

static void *openFirst(const std::vector<std::string> &below) {
  for (const auto &folder : cuda::libraryFolders())
    for (const std::string &name : below)
      if (void *library = ::dlopen((folder / name).c_str(), RTLD_LAZY | RTLD_LOCAL))
        return library;
  return nullptr;
}

static void expectNames(void *library, std::initializer_list<const char *> names) {
  for (const char *name : names) {
    EXPECT_TRUE(::dlsym(library, name)) << name;
    // A name without its version is that of an older function, with other parameters.
    for (const char *version : {"_v2", "_v3", "_v4"})
      EXPECT_FALSE(::dlsym(library, (std::string(name) + version).c_str())) << name << version;
  }
}

TEST(LibraryTable, NamesWhatTheDriverExportsInItsNewestVersion) {
  void *stub = openFirst({"stubs/libcuda.so"});
  if (!stub)
    GTEST_SKIP() << "there is no stub of the driver";
  expectNames(stub, {SINTER_CUDA_FUNCTIONS(SINTER_NAME)});
}

TEST(LibraryTable, NamesWhatCublasLtExports) {
  void *library = openFirst({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library)
    GTEST_SKIP() << "cuBLASLt is not installed";
  expectNames(library, {SINTER_LT_FUNCTIONS(SINTER_NAME)});
}

TEST(LibraryTable, NamesWhatNvrtcExports) {
  void *library = openFirst({"libnvrtc.so.13", "libnvrtc.so.12"});
  if (!library)
    GTEST_SKIP() << "NVRTC is not installed";
  expectNames(library, {SINTER_NVRTC_FUNCTIONS(SINTER_NAME)});
}

#if __has_include(<nccl.h>)
TEST(LibraryTable, NamesWhatNcclExports) {
  void *library = openFirst({"libnccl.so.2"});
  if (!library)
    GTEST_SKIP() << "NCCL is not installed";
  expectNames(library, {SINTER_NCCL_FUNCTIONS(SINTER_NAME)});
}
#endif
