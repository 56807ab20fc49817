//===- KernelFunction.h - What generated code is called as ------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace sinter::runtime {

/// What the compiler generates: work items [begin, end) over the addresses of a launch's slices.
using KernelFunction = void (*)(void *const *slices, int64_t begin, int64_t end);

} // namespace sinter::runtime
