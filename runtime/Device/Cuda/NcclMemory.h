//===- NcclMemory.h - What NCCL holds of a GPU ------------------*- C++ -*-===//
//
// NCCL has buffers of its own and does not say of how many bytes. So this is an estimate: by its
// sources (src/init.cc, src/transport/p2p.cc) a rank has, over each channel from each rank that it
// receives from, one for every protocol.
//
//   Simple  4 MiB (NCCL_BUFFSIZE)
//   LL      8 steps of 512 threads with 8 lines of 16 bytes
//   LL128   8 steps of 640 threads with 120 words of 8 bytes
//
// Who gathers or adds up receives from one rank, its neighbour in a ring; who exchanges receives
// from each other one. Both are over 16 channels, as NCCL's log has it of eight H800
// (NVIDIA/nccl issue 892): with more links there may be more, between machines there are fewer. A
// link of a pipeline has a channel for each of its blocks.
//
// Not run on a GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable.h"

namespace sinter::runtime::cuda {

/// Blocks of a GPU that a link keeps busy while it waits. Not measured.
constexpr int kMostBlocksOfLink = 4;

/// Bytes that NCCL is estimated to hold of a rank's GPU, of the rank of which it holds most.
uint64_t estimateNcclMemory(const Executable &executable);

} // namespace sinter::runtime::cuda
