//===- StoredMatrix.h - A matrix of numbers as files pack it ----*- C++ -*-===//
//
// Formats of quantized weights store codes, scales and zero points in a dozen ways that differ in
// four things alone: the type of an element, which way the matrix lies, along which dimension codes
// of few bits are packed into words of 32, and in what order within a word. The bits of a row (or
// column) of codes follow each other without gaps from the lowest of the first word on, so that a
// code may lie in two words. An example, 4 bits packed along columns:
//
//   word 0x87654321 of row r holds (r, 0) = 1, (r, 1) = 2, ..., (r, 7) = 8
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Weights/IntegerFormat.h"
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

/// Packed codes lie in words of so many bits.
inline constexpr int64_t wordBits = 32;

/// A matrix [rows, columns] in the bytes of a tensor.
struct StoredMatrix {
  /// HalfE8M0: half of the number of an e8m0, where numbers are twice those that codes stand for.
  enum class Element { F32, F16, BF16, I8, E4M3, HalfE8M0, Bits };

  std::span<const std::byte> data;
  int64_t rows = 0, columns = 0;
  Element element = Element::F32;
  /// From one row or column to the next, in elements; of Bits in words, for the dimension along
  /// which they are packed from one word to the next.
  int64_t rowStride = 0, columnStride = 1;

  /// Of Bits: how many a code has, from 1 to 8, and what is subtracted from it.
  int bits = 8, offset = 0;
  bool isPackedByRows = false; ///< codes of a word are of different rows
  /// What codes of four bits stand for; null: themselves.
  const CodeValues *values = nullptr;
  /// The code of index 8 i + j along the packed dimension is the one at 8 i + order[j]; null where
  /// the order is the plain one.
  const uint8_t *order = nullptr;

  /// Rows that are best read together: they share cache lines.
  int64_t getRowsTogether() const;

  /// Writes rows [first, first + count) to `out`, [count, columns].
  void read(int64_t first, int64_t count, float *out) const;

  /// The same as integers, less `shift`. @pre elements are of I8 or Bits
  void readIntegers(int64_t first, int64_t count, int shift, int8_t *out) const;

private:
  template <typename Out> void readBits(int64_t first, int64_t count, int shift, Out *out) const;
  void readHalves(int64_t first, int64_t count, int shift, int8_t *out) const;
};

} // namespace sinter
