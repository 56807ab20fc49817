//===- Nvrtc.h - From CUDA C++ to machine code ------------------*- C++ -*-===//
//
// Compiles kernels in process, for a real architecture, so that no driver has to compile anything
// and none is needed: this works on machines without a GPU. Of CUDA's headers only cuda_bf16.h and
// cuda_fp16.h are to be included; they parse in some 50 ms, all others cost a multiple of that.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime::cuda {

/// A source of any number of kernels.
struct CudaSource {
  std::string name; ///< what messages call it: "kernels.cu"
  std::string source;
  std::vector<std::string> options;           ///< of NVRTC, beside those for the architecture
  std::map<std::string, std::string> headers; ///< by the name that the source includes
};

/// What ptxas says of a kernel.
struct KernelResources {
  std::string name;
  uint32_t registers = 0;                                           ///< of a thread
  uint32_t stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0; ///< of a thread
  uint32_t sharedBytes = 0; ///< static shared memory of a block

  bool operator==(const KernelResources &) const = default;
};

/// A program's machine code.
struct CompiledCuda {
  std::vector<std::byte> cubin;
  std::string log;
  std::vector<KernelResources> kernels; ///< out of the log, in its order

  /// The kernel of this name, or null.
  const KernelResources *find(std::string_view kernel) const;
};

/// Compiles `source` for `architecture` ("sm_90a"). Errors: no NVRTC, no cuda_bf16.h, and the first
/// error of the compiler's log. Any number of threads may compile at a time.
Expected<CompiledCuda> compileCuda(const CudaSource &source, std::string_view architecture);

/// The version of the NVRTC that compileCuda uses: "13.0". Fails where there is none.
Expected<std::string> nvrtcVersion();

/// The kernels that a log of ptxas (`--ptxas-options=-v`) tells of.
std::vector<KernelResources> parseResources(std::string_view log);

} // namespace sinter::runtime::cuda
