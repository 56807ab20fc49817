//===- heads.cuh - A product's columns as an attention's heads --*- C++ -*-===//
//
// Of a product whose columns are heads (queries, keys and values, one part behind the other) the
// parameter Heads says what becomes of them before they are written: they are rotated, and go to
// rows of their own or into a cache.
//
//   using Heads = sinter::Heads<64, 64, false, 1, 2048,
//                               sinter::HeadPart<__nv_bfloat16, 12, true, 0>,
//                               sinter::HeadPart<__nv_bfloat16, 4, true, 512>,
//                               sinter::HeadPart<__nv_bfloat16, 4, false, 512>>;
//
// A rotation is of pairs of a head's elements (sinter.rotary). The sums of both have to meet in one
// thread, so they are computed together: an index is of a pair of columns, of which column_of says
// where they are. Where nothing is rotated, an index is of one column.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

/// HEADS heads, of elements T in memory. MAX_SEQUENCE is the rows of a slot of the cache
/// [slots, MAX_SEQUENCE, HEADS, size] that they are appended to (sinter.cache_append), or 0 for rows of
/// their own.
template <class T, int HEADS, bool ROTATES, int MAX_SEQUENCE> struct HeadPart {
  using Element = T;
  static constexpr int kHeads = HEADS, kMaxSequence = MAX_SEQUENCE;
  static constexpr bool kRotates = ROTATES;
};

/// Where heads are written, and what that depends on.
struct HeadOperands {
  const float *cos, *sin;   ///< [positions, rotated / 2], or null where nothing is rotated
  const int *start, *count; ///< a slot's position, zero where null; how many of its rows are real
  void *out[3];
};

/// Heads of SIZE elements, the first ROTATED of which are rotated (0: none): element i with the one
/// ROTATED / 2 behind it, or with its neighbour where INTERLEAVED. The product's rows are TOKENS of
/// each slot; the tables of angles have POSITIONS rows, beyond which the last one counts.
template <int SIZE, int ROTATED, bool INTERLEAVED, int TOKENS, int POSITIONS, class... PARTS>
struct Heads {
  static_assert(SIZE % 2 == 0 && ROTATED % 2 == 0 && ROTATED <= SIZE, "elements come in pairs");

  static constexpr bool kIsPaired = ROTATED > 0;

  /// Whether WIDTH neighbouring indices, from a multiple of WIDTH on, are neighbouring columns.
  template <int WIDTH>
  static constexpr bool kKeepsNeighbours = WIDTH == 1 || (!INTERLEAVED && ROTATED / 2 % WIDTH == 0 &&
                                                          (SIZE - ROTATED) / 2 % WIDTH == 0);

  /// The first or second column of a pair. What is not rotated is paired in halves, too.
  SINTER_DEVICE static int column_of(int index, int half) {
    const int head = index / (SIZE / 2), pair = index % (SIZE / 2);
    int element;
    if constexpr (INTERLEAVED)
      element = 2 * pair + half;
    else if (pair < ROTATED / 2)
      element = pair + half * (ROTATED / 2);
    else
      element = ROTATED / 2 + pair + half * ((SIZE - ROTATED) / 2);
    return head * SIZE + element;
  }

  /// Writes the elements of a row at a pair of columns.
  SINTER_DEVICE static void write(const HeadOperands &operands, float first, float second, int row,
                                  int column, int secondColumn) {
    write_part<0, 0, PARTS...>(operands, first, second, row, column, secondColumn);
  }
  /// The same of one column, where nothing is rotated.
  SINTER_DEVICE static void write(const HeadOperands &operands, float value, int row, int column) {
    write_part<0, 0, PARTS...>(operands, value, 0, row, column, column);
  }

private:
  /// Finds the part that the columns are in, from the one at PLACE on, which begins at BEGIN.
  template <int PLACE, int BEGIN, class PART, class... REST>
  SINTER_DEVICE static void write_part(const HeadOperands &operands, float first, float second,
                                       int row, int column, int secondColumn) {
    using T = typename PART::Element;
    constexpr int kColumns = PART::kHeads * SIZE;
    if constexpr (sizeof...(REST) > 0)
      if (column >= BEGIN + kColumns)
        return write_part<PLACE + 1, BEGIN + kColumns, REST...>(operands, first, second, row, column,
                                                                secondColumn);
    const int slot = row / TOKENS, token = row % TOKENS;
    const int at = (operands.start ? operands.start[slot] : 0) + token;
    if constexpr (PART::kRotates) {
      const int element = (column - BEGIN) % SIZE;
      if (element < ROTATED) {
        const int position = min_of(max_of(at, 0), POSITIONS - 1);
        const int angle = position * (ROTATED / 2) + (INTERLEAVED ? element / 2 : element);
        const float cos = operands.cos[angle], sin = operands.sin[angle], x = first;
        first = x * cos - second * sin;
        second = second * cos + x * sin;
      }
    }
    T *to = static_cast<T *>(operands.out[PLACE]);
    if constexpr (PART::kMaxSequence == 0) {
      to += static_cast<long long>(row) * kColumns;
    } else {
      if (token >= operands.count[slot] ||
          static_cast<unsigned>(at) >= static_cast<unsigned>(PART::kMaxSequence))
        return;
      to += (static_cast<long long>(slot) * PART::kMaxSequence + at) * kColumns;
    }
    to[column - BEGIN] = from_float<T>(first);
    if constexpr (kIsPaired)
      to[secondColumn - BEGIN] = from_float<T>(second);
  }
};

} // namespace sinter
