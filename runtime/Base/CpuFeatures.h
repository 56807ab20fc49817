//===- CpuFeatures.h - What this processor can do ---------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// The processor that the environment's SINTER_CPU names, by LLVM's name: "x86-64-v3" (AVX2),
/// "x86-64-v4" (AVX-512) or "cooperlake" (AVX-512 with bf16). Everything here and the target "cpu"
/// then treat this processor as one that has no more, so that tests see what others do.
/// Empty where the variable is not set. Fails on another name, and where this processor lacks a
/// feature.
Expected<std::string> assumedCpu();

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
