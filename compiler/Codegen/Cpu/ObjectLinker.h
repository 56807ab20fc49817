//===- ObjectLinker.h - One object, no symbols from outside -----*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter {

/// Lays out the loadable sections of an x86-64 ELF object one after another, each at its
/// alignment, and resolves the relocations between them; `offsets` receives every function's
/// entry, which has room for a mark before it (KernelMarks.h) and is alone in its section. Fails on
/// an undefined symbol, by name, on writable data, and on a relocation that is not relative to its
/// place.
llvm::Error linkObject(llvm::StringRef object, std::vector<std::byte> &image,
                       std::map<std::string, uint64_t> &offsets);

} // namespace sinter
