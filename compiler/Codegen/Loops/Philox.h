//===- Philox.h - Random numbers inside of kernels --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"
#include <array>

namespace sinter {

/// The four words of Philox4x32-10 for a counter and a key (dialects/Sinter/Philox.h), as ops of
/// `arith`. All values are i32, or all are vectors of i32 of one shape: one generator a lane.
std::array<mlir::Value, 4> emitPhilox(mlir::OpBuilder &builder, mlir::Location loc,
                                      std::array<mlir::Value, 4> counter,
                                      std::array<mlir::Value, 2> key);

/// An f32 rounded to a number of bf16 (philox::roundStochastically), typed as for emitPhilox; `low`
/// and `high` are the words of the element's number.
mlir::Value emitStochasticRound(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                mlir::Value low, mlir::Value high, std::array<mlir::Value, 2> tag,
                                std::array<mlir::Value, 2> seed);

/// Whether an element is kept by a dropout (philox::isKept): i1, or a vector of it. `low` and
/// `high` are the words of the element's number and `seed` the key, typed as for emitPhilox.
mlir::Value emitIsKept(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value low,
                       mlir::Value high, uint32_t stream, std::array<mlir::Value, 2> seed,
                       double probability);

} // namespace sinter
