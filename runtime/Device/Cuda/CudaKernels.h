//===- CudaKernels.h - An executable's kernels on a GPU ---------*- C++ -*-===//
//
// Machine code for this GPU comes out of the executable; where there is none in it, or none that
// the driver takes, NVRTC compiles the source that it carries, or the cache on disk has it from the
// last time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/ThreadPool.h"
#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Format/Executable.h"
#include <span>
#include <vector>

namespace sinter::runtime::cuda {

/// A kernel that is ready to launch.
struct LoadedKernel {
  CUkernel handle = nullptr; ///< null where no program that was asked for launches it
  unsigned block = 0, sharedBytes = 0;
  bool waits = false; ///< itself for the one before it (CudaProgram.h)
};

class CudaKernels {
public:
  explicit CudaKernels(const CudaContext &context) : context(context) {}
  ~CudaKernels();
  CudaKernels(const CudaKernels &) = delete;
  CudaKernels &operator=(const CudaKernels &) = delete;

  /// Loads those that `programs` launch. Errors: a GPU of an older architecture than the
  /// executable's, no code for it and no compiler, code that the driver does not take, a kernel
  /// that is not in it.
  Expected<void> load(const Executable &executable, std::span<const fb::Program *const> programs,
                      ThreadPool &threads);

  /// The kernel of this index in the executable.
  const LoadedKernel &operator[](uint32_t index) const { return kernels[index]; }

  /// Bytes of machine code that were loaded.
  uint64_t getCodeBytes() const { return bytes; }

private:
  Expected<std::vector<CUlibrary>> loadPrograms(const Executable &executable,
                                                std::span<const uint32_t> programs,
                                                ThreadPool &threads);

  Expected<CUlibrary> loadCode(std::span<const std::byte> code, const std::string &what);

  const CudaContext &context;
  std::vector<CUlibrary> libraries;
  std::vector<LoadedKernel> kernels;
  uint64_t bytes = 0;
};

} // namespace sinter::runtime::cuda
