//===- CudaArchitecture.h - Generations of NVIDIA GPUs ----------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>
#include <string_view>

namespace sinter::runtime::cuda {

/// A compute capability, e.g. 9.0.
struct Capability {
  int major = 0, minor = 0;

  auto operator<=>(const Capability &) const = default;
  std::string toString() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// The architecture to compile for so that the code runs on a device of this capability: sm_80 for
/// 8.x, sm_90a for 9.0 (the only one with wgmma), sm_100 for 10.x, sm_120 for 12.x. Fails for any
/// other.
Expected<std::string> architectureFor(Capability capability);

/// What the compiler calls the GPUs that such code runs on: "cuda:sm_90" for 9.0.
Expected<std::string> targetFor(Capability capability);

/// The capability that an executable's device names: {9, 0} of "cuda:sm_90". Fails where the name
/// is not of this form or of an unknown architecture; `source` names the executable.
Expected<Capability> capabilityOf(std::string_view device, const std::string &source);

} // namespace sinter::runtime::cuda
