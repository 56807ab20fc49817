//===- Symbolizer.h - From an instruction to a line of a kernel -*- C++ -*-===//
#pragma once

#include <string>

namespace sinter::simt {

/// The source line of a call or an access, given the address at which the code goes on after it:
/// "kernel.cu:12 (blockSum), called from kernel.cu:40 (norm)". The frames of the emulator's own
/// headers are left out. Asks llvm-symbolizer; where that is missing, gives module and offset.
std::string sourcePlace(const void *returnAddress);

} // namespace sinter::simt
