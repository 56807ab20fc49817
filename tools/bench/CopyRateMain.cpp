//===- CopyRateMain.cpp - What a GPU's memory does at most ------------------===//
//
// Prints one JSON object: the GPU and the rate at which its driver copies, by which gpu-check
// divides what kernels reach that are bound by memory.
//
//===----------------------------------------------------------------------===//

#include "tools/bench/CopyRate.h"
#include <cstdio>

int main() {
  sinter::Expected<sinter::bench::CopyRate> rate = sinter::bench::measureCopyRate();
  if (!rate) {
    std::fprintf(stderr, "sinter-copy-rate: %s\n", rate.error().message().c_str());
    return 1;
  }
  std::printf("{\"device\": \"%s\", \"copy_gb_per_s\": %.1f}\n", rate->device.c_str(),
              rate->bytesPerSecond * 1e-9);
  return 0;
}
