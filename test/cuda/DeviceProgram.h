//===- DeviceProgram.h - Kernels of tests on a GPU --------------*- C++ -*-===//
//
// Tests of kernels run them in the emulator, or, with SINTER_KERNELS_ON=device in the environment,
// on the GPU. Where SINTER_KERNEL_RECORDS names a folder, runs in the emulator leave there what
// every kernel came to, and runs on a GPU are compared with it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaPool.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::test {

/// Where kernels of tests run.
enum class KernelPlace { Emulator, Device };

/// What SINTER_KERNELS_ON says; ends the program where it says something else.
KernelPlace getKernelPlace();

/// Keeps a sample of a kernel's memory as it was left, or compares it with what is kept: numbers
/// may differ by 1/128 of the largest of their tensor, a rounding to bf16 that went the other way.
/// Fails where they differ by more, or nothing is kept under this name. Does nothing without a
/// folder.
Expected<void> compareWithRecord(const std::string &name,
                                 std::span<const std::span<const double>> tensors);

/// A program compiled for the GPU of this machine and loaded there.
class DeviceProgram {
public:
  /// Compiles and loads. Errors: those of the compiler, no GPU, a program that it does not take.
  static Expected<std::unique_ptr<DeviceProgram>> compile(const runtime::cuda::CudaSource &source);
  ~DeviceProgram();

  /// Runs a kernel that takes a pointer for each of `memory`, and waits for it. Bytes go to the GPU
  /// and come back; a span that stands there twice is one piece of memory.
  Expected<void> run(const std::string &kernel, unsigned grid, unsigned block, unsigned sharedBytes,
                     std::span<const std::span<std::byte>> memory);

private:
  DeviceProgram() = default;

  std::unique_ptr<runtime::cuda::CudaContext> context;
  std::unique_ptr<runtime::cuda::CudaPool> pool;
  CUlibrary library = nullptr;
};

} // namespace sinter::test
