//===- KernelCache.h - Machine code of kernels on the disk ------*- C++ -*-===//
//
// A model that is compiled for another batch, another split over ranks or another entry has many of
// the kernels that it had before. What a kernel's machine code depends on is its loops, the target,
// the passes that loops have yet to go through and the build of the compiler; not its name, nor the
// program around it. So a file holds an object, named by the hash of these, and begins with the
// hash of its content: one that is damaged is made again.
//
// Where loops stand, before they are vectorized, kernels are small and quick to hash; what is known
// then skips nearly all of its compilation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/CacheFolder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>

namespace sinter {

/// An ELF object with one function, which is a kernel; what it is called is not said there.
using KernelObject = llvm::SmallVector<char, 0>;

class KernelCache {
public:
  /// @param build tells this compiler from another, see identifyBuild
  KernelCache(Cache cache, std::string build) : cache(std::move(cache)), build(std::move(build)) {}

  /// Looks up the kernels of `code` (module `@kernels`) as loops. Those that are known lose their
  /// loops, so that nothing is left to do of them; find() has their objects.
  /// @param passes what the loops have yet to go through
  void take(mlir::ModuleOp code, const TargetAttr &target, llvm::ArrayRef<std::string> passes);

  /// The object of a kernel that take() knew, or null.
  const KernelObject *find(llvm::StringRef kernel) const;

  /// Keeps objects of kernels that take() did not know.
  void keep(llvm::ArrayRef<std::pair<llvm::StringRef, const KernelObject *>> made) const;

  /// How many kernels take() knew.
  size_t countKnown() const { return known.size(); }

private:
  std::optional<KernelObject> read(const std::filesystem::path &path) const;

  Cache cache;
  std::string build;
  llvm::StringMap<KernelObject> known;
  llvm::StringMap<std::filesystem::path> unknown; ///< where their objects are to be
};

} // namespace sinter
