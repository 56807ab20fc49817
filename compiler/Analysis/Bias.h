//===- Bias.h - Where a vector is added to every row ------------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include <optional>

namespace sinter {

/// x + broadcast(b), with x of rows of n elements and b of type [n].
struct Bias {
  AddOp add;
  BroadcastOp spread; ///< of b
};

/// The op that repeats a vector [n] for every row, where a value comes from one; else null.
BroadcastOp findSpread(mlir::Value value);

/// The bias that is added to a value, where that is all that the value is used for.
std::optional<Bias> findBias(mlir::Value value);

} // namespace sinter
