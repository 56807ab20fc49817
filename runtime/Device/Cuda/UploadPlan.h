//===- UploadPlan.h - Checkpoint tensors on their way to a GPU --*- C++ -*-===//
//
// A checkpoint tensor that a kernel of `preprocess` reads is on the device from the first command
// that reads it to the last. One that is only copied goes straight to where it is copied to.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable.h"
#include <vector>

namespace sinter::runtime::cuda {

struct UploadPlan {
  /// Tensors by the commands of `preprocess` before which they come and after which they go.
  std::vector<std::vector<uint32_t>> begins, ends;
  uint64_t peakBytes = 0; ///< of all that are there at a time

  static UploadPlan of(const Executable &executable, const fb::Program *preprocess);
};

/// The slice that a command copies out of a checkpoint tensor, or null.
const fb::Slice *copiedFromCheckpoint(const fb::Command &command);

} // namespace sinter::runtime::cuda
