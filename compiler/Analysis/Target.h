//===- Target.h - Describing machines ---------------------------*- C++ -*-===//
//
// Where a module's `sinter.target` comes from. Nothing is measured: a description follows from the
// processor's name, its instruction sets and its caches, so that one machine always makes the same
// decisions. The figures are coarse on purpose; the cost model only compares. What a run is divided
// by, MFU and rooflines, is measured (runtime/Trace/Limits.h). GPUs are described by their vendor's
// figures, the memory at 0.9 of its rate, which is what a copy reaches.
//
// The assumptions about processors, per core: 4.0 GHz; two multiply-add units as wide as a vector
// register (half of that where 512-bit operations are executed in two passes: Zen 4); bf16 products
// twice as fast as f32 with avx512bf16 (also where there is amx-bf16, which kernels do not use),
// two thirds as fast as f32 otherwise, where they are widened to f32 first; 35 GB/s of memory up to
// 400 GB/s for the machine. Starting a kernel on all cores costs 500 ns and 250 ns a core.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "runtime/Base/Error.h"
#include <optional>

namespace sinter {

/// A machine by name: "cpu" (this one, or runtime::assumedCpu() where that is set) or "cpu:NAME"
/// with LLVM's name of an x86-64 processor or level ("cpu:x86-64-v4", "cpu:znver4"), its caches
/// then 32 KiB, 1 MiB and 16 MiB; "cuda:sm_80", "cuda:sm_90", "cuda:sm_100" or "cuda:sm_120", an
/// A100, H200, B200 or RTX 5090. Fails on other text. The program uses `cores` cores; for 0 all of
/// this machine's, two of another's. A GPU's are all of its multiprocessors.
Expected<TargetAttr> parseTarget(mlir::MLIRContext *context, llvm::StringRef text, int64_t cores);

/// The target of a module; without one, reports an error and returns null.
TargetAttr requireTarget(mlir::ModuleOp module);

/// Whether a processor multiplies pairs of bf16 in one instruction; without that it has no
/// instructions on bf16 at all.
bool hasPairDot(TargetAttr target);

/// Whether that is faster than to widen bf16 and multiply f32. Processors that multiply tiles take
/// twice as long (Emerald Rapids: 76 beside 153 GFLOP/s a core).
bool hasFastPairDot(TargetAttr target);

/// Whether a processor multiplies tiles of bf16 and of bytes: AMX.
bool hasTileDot(TargetAttr target);

/// Whether a processor multiplies fours of bytes in one instruction (VNNI), of full vectors.
bool hasByteDot(TargetAttr target);

/// 10^9 operations a second of products of bytes by numbers of so many bits, 8 or 4. Of a processor
/// four times as many as on f32 where one instruction multiplies fours of bytes: VNNI, and of four
/// bits vpmaddubsw, whose sums do not saturate then. Twice as many where bytes are widened to 16
/// bits and pairs multiplied. Of a GPU its data sheet's, whatever the bits: it widens them.
double getGflopsOfBytes(TargetAttr target, int64_t bits);

/// GB/s that a GPU sends others: 0.8 of the data sheet's rate, as NCCL's all_gather reaches 360 of
/// the 450 of an H100 (NVIDIA/nccl-tests issue 326).
double getLinkBandwidth(TargetAttr target);

/// Whether a GPU's matrix units take products of f8E4M3FN, which came with compute capability 8.9:
/// code for 8.0 has none.
bool hasFp8Products(TargetAttr target);
/// Whether its library's products of f8E4M3FN take a scale for each row of either side: cuBLASLt
/// has these "outer vectors" for compute capability 9.0 alone.
bool hasScaledFp8Library(TargetAttr target);

/// What a target's library computes of an attention's forward pass, beside our own kernel. It is
/// said here and not asked, so that a program is the same wherever it is compiled; a library that
/// is not there, or wants more, is passed over when the program is bound.
struct LibraryAttention {
  int64_t workspaceBytes; ///< that it is given: as much as cuDNN was seen to want (CudnnPlansTest)
  int64_t alignedBytes;   ///< what every head begins at a multiple of
};

/// The library of a GPU; nothing for a processor, for which there is none.
std::optional<LibraryAttention> describeLibraryAttention(TargetAttr target);

} // namespace sinter
