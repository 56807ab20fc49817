//===- BuildIdentity.h - Which compiler this is -----------------*- C++ -*-===//
#pragma once

#include <string>

namespace sinter {

/// A text that tells one build of the compiler from another: sizes and times of the files that hold
/// it, MLIR and LLVM.
std::string identifyBuild();

} // namespace sinter
