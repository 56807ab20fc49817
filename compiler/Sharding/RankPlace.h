//===- RankPlace.h - Where a rank's part of an op stands --------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Tells ops of the program of one rank where their parts stand: by numbers of which each rank
/// takes its own.
class RankPlace : public PartPlace {
public:
  /// @param part the op that is told; what it is told stands before it.
  /// @param axes those that each loop is split along, of `extents` turns in all.
  RankPlace(mlir::Operation *part, GridAttr grid, llvm::ArrayRef<mlir::ArrayAttr> axes,
            llvm::ArrayRef<int64_t> extents)
      : builder(part), loc(part->getLoc()), grid(grid), axes(axes), extents(extents) {}

  mlir::Value getNumber(llvm::ArrayRef<int64_t> strides) override;
  mlir::Value shift(mlir::Value start, int64_t slots, unsigned loop) override;

private:
  /// Turns of a loop that a rank has.
  int64_t getTurns(unsigned loop) const;
  /// Of the numbers of all ranks along `names`, `copies` each, the rank's own.
  mlir::Value take(mlir::Value numbers, mlir::ArrayAttr names, int64_t copies);

  mlir::OpBuilder builder;
  mlir::Location loc;
  GridAttr grid;
  llvm::ArrayRef<mlir::ArrayAttr> axes;
  llvm::ArrayRef<int64_t> extents;
};

} // namespace sinter
