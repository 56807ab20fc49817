//===- RankGpu.h - Which GPU a rank takes -----------------------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"

namespace sinter::runtime::cuda {

/// The number of this rank's GPU among those that its process sees: ranks on one machine take one
/// after the other. Where a launcher shows each its own (CUDA_VISIBLE_DEVICES) all take their
/// first. All ranks at once. Errors: two ranks would share a GPU, ranks have GPUs of different
/// kinds, and what findGpu() says.
Expected<int> chooseGpu(Communicator &ranks);

} // namespace sinter::runtime::cuda
