//===- MatrixTiles.h - Products on a processor's matrix unit ----*- C++ -*-===//
//
// AMX multiplies tiles of at most 16 rows of 64 bytes: 16 rows of lhs and 32 of k of bf16, or 64 of
// bytes, by as many of k and 16 columns, into 16 x 16 sums of 32 bits. Eight registers hold two by
// two tiles of sums and what meets in them, so that each tile that is loaded is multiplied twice.
//
// A tile of rhs is 16 rows of pairs along k, or of fours of bytes, as panels of interleave 2 and 4
// have them; one of lhs is rows of the matrix as they are. Sums begin at zero or where a block of k
// before ended. Those of bytes, both with a sign, are exact. Of bf16 they take 32 of k a step:
// products at even and at odd k are summed apart, then added to what there was (Intel 64 and IA-32
// Architectures Software Developer's Manual, TDPBF16PS). So a row has the same bits beside any
// others.
//
// The unit is configured once a kernel, for whole tiles: configured and released for each product
// it took a fifth longer. Those of another shape, of the last rows or the last of k, configure it
// for themselves. Where k ends within a word of lhs, the last ones of k are copied and padded.
//
// The loop over k is assembly: LLVM configures tiles once a function, so that those of the last
// rows, which have another shape, would need registers of their own, of which there are too few.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include <array>
#include <functional>

namespace sinter {

class MatrixTiles {
public:
  /// Rows and columns of a tile of sums.
  static constexpr int64_t kEdge = 16;
  /// Rows and columns of the tiles that the registers hold.
  static constexpr int64_t kMostRows = 2 * kEdge, kMostColumns = 2 * kEdge;

  /// A matrix in memory: element [row, column] at `at + row * stride + column`, in elements.
  struct Place {
    mlir::Value memory, at;
    int64_t stride = 0;

    /// This place and that of columns which begin `distance` elements behind it.
    std::array<Place, 2> withColumns(VectorBuilder &builder, int64_t distance) const {
      return {*this, Place{memory, builder.add(at, distance), stride}};
    }
  };

  struct Product {
    int64_t rows = 0; ///< at most kMostRows
    /// Rows of lhs from k on.
    std::function<Place(mlir::Value k)> lhs;
    /// Pairs or fours along k from k on, of the first kEdge columns and of the others. Both have
    /// one stride.
    std::function<std::array<Place, 2>(mlir::Value k)> rhs;
    /// f32, or i32 of bytes, kMostColumns a row.
    Place sums;
    /// Whether rhs comes from memory for these rows: its lines are asked for ahead then.
    bool asksAhead = false;
    /// What of the next rhs these rows prefetch, some lines a step: a whole tile alone does.
    Place next;
    int64_t nextLines = 0;
  };

  /// Configures the unit: once a kernel, which releases it at its end. @param rows of most products
  /// @param k of all of lhs @param element of it, bf16 or i8
  MatrixTiles(VectorBuilder &builder, int64_t rows, int64_t k, mlir::Type element);

  /// sums (+)= lhs * rhs for k in [begin, end). @param first sums begin at zero @param ofK of
  /// which end - begin is the same modulo a step's
  void multiply(const Product &product, mlir::Value begin, mlir::Value end, int64_t ofK,
                bool first);

  /// Gives the unit back.
  void release();

private:
  /// How many rows of how many k tiles of lhs have.
  struct Shape {
    int64_t rows = 0, width = 0;
    bool operator==(const Shape &other) const = default;
  };

  /// `steps` steps of `width` each of lhs and of rhs from k on.
  void run(const Product &product, const Place &lhs, mlir::Value k, mlir::Value steps,
           int64_t width, bool first);
  /// A copy of the last `width` of k of lhs, padded to whole words.
  Place padLast(const Product &product, mlir::Value k, int64_t width);
  /// What LDTILECFG reads, stored at the first words or behind them. @returns its address
  mlir::Value storeShape(const Shape &shape, bool isWhole);
  /// The address of a place.
  mlir::Value address(const Place &place);
  void assemble(mlir::ValueRange operands, const std::string &text, mlir::StringRef constraints);

  VectorBuilder &builder;
  mlir::Type element;
  int64_t elementBytes, depth, ofWord; // bytes of an element, k of a step and of a word
  Shape whole;
  mlir::Value shapes, configured, last; // the latter: padded rows of lhs
};

} // namespace sinter
