//===- ChromeTrace.h - Traces of ranks, for Perfetto ------------*- C++ -*-===//
#pragma once

#include "runtime/Trace/Trace.h"
#include <span>

namespace sinter::runtime {

/// A message between two ranks: an event of each.
struct TraceArrow {
  size_t fromRank = 0, fromEvent = 0;
  size_t toRank = 0, toEvent = 0;
};

/// writeChromeTrace() of all ranks, a process each, with arrows between them.
Expected<void> writeChromeTrace(const std::string &path, std::span<const Trace> ranks,
                                std::span<const TraceArrow> arrows, const Executable &executable,
                                const Limits &limits);

} // namespace sinter::runtime
