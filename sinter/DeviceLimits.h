//===- DeviceLimits.h - What figures of a run are divided by ----*- C++ -*-===//
#pragma once

#include "runtime/Device/Cpu/HostLimits.h"
#include "runtime/Format/Executable.h"
#include <optional>

namespace sinter {

/// The limits of the device that an executable runs on: of this machine as measured
/// (runtime/Device/Cpu/HostLimits.h), with the instructions that the executable may use; of a GPU
/// by its vendor's data sheet (compiler/Analysis/Target.h), raised where a run passes them.
class DeviceLimits {
public:
  /// @param threads of the runs, on a processor.
  DeviceLimits(const runtime::Executable &executable, int64_t threads);

  /// For rooflines. Where all that the executable holds fits a cache, memory is as fast as that.
  runtime::Limits all();

  /// The smallest memory that all of it fits: "private_caches", "shared_cache" or "memory".
  const char *getHolder() const;

  /// Model FLOPs utilization: the part of the device's rate of products of `dtype` (F32 or BF16)
  /// that a rate of useful operations a second is; at most 1.
  double getMfu(DType dtype, double flopsPerSecond);

  /// Bytes per second of plain loads of `memory`, at this moment and of its pages: neighbours on a
  /// machine, and where a virtual one has pages from, make a factor of two. 0 on a GPU, and where a
  /// cache holds all of it.
  double measureLoads(std::span<const std::byte> memory) const;

  /// Whether they are this machine's own, as measured.
  bool areMeasured() const { return host.has_value(); }

private:
  std::optional<runtime::HostLimits> host;
  runtime::InstructionSet instructions; ///< that the executable may use, of the host
  runtime::Limits gpu;
  uint64_t held = 0; ///< bytes of all that the executable holds
  int64_t threads = 1;
};

} // namespace sinter
