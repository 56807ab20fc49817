//===- HostLimits.h - What this machine can do at most ----------*- C++ -*-===//
//
// The limits that figures of this machine are divided by: MFU, rooflines, "of the limit". A limit
// is what nothing passes, the rate of the instructions themselves (Rates.h); what some library's
// best product reaches is a reference, and slower.
//
// Machines that are shared drift: memory is read at 45 or at 75 GB/s within seconds, a clock rises.
// Since each of these was reached, the fastest counts: of what the first processes here measure,
// and of what any has seen since, which is kept in the cache folder (limits.json), by processor,
// instruction set and threads. To measure takes some 10 ms a rate, but up to half a second for
// memory behind a large cache, so that it ends after `enough` processes. Should work pass a limit
// after all, then it was measured in slow moments: it is raised to that rate, and kept, so that no
// share of a limit is above 1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cpu/Rates.h"
#include "runtime/Trace/Limits.h"
#include <array>
#include <filesystem>
#include <functional>
#include <optional>

namespace sinter::runtime {

/// What is limited, each in its units a second.
enum class LimitKind : uint8_t {
  F32Products,
  Bf16Products,
  Int8Products, ///< of bytes by bytes
  Int4Products, ///< of bytes by integers of four bits
  Memory,
  SharedCache,
  PrivateCaches
};

/// "f32_flops_per_second", "bf16_flops_per_second", "int8_flops_per_second",
/// "int4_flops_per_second", "memory_read_bytes_per_second", "shared_cache_bytes_per_second",
/// "private_caches_bytes_per_second".
const char *nameOf(LimitKind kind);

class HostLimits {
public:
  static constexpr size_t kinds = 7;
  /// Processes that measure a limit; later ones take the fastest of theirs.
  static constexpr int enough = 8;
  using Measure = std::function<Rate(LimitKind, RateTime)>;

  /// Limits of `threads` threads that use the instructions of `set`. Nothing is measured yet.
  HostLimits(unsigned threads, const InstructionSet &set);

  /// The same with another measurement, kept as `machine` in limits.json of `folder`.
  HostLimits(std::string machine, const std::filesystem::path &folder, Measure measure);

  /// The limit; measured where this object has not been asked before, and not enough others have
  /// measured it. What cannot be kept, or is kept but not a number, costs the time of measuring it
  /// again and is not an error.
  double get(LimitKind kind);

  /// What the machine does at this moment, as of the best of `seconds`; no more than the limit.
  double measureNow(LimitKind kind, double seconds);

  /// All of them. Reading memory takes four times the shared cache's size for the moment.
  Limits all();

  /// The part of a limit that a rate of work is: at most 1, since a limit that was passed is
  /// raised.
  double shareOf(LimitKind kind, double perSecond);

  /// The processor, its instruction set and the threads: "NAME, family 25, ..., avx512+bf16, 2
  /// threads".
  const std::string &getMachine() const { return name; }

private:
  /// Raises the limit to what was seen, for others too.
  void raise(LimitKind kind, double perSecond);

  /// Writes the limit down as no less than it is here, and measured so many times more.
  void keep(LimitKind kind, int measurements);

  std::string name;
  std::filesystem::path file; ///< empty: nothing is kept
  Measure measure;
  std::array<std::optional<double>, kinds> limits;
};

} // namespace sinter::runtime
