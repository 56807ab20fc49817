//===- Limits.h - The limits of a device, printed ---------------*- C++ -*-===//
#pragma once

#include "runtime/Trace/Limits.h"
#include "tools/cli/Output.h"
#include <nlohmann/json.hpp>

namespace sinter::cli {

/// Whether a program reads a processor's memory, or its shared cache: not where a smaller one holds
/// all of it (DeviceLimits::all). Of a GPU all are said.
inline bool readsMemory(const runtime::Limits &limits, bool areMeasured) {
  return !areMeasured || limits.memoryBytes < limits.sharedBytes;
}
inline bool readsSharedCache(const runtime::Limits &limits, bool areMeasured) {
  return !areMeasured || limits.sharedBytes < limits.privateBytes;
}

/// As --json prints them: GFLOP/s and GB/s, null of a memory that is not read.
inline nlohmann::json describeLimits(const runtime::Limits &limits, bool areMeasured) {
  nlohmann::json object = {{"f32_gflops", limits.flops * 1e-9},
                           {"bf16_gflops", limits.narrowFlops * 1e-9},
                           {"int8_gflops", limits.byteFlops * 1e-9},
                           {"int4_gflops", limits.nibbleFlops * 1e-9},
                           {"memory_gb_per_s", nullptr},
                           {"shared_cache_gb_per_s", nullptr},
                           {"private_caches_gb_per_s", limits.privateBytes * 1e-9}};
  if (readsMemory(limits, areMeasured))
    object["memory_gb_per_s"] = limits.memoryBytes * 1e-9;
  if (readsSharedCache(limits, areMeasured))
    object["shared_cache_gb_per_s"] = limits.sharedBytes * 1e-9;
  return object;
}

/// Prints them as a line: "limits of this machine: f32 236, ...", without memories that are not
/// read.
inline void printLimits(const runtime::Limits &limits, bool areMeasured) {
  auto number = [](double rate) { return formatNumber(rate * 1e-9, 0); };
  std::string line = std::string(areMeasured ? "limits of this machine" : "limits of the device") +
                     ": f32 " + number(limits.flops) + ", bf16 " + number(limits.narrowFlops) +
                     ", int8 " + number(limits.byteFlops) + ", int4 " + number(limits.nibbleFlops) +
                     " GFLOP/s; ";
  if (readsMemory(limits, areMeasured))
    line += "memory " + number(limits.memoryBytes) + ", ";
  if (readsSharedCache(limits, areMeasured))
    line += "shared cache " + number(limits.sharedBytes) + ", ";
  line += "private caches " + number(limits.privateBytes) + " GB/s";
  std::printf("%s\n", line.c_str());
}

} // namespace sinter::cli
