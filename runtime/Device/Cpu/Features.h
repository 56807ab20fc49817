//===- Features.h - What this processor can do ------------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// True if the processor has the feature of this LLVM name ("avx512f", "fma", ...) and the
/// operating system keeps its registers. False for names that are not known here.
bool hasCpuFeature(std::string_view name);

/// True if the feature is known here, whether this processor has it or not: one that changes what
/// generated code may do. LLVM has names for more (of system instructions, say).
bool isKnownCpuFeature(std::string_view name);

/// Those of `names` that this processor lacks, in their order.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &names);

/// LLVM names of all features known here that this processor has.
std::vector<std::string> cpuFeatures();

} // namespace sinter::runtime
