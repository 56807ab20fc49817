//===- GradientTree.h - In which order a step's gradients are added -*- C++ -*-===//
//
// The gradients of a step's K microbatches are added along one tree over their numbers, whoever
// computes them, so that any number of ranks gives the same bits. Its leaves are `leaf`
// microbatches each, added one after the other; two sums of as many leaves are added as soon as
// there are both, and what is left at the end from the last one to the first:
//
//   leaf      0   1   2   3   4
//              \ /     \ /    |
//   buffer 0    +       +     |
//                \     /      |
//   buffer 1        +        /
//                     \    /
//   buffer 2             +
//
// A buffer takes two sums before a carry adds it to the next one and clears it (buffer 0: the
// microbatches of one leaf, or two leaves of one microbatch). Ranks share the microbatches in one
// of two ways:
//
//   blocks       each has as many consecutive ones; where these are 2^n leaves, a block is a
//                subtree, and the sum goes on over the ranks in the same way
//   interleaved  where gradients are summed over the ranks after each microbatch, rank r of R has
//                r, R + r, 2R + r, ...; with R = 2^n ranks that sum is a subtree of R leaves, and
//                goes on over the rounds
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::runtime {

enum class Sharing { Blocks, Interleaved };

class GradientTree {
public:
  /// The part of one of `ranks` ranks of the tree of `accumulate` microbatches in at most `leaves`
  /// leaves. Fails where a rank's microbatches would be no subtree.
  static Expected<GradientTree> make(uint64_t accumulate, uint64_t leaves, uint64_t ranks,
                                     Sharing sharing = Sharing::Blocks);

  /// Leaves of the whole tree; 1 where it is one sum after the other. With the step's microbatches
  /// it says which sum it is.
  uint64_t getLeaves() const { return leafCount; }
  /// Of a rank, in a step.
  uint64_t getMicrobatches() const { return count; }
  /// The number in the step of microbatch `index` of rank `rank`.
  uint64_t numberOf(uint64_t rank, uint64_t index) const {
    return sharing == Sharing::Blocks ? rank * count + index : index * ranks + rank;
  }
  /// Buffers of gradients that a rank has.
  uint64_t getBuffers() const { return bufferCount; }
  /// How many of the carries 1 to buffers() - 1 follow the rank's microbatch `index`: carry i adds
  /// buffer i - 1 to buffer i.
  uint64_t carriesAfter(uint64_t index) const;

private:
  Sharing sharing = Sharing::Blocks;
  uint64_t ranks = 1, leafCount = 1, count = 1, bufferCount = 1;
  uint64_t filled = 1; ///< microbatches that buffer 0 takes
};

/// The program of a rank's last microbatch of a step, where there is one of its own: it carries
/// what is left to carry, and sums gradients over the ranks while it computes others.
inline constexpr std::string_view kLastMicrobatch = "accumulate_last";

/// What it leaves the sum of a parameter's gradients in that a rank has a part of.
inline constexpr std::string_view kGradientSum = "gradient_sum.";

/// What the state of the largest magnitudes that a step has met so far begins with; zero between
/// steps.
inline constexpr std::string_view kStepAmax = "amax.";

/// The program that does a carry.
inline std::string carryProgram(uint64_t carry) { return "carry." + std::to_string(carry); }

} // namespace sinter::runtime
