//===- Processor.h - What this processor is ---------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime {

/// The instructions that generated code multiplies and loads with, after the features that it may
/// use: vectors of 64, 32 or 16 bytes, and what multiplies bf16 and bytes.
struct InstructionSet {
  uint32_t vectorBytes = 16; ///< of f32; a multiply-add is one instruction from 32 bytes on
  bool pairDot = false;      ///< dot products of pairs of bf16 (avx512bf16)
  bool tileDot = false;      ///< products of tiles of bf16 and of bytes (AMX)
  bool byteDot = false;      ///< dot products of fours of bytes (avx512vnni, or avxvnni)

  /// By LLVM's names of features ("avx512f"); those that this processor lacks do not count.
  static InstructionSet of(std::span<const std::string> features);

  /// "avx512", "avx2" or "sse2", "+bf16" and "+vnni" where there are such dot products, and "+amx".
  std::string getName() const;
};

/// Bytes of one of a processor's caches as Linux describes it: index 0 is the first level's for
/// data, 1 for instructions, 2 and 3 are the second level and the third. 0 where it is not said.
/// (The C library's figures are of a whole package, which a virtual machine may have only a part
/// of.)
uint64_t readCacheBytes(unsigned processor, unsigned index);

/// Sizes of caches in bytes, 0 where unknown.
struct CacheSizes {
  uint64_t ofCore = 0; ///< a core's own, the second level
  uint64_t shared = 0; ///< the third level, of all processors together
};

CacheSizes readCacheSizes();

/// The numbers of the processors that this process may run on, at least one.
std::vector<int> usableProcessors();

/// "AMD EPYC, family 25, model 17, stepping 1": what CPUID says, since names alone are shared by
/// generations. "unknown" on other architectures.
std::string processorName();

} // namespace sinter::runtime
