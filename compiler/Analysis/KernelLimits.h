//===- KernelLimits.h - The sizes that there are kernels for ---------------===//
#pragma once

#include <cstdint>

namespace sinter {

/// Elements of a head of attention, at the most, that processors have kernels for, of inference and
/// of gradients: stacks have room for copies of blocks of them.
inline constexpr int64_t kWidestProcessorHead = 1024;

/// The same of GPUs: that of latent attention, beyond which registers hold no outputs; of gradients
/// that of which shared memory of 99 KiB has room for as many rows as there are threads to.
inline constexpr int64_t kWidestGpuHead = 576, kWidestGpuGradHead = 512;

/// Elements of a head of attention, at the most, that GPUs multiply by matrix instructions: their
/// registers hold no wider outputs.
inline constexpr int64_t kWidestMatrixHead = 256;

/// Columns that a part of a row has on a GPU, at the least, where parts are work items: a warp's,
/// of 16 bytes a thread.
inline constexpr int64_t kFewestPartColumns = 128;

/// Elements of a key of linear attention, at the most: the stack of a processor's kernel has room
/// for a state of one vector of columns then. Of gradients on GPUs elements of a value, too.
inline constexpr int64_t kLongestLinearKey = 1024;

} // namespace sinter
