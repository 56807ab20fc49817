//===- CopyRate.h - How fast a GPU copies its memory ------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>

namespace sinter::bench {

struct CopyRate {
  std::string device;        ///< "NVIDIA H200"
  double bytesPerSecond = 0; ///< read and written
};

/// The best rate at which the driver copies 4 GiB, or an eighth of the memory that is free where
/// that is less, from one place in a GPU's memory to another. Fails where there is no GPU.
Expected<CopyRate> measureCopyRate();

} // namespace sinter::bench
