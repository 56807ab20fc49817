//===- LoadingDriver.cpp - A libcuda that loads code and no more ----------===//
//
// cuDNN makes plans for a GPU that is not there if it is told of it, but loads their kernels at
// once. In the process of a test this library goes before the driver's: it takes any code for
// loaded, and has no GPU. What else cuDNN, NVRTC and CUDA's runtime look up is there and fails.
//
//===----------------------------------------------------------------------===//
#include <cstdint>
#include <cstring>

namespace {

constexpr int success = 0, noDevice = 100;
int someHandle;

int refuse() { return noDevice; }

} // namespace

extern "C" {

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return success;
}
int cuDeviceGetCount(int *count) {
  *count = 0;
  return success;
}
int cuLibraryLoadData(void **library, const void *, void *, void *, unsigned, void *, void *,
                      unsigned) {
  *library = &someHandle;
  return success;
}
int cuLibraryGetKernel(void **kernel, void *, const char *) {
  *kernel = &someHandle;
  return success;
}
int cuLibraryUnload(void *) { return success; }
int cuKernelGetFunction(void **function, void *) {
  *function = &someHandle;
  return success;
}
int cuKernelSetAttribute(int, int, void *, int) { return success; }
int cuGetExportTable(const void **table, const void *) {
  *table = nullptr;
  return noDevice;
}

#define REFUSED(name)                                                                              \
  int name() { return noDevice; }
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuGetErrorName)
REFUSED(cuGetErrorString)
REFUSED(cuKernelGetAttribute)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)
#undef REFUSED

/// What CUDA's runtime looks everything up with.
int cuGetProcAddress_v2(const char *name, void **function, int, uint64_t, int *found) {
  const struct {
    const char *name;
    void *function;
  } known[] = {
      {"cuGetProcAddress", reinterpret_cast<void *>(cuGetProcAddress_v2)},
      {"cuInit", reinterpret_cast<void *>(cuInit)},
      {"cuDriverGetVersion", reinterpret_cast<void *>(cuDriverGetVersion)},
      {"cuDeviceGetCount", reinterpret_cast<void *>(cuDeviceGetCount)},
      {"cuLibraryLoadData", reinterpret_cast<void *>(cuLibraryLoadData)},
      {"cuLibraryGetKernel", reinterpret_cast<void *>(cuLibraryGetKernel)},
      {"cuLibraryUnload", reinterpret_cast<void *>(cuLibraryUnload)},
  };
  *function = reinterpret_cast<void *>(refuse);
  for (const auto &entry : known)
    if (std::strcmp(name, entry.name) == 0)
      *function = entry.function;
  if (found)
    *found = 0;
  return success;
}
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

} // extern "C"
