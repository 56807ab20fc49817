//===- ObjectLinker.h - One object, no symbols from outside -----*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter {

/// Lays out the loadable sections of an x86-64 ELF object one after another, each at its
/// alignment, and resolves the relocations between them. Returns the entry of its function, which
/// has room for a mark before it (KernelMarks.h) and is alone in its section. Fails where there is
/// not one function, on an undefined symbol, by name, on writable data, and on a relocation that is
/// not relative to its place.
llvm::Expected<uint64_t> linkObject(llvm::StringRef object, std::vector<std::byte> &image);

} // namespace sinter
