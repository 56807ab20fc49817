//===- LoopStride.h - How a value follows a loop's counter ------*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"
#include <optional>

namespace sinter {

/// By how much `value` grows when `counter` grows by one; nothing where that is not constant.
/// @pre `counter` is a block argument; values from outside of its block do not depend on it.
std::optional<int64_t> getStride(mlir::Value value, mlir::Value counter);

/// A vector of the numbers first, first + stride, ...
mlir::Value emitNumbers(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first,
                        int64_t stride, int64_t lanes);

} // namespace sinter
