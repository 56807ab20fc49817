//===- BuildIdentity.h - Which compiler this is -----------------*- C++ -*-===//
#pragma once

#include <string>

namespace sinter {

/// A text that tells one build of the compiler from another: size and time of the file that holds
/// it, and MLIR and LLVM with it.
std::string identifyBuild();

} // namespace sinter
