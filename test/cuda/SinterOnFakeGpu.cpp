//===- SinterOnFakeGpu.cpp - The program `sinter` where there is a GPU ----===//
//
// `sinter`, in a process that has a GPU that is not there (FakeCuda.h): what its commands do with
// `--target cuda` can be tried on any machine, with any model. What a GPU need not have survived is
// printed at the end, and the status is 3.
//
//   SINTER_FAKE_CAPABILITY=8.0   compute capability of the GPU (default: 9.0)
//   SINTER_FAKE_CHECKED=1        every access of kernels to memory is looked at, slowly
//
//===----------------------------------------------------------------------===//
#include "test/cuda/FakeCuda.h"
#include <cstdio>
#include <cstdlib>

// The objects of `sinter` have a main; the linker's --wrap=main calls the one here in its place.
int runSinter(int argc, char **argv) __asm__("__real_main");
int runOnFakeGpu(int argc, char **argv) __asm__("__wrap_main");

int runOnFakeGpu(int argc, char **argv) {
  sinter::fake::FakeOptions options;
  if (const char *capability = std::getenv("SINTER_FAKE_CAPABILITY");
      capability && std::sscanf(capability, "%d.%d", &options.major, &options.minor) != 2) {
    std::fprintf(stderr, "SINTER_FAKE_CAPABILITY=%s: expected numbers as in 9.0\n", capability);
    return 1;
  }
  options.checked = std::getenv("SINTER_FAKE_CHECKED") != nullptr;
  options.cache = SINTER_FAKE_CACHE;
  sinter::fake::FakeCuda fake(options);
  int status = runSinter(argc, argv);
  for (const std::string &complaint : fake.complaints()) {
    std::fprintf(stderr, "fake GPU: %s\n", complaint.c_str());
    status = 3;
  }
  return status;
}
