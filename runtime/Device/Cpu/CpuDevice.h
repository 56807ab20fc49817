//===- CpuDevice.h - A session's programs on the processor ------*- C++ -*-===//
#pragma once

#include "runtime/Device/Device.h"

namespace sinter::runtime {

/// One region a space, steps that hold nothing but addresses and functions, and a walk over them
/// that allocates, compiles and locks nothing.
std::unique_ptr<Device> createCpuDevice(DevicePlan plan);

/// What such a device would hold. Touches no memory.
Expected<MemoryUse> predictCpuMemory(DevicePlan plan, const BindOptions &options);

} // namespace sinter::runtime
