//===- CudaPool.h - A GPU's memory ------------------------------*- C++ -*-===//
//
// A pool of our own, so that what others in the process allocate and trim is none of our business,
// and so that its statistics are a session's. Freed memory stays in it until trim().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaContext.h"
#include <cstddef>
#include <span>

namespace sinter::runtime::cuda {

class CudaPool;

/// A block of a pool. It is given back in the stream's order, so what was enqueued before still
/// finds it.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(context, other.context);
    std::swap(base, other.base);
    std::swap(size, other.size);
    return *this;
  }
  ~DeviceMemory();

  CUdeviceptr getAddress() const { return base; }
  uint64_t getBytes() const { return size; }

private:
  friend class CudaPool;
  const CudaContext *context = nullptr;
  CUdeviceptr base = 0;
  uint64_t size = 0;
};

class CudaPool {
public:
  struct Statistics {
    uint64_t used = 0, usedHigh = 0;         ///< by blocks that are not given back; at most
    uint64_t reserved = 0, reservedHigh = 0; ///< of the GPU; at most
  };

  /// The context outlives the pool, the pool its blocks.
  static Expected<std::unique_ptr<CudaPool>> create(const CudaContext &context);
  ~CudaPool();
  CudaPool(const CudaPool &) = delete;
  CudaPool &operator=(const CudaPool &) = delete;

  /// Takes `bytes`, aligned to 256 at least; `owner` ("weights") names them in the error. Nothing
  /// for 0.
  Expected<DeviceMemory> allocate(uint64_t bytes, const char *owner) const;

  /// Gives all that is not in use back to the GPU. @pre the stream is idle
  void trim() const;

  Statistics getStatistics() const;

private:
  explicit CudaPool(const CudaContext &context) : context(context) {}

  const CudaContext &context;
  CUmemoryPool pool = nullptr;
};

/// Memory of the host that the GPU copies to and from by itself; zeroed.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept {
    std::swap(context, other.context);
    std::swap(base, other.base);
    std::swap(size, other.size);
    return *this;
  }
  ~PinnedMemory();

  /// Fails where the system pins no more; `owner` names the memory in the error.
  static Expected<PinnedMemory> allocate(const CudaContext &context, uint64_t bytes,
                                         const char *owner);

  std::span<std::byte> getBytes() const { return {base, size}; }

private:
  const CudaContext *context = nullptr;
  std::byte *base = nullptr;
  uint64_t size = 0;
};

} // namespace sinter::runtime::cuda
