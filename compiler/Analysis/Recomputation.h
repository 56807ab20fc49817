//===- Recomputation.h - Reductions that rows repeat ------------*- C++ -*-===//
//
// A rows kernel computes its results element by element, and what an element needs where it needs
// it: before the loop over a row's columns if that is the same for all of them, else inside. So a
// row's reduction is computed once a row; but the reduction of a whole tensor, spread over many
// rows, is computed again for each of them:
//
//   %s = reduce sum %x : tensor<4096xf32> -> tensor<f32>       4096 times 4096 additions
//   %b = broadcast %s : tensor<f32> -> tensor<4096x64xf32>     where %b is asked for row by row
//
// And where a sum goes over longer rows than those that were normalized, their reductions change
// inside of its loop, and are computed again for each element:
//
//   %n = rms_norm %x, %w : tensor<4x256x64xf32>
//   %r = reshape %n : tensor<4x256x64xf32> -> tensor<4x16384xf32>
//   %s = column_sum %r : tensor<4x16384xf32> -> tensor<16384xf32>
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {

/// How often a rows kernel of `ops` computes each element of the row reductions that it repeats and
/// of what leads to those; other ops are not in the map. Elementwise work on vectors and numbers
/// that every row needs, a bias that is widened say, is not counted: it hides behind the row's
/// traffic.
/// @param ops ops of one block, in its order.
llvm::SmallDenseMap<mlir::Operation *, int64_t>
findRecomputation(const llvm::SetVector<mlir::Operation *> &ops);

} // namespace sinter
