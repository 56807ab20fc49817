//===- Rates.h - What this processor multiplies and reads at most -*- C++ -*-===//
//
// The rate of multiply-add instructions on registers alone, and of loads from memory and from
// caches: no kernel made of these instructions is faster, whoever wrote it, and nothing here is a
// kernel that could be badly tuned. Every figure is the best of many short windows in which all
// threads work, so that what others do on the machine costs windows, not truth.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Processor.h"
#include <cstdint>
#include <span>

namespace sinter::runtime {

/// How long to measure.
struct RateTime {
  double seconds = 0.01;
  /// On a machine so busy that in `seconds` its processors were not all ours at any moment: how
  /// long to go on trying.
  double patience = 0.2;
};

struct Rate {
  double perSecond = 0;
  /// Whether all threads were seen to work at the same time. If not, the rate is what one of them
  /// did at best, times their number: no less than what all do together.
  bool together = false;
};

/// Operations per second of multiply-adds on `threads` threads (at most one a processor that this
/// process may use counts), of operands of `dtype`: F32, BF16, I8 (bytes by bytes) or I4 (bytes by
/// integers of four bits). An addition and a multiplication count as two. Where there are no
/// instructions on bf16, its rate is that of f32, to which it is widened; where there are products
/// of tiles (AMX), theirs is that of bf16 and of bytes by bytes. Where none takes fours of bytes,
/// these are widened to 16 bits and multiplied in pairs (vpmaddwd); by four bits eight sums of two
/// products each fit 16 bits (vpmaddubsw), before they are added to one of 32.
Rate measureMultiplyAdds(unsigned threads, const InstructionSet &set, DType dtype, RateTime time);

/// Bytes per second that the threads together load from `bytes` of memory, each again and again
/// from a part of its own: the rate of the smallest memory that holds the part. Allocates as much;
/// a rate of 0 where there is not so much.
Rate measureLoads(unsigned threads, const InstructionSet &set, uint64_t bytes, RateTime time);

/// The same from memory that is there already, pass after pass over all of it: pages differ, by how
/// large they are and where a virtual machine has them from. 0 for less than 512 bytes a thread.
/// @pre `memory` is aligned to 64 bytes
Rate measureLoads(unsigned threads, const InstructionSet &set, std::span<const std::byte> memory,
                  RateTime time);

} // namespace sinter::runtime
