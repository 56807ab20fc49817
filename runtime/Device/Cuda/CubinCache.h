//===- CubinCache.h - Compiled kernels on the disk --------------*- C++ -*-===//
//
// A file a program, named by the hash of all that its machine code depends on: the source with its
// headers, the options, the architecture, NVRTC's version and Sinter's. It is written aside and
// renamed, so any number of processes may share the folder; it begins with the hash of its content,
// so one that is damaged is compiled again. What was not used for longest goes when the files grow
// beyond the cap.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include <filesystem>
#include <optional>
#include <span>

namespace sinter::runtime::cuda {

class CubinCache {
public:
  static constexpr uint64_t defaultCap = uint64_t(1) << 30;

  /// Files go to `folder`, which is made when it is needed; nowhere where it is empty. A folder
  /// that cannot be written costs time, not correctness.
  explicit CubinCache(std::filesystem::path folder, uint64_t capBytes = defaultCap);

  /// The cache of this user: "cubins" in Sinter's cache folder (Base/CacheFolder.h).
  static CubinCache standard();

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
  void removeOldest() const;

  std::filesystem::path folder;
  uint64_t cap;
};

} // namespace sinter::runtime::cuda
