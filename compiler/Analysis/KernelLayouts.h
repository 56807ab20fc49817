//===- KernelLayouts.h - How a processor's kernels want operands -*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Columns of a product that a work item computes: of one panel or of several.
inline constexpr int64_t kItemColumns = 64;

/// Rows whose products with a panel fit the scratch of a work item: where there are no more, each
/// panel is read once.
inline constexpr int64_t kBlockRows = 256;

/// Of so many rows and more, each element of a product is one sum from front to back, so that rows
/// may be computed apart; of fewer, sums are of several parts (RegisterTile.h).
inline constexpr int64_t kManyRows = 4;

/// The panels that the target's products of this element type are computed from: as wide as the
/// narrowest tiles of sums, so that a tile reads whole panels. With 32 registers of 16 elements
/// these are 14 rows of 32 columns (and 6 of 64), with 16 registers of 8 elements 6 of 16.
PanelsAttr getPanels(mlir::Type elementType, TargetAttr target);

/// Whether an element of a product of rows of bytes is one sum of integers: weights are bytes with
/// a scale a column.
bool isOneSumOfBytes(MatmulOp matmul);

/// The panels of integers that rows of numbers are multiplied by, and rows of bytes where they have
/// a scale a group: fours along k of four bits and of e4m3, and bytes as getBytePanels() has them.
PanelsAttr getIntegerPanels(mlir::Type elementType, TargetAttr target);

/// The same of bytes that are these sixteen values alone, in four bits each; null where they are
/// all one value, or there is no target.
PanelsAttr getCodePanels(mlir::DenseI8ArrayAttr values, TargetAttr target);

/// Bits that an element of a matrix of integers, or of e4m3, has in memory.
int64_t getStoredBits(mlir::RankedTensorType matrix);

/// What codes of four bits stand for in a matrix's panels; empty where they are integers
/// themselves.
llvm::ArrayRef<int8_t> getCodeValues(mlir::RankedTensorType matrix);

/// The one panel that rows of integers of four bits are in for a GPU, padded to whole pieces of 16
/// bytes: of 32 elements, which have as many, byte j has element j in its lower half and element
/// j + 16 in its upper one (kernels_templates/cuda/integers.cuh).
PanelsAttr getRowPanel(mlir::RankedTensorType rows);

/// The panels of integers' scales, of which each group of k has a row: as wide as getPanels(),
/// without padding along k.
PanelsAttr getScaledPanels(mlir::MLIRContext *context, TargetAttr target);

/// The panels of bytes whose products with rows of bytes are one sum: pairs along k, or fours where
/// an instruction multiplies those.
PanelsAttr getBytePanels(mlir::MLIRContext *context, TargetAttr target);

/// Whether a kernel may read this right-hand side as it is, not in panels: an f32 state.
bool mayStayDense(mlir::Value rhs);

/// Whether a product's kernel should make panels of its right-hand side itself, a piece at a time,
/// rather than read ones that were made before: where the matrix changes from step to step, is so
/// large that its panels would be much of the step's memory, and meets so few rows that they are
/// one block, which reads each panel once. Of a vocabulary this holds in every block of a loss.
bool makesPanels(MatmulOp matmul);

/// Whether attention multiplies keys and values of this element type on a matrix unit where it has
/// kManyRows rows of queries: the target has one, and heads are whole steps of its.
bool usesKeyTiles(mlir::Type elementType, int64_t headSize, TargetAttr target);

/// Whether attention multiplies pairs along d of keys of this element type: where the target does
/// so fast, on vectors or on a matrix unit. How the keys lie does not matter.
bool pairsKeys(mlir::Type elementType, int64_t headSize, TargetAttr target);

/// The layout of a key cache `[b, s, g, d]` that attention reads fastest: panels of 16 positions,
/// and of pairs along d where these are multiplied; of 8 bits panels of 64 positions, a line an
/// element of the query.
mlir::Attribute getKeyLayout(mlir::RankedTensorType keys, TargetAttr target);

/// The same of a value cache, or of scales: one head's rows contiguous.
mlir::Attribute getValueLayout(TargetAttr target);

} // namespace sinter
