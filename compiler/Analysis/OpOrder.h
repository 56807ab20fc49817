//===- OpOrder.h - Putting ops behind what they need ------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Block.h"

namespace sinter {

/// Puts every op of a block behind the ops that its operands come from. Ops keep their order; one
/// that is needed earlier than it stands is moved up to right before the op that needs it first,
/// with what it needs itself. So a pass that leaves one op out of place does not pull together what
/// is far apart: values are made near their uses, and few are alive at a time.
/// @pre no op needs itself, through others or not.
void orderByNeed(mlir::Block &block);

/// The same, but an op that stands before what it needs is moved down to right behind the last of
/// that, and what needs it with it. So what is only read at the end does not pull all that it is
/// computed from up to where it stands.
void orderByAvailability(mlir::Block &block);

} // namespace sinter
