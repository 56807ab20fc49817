//===- TestCache.h - Machine code that tests share --------------*- C++ -*-===//
#pragma once

#include "runtime/Base/CacheFolder.h"

namespace sinter::test {

/// Where tests keep the machine code of kernels: many compile the same model in several layouts,
/// each in a process of its own. The compiler's build is part of what a file is named by, so none
/// is older than what is tested.
Cache kernelCache();

} // namespace sinter::test
