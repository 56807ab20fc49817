//===- Limits.h - The limits of a device, printed ---------------*- C++ -*-===//
#pragma once

#include "runtime/Trace/Limits.h"
#include "tools/cli/Output.h"
#include <nlohmann/json.hpp>

namespace sinter::cli {

/// As --json prints them: GFLOP/s and GB/s.
inline nlohmann::json describeLimits(const runtime::Limits &limits) {
  return {{"f32_gflops", limits.flops * 1e-9},
          {"bf16_gflops", limits.narrowFlops * 1e-9},
          {"int8_gflops", limits.byteFlops * 1e-9},
          {"int4_gflops", limits.nibbleFlops * 1e-9},
          {"memory_gb_per_s", limits.memoryBytes * 1e-9},
          {"shared_cache_gb_per_s", limits.sharedBytes * 1e-9},
          {"private_caches_gb_per_s", limits.privateBytes * 1e-9}};
}

/// Prints them as a line: "limits of this machine: f32 236, ...". Of a processor's memories those
/// that a program reads, which has all that it holds in a cache or not (DeviceLimits::all).
inline void printLimits(const runtime::Limits &limits, bool areMeasured) {
  auto number = [](double rate) { return formatNumber(rate * 1e-9, 0); };
  std::string line = std::string(areMeasured ? "limits of this machine" : "limits of the device") +
                     ": f32 " + number(limits.flops) + ", bf16 " + number(limits.narrowFlops) +
                     ", int8 " + number(limits.byteFlops) + ", int4 " + number(limits.nibbleFlops) +
                     " GFLOP/s; ";
  if (!areMeasured || limits.memoryBytes < limits.sharedBytes)
    line += "memory " + number(limits.memoryBytes) + ", ";
  if (!areMeasured || limits.sharedBytes < limits.privateBytes)
    line += "shared cache " + number(limits.sharedBytes) + ", ";
  line += "private caches " + number(limits.privateBytes) + " GB/s";
  std::printf("%s\n", line.c_str());
}

} // namespace sinter::cli
