//===- CubinCache.h - Compiled kernels on the disk --------------*- C++ -*-===//
//
// A file a program, named by the hash of all that its machine code depends on: the source with its
// headers, the options, the architecture, NVRTC's version and Sinter's. It begins with the hash of
// its content, so one that is damaged is compiled again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ThreadPool.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include <filesystem>
#include <optional>
#include <span>

namespace sinter::runtime::cuda {

class CubinCache {
public:
  explicit CubinCache(Cache cache);

  /// In the cache of this user; fails as Cache::standard().
  static Expected<CubinCache> standard();

  /// The program's machine code, from the disk or from the compiler. Errors are compileCuda's.
  Expected<CompiledCuda> compile(const CudaSource &source, std::string_view architecture) const;

  /// The same for several programs, side by side on the threads of `pool`; the first error in their
  /// order.
  Expected<std::vector<CompiledCuda>> compile(std::span<const CudaSource> sources,
                                              std::string_view architecture,
                                              ThreadPool &pool) const;

  /// The file of a program. Fails where there is no NVRTC, whose version is a part of the name.
  Expected<std::filesystem::path> pathOf(const CudaSource &source,
                                         std::string_view architecture) const;

private:
  std::optional<CompiledCuda> read(const std::filesystem::path &path) const;
  void write(const std::filesystem::path &path, const CompiledCuda &code) const;

  Cache cache;
};

} // namespace sinter::runtime::cuda
