//===- SpaceLayout.h - Offsets in the spaces that outlive a step -*- C++ -*-===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {

/// Every slice begins at a multiple of this many bytes: a cache line, and the widest vector.
inline constexpr int64_t kSliceAlignment = 64;

/// Gives named tensors offsets in one space, in the order in which they are first asked for.
class NamedSpace {
public:
  /// The offset of the tensor `name`. Fails when it was asked for before with another type.
  mlir::FailureOr<int64_t> place(llvm::StringRef name, mlir::Type type);

  /// Bytes that the space takes.
  int64_t getBytes() const { return bytes; }

private:
  struct Entry {
    int64_t offset;
    mlir::Type type;
  };
  llvm::StringMap<Entry> entries;
  int64_t bytes = 0;
};

/// Gives constants offsets in the constant space, equal contents the same, and puts a
/// plan.constant for each at the end of a module.
class ConstantSpace {
public:
  /// The offset of a constant's elements.
  int64_t place(mlir::ElementsAttr value);

  /// Creates the plan.constant ops.
  void materialize(mlir::OpBuilder &builder, mlir::Location location);

private:
  llvm::StringMap<int64_t> offsets; ///< by content
  llvm::SmallVector<std::pair<int64_t, mlir::ElementsAttr>> values;
  int64_t bytes = 0;
};

} // namespace sinter
