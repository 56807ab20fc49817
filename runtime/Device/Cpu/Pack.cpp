#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace sinter::runtime {
namespace {

// A 32-bit word of a panel is one f32 or a pair of bf16; vectors are of 16 of them, a register
// where the machine has one that wide. A scale of 16 bits, of either type, is a word of its own in
// a panel, and moved as f16.
typedef uint32_t Words __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
typedef int8_t Bytes __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32)));
constexpr uint64_t lanes = 16;

// Rows of a panel that a task packs at most, of a source that is read row by row and of one that is
// transposed: few enough that every core has some, of the latter enough that pieces are long.
constexpr uint64_t rowsOfTask = 128, transposedRowsOfTask = 512;
// Columns that it packs, of one panel or several: lines that are next to each other in the source's
// rows are read together.
constexpr uint64_t columnsOfTask = 64;
// Rows of a panel that are asked for before they are written: stores wait for their lines one after
// the other (data in the caches took twice as long on Zen 3).
constexpr uint64_t rowsAhead = 16;

constexpr uint64_t perWord(DType to) { return to == DType::BF16 ? 2 : 1; }
template <DType To> using PanelWord = std::conditional_t<To == DType::F16, uint16_t, uint32_t>;

//===----------------------------------------------------------------------===//
// Sixteen elements at a time
//===----------------------------------------------------------------------===//

// Sixteen elements of 16 bits as they are, each in the lower half of a word.
SINTER_INLINE void loadHalves(Words &out, const std::byte *source) {
  Halves halves;
  std::memcpy(&halves, source, sizeof(Halves));
  out = __builtin_convertvector(halves, Words);
}

template <DType To> SINTER_INLINE void storeWords(PanelWord<To> *to, const Words &words) {
  if constexpr (To == DType::F16) {
    Halves halves = __builtin_convertvector(words, Halves);
    std::memcpy(to, &halves, sizeof(Halves));
  } else {
    std::memcpy(to, &words, sizeof(Words));
  }
}

// The bits of 16 elements as f32. (Vectors go through memory: as arguments, their place would
// depend on the instruction set.)
template <DType From> SINTER_INLINE void loadFloats(Words &out, const std::byte *source) {
  if constexpr (From == DType::F32) {
    std::memcpy(&out, source, sizeof(Words));
    return;
  }
  Words bits;
  loadHalves(bits, source);
  if constexpr (From == DType::BF16) {
    out = bits << 16;
    return;
  }
  // f16ToFloat.
  Words magnitude = bits & 0x7fff;
  Words scaled = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude << 13) * 0x1p112f);
  Words special = reinterpret_cast<Words>(magnitude >= 0x7c00);
  out = (special & (((magnitude & 0x3ff) << 13) | 0x7f800000)) | (~special & scaled) |
        (bits & 0x8000) << 16;
}

// 16 elements as bf16, each in the lower half of a word.
template <DType From> SINTER_INLINE void loadBf16(Words &out, const std::byte *source) {
  if constexpr (From == DType::BF16)
    return loadHalves(out, source);
  // floatToBf16.
  Words bits;
  loadFloats<From>(bits, source);
  Words rounded = bits + 0x7fff + ((bits >> 16) & 1);
  Words nan = reinterpret_cast<Words>((bits & 0x7fffffff) > 0x7f800000);
  out = ((nan & (bits | 0x400000)) | (~nan & rounded)) >> 16;
}

// A row of words of 16 columns, from one row of a source or from two.
template <DType From, DType To>
SINTER_INLINE void loadAcross(Words &out, const std::byte *row, uint64_t stride) {
  if constexpr (To == DType::F32) {
    loadFloats<From>(out, row);
  } else if constexpr (To == DType::F16) {
    loadHalves(out, row);
  } else {
    Words even, odd;
    loadBf16<From>(even, row);
    loadBf16<From>(odd, row + stride);
    out = even | odd << 16;
  }
}

// 16 words of one column, which is a row of the source.
template <DType From, DType To> SINTER_INLINE void loadAlong(Words &out, const std::byte *row) {
  if constexpr (To == DType::F32) {
    loadFloats<From>(out, row);
  } else if constexpr (To == DType::F16) {
    loadHalves(out, row);
  } else if constexpr (From == DType::BF16) {
    std::memcpy(&out, row, sizeof(Words));
  } else {
    Words words[2];
    loadBf16<From>(words[0], row);
    loadBf16<From>(words[1], row + lanes * sizeOf(From));
    Halves halves[2] = {__builtin_convertvector(words[0], Halves),
                        __builtin_convertvector(words[1], Halves)};
    std::memcpy(&out, halves, sizeof(Words));
  }
}

// Transposes 16 x 16 words in four rounds: in each, rows whose numbers differ in one bit exchange
// the halves that the same bit of the column selects.
template <int Distance, int... Lane>
SINTER_INLINE void exchange(Words *rows, std::integer_sequence<int, Lane...>) {
#pragma clang loop unroll(full)
  for (int i = 0; i < 16; ++i) {
    if (i & Distance)
      continue;
    Words a = rows[i], b = rows[i | Distance];
    rows[i] = __builtin_shufflevector(a, b, (Lane & Distance ? 16 + (Lane ^ Distance) : Lane)...);
    rows[i | Distance] =
        __builtin_shufflevector(a, b, (Lane & Distance ? 16 + Lane : Lane ^ Distance)...);
  }
}

SINTER_INLINE void transpose(Words *rows) {
  constexpr std::make_integer_sequence<int, 16> numbers;
  exchange<1>(rows, numbers);
  exchange<2>(rows, numbers);
  exchange<4>(rows, numbers);
  exchange<8>(rows, numbers);
}

//===----------------------------------------------------------------------===//
// Parts of a task
//===----------------------------------------------------------------------===//

// Rows [begin, end) of some columns that one source has in a task's panels. Sixteen columns from
// the first on lie in one panel, as do the next sixteen.
struct Part {
  const std::byte *source; // row 0 of the first of the columns
  uint64_t stride;         // bytes between rows of the source
  std::byte *out;          // the first of the panels
  uint64_t width, shift;   // of a panel: 1 << shift columns
  uint64_t panelWords;     // from a panel to the next
  uint64_t column, columns;
  uint64_t begin, end;

  // Where the word of a column is, of a row of words.
  SINTER_INLINE uint64_t wordAt(uint64_t rowOfWords, uint64_t j) const {
    uint64_t at = column + j;
    return (at >> shift) * panelWords + rowOfWords * width + (at & (width - 1));
  }
};

template <DType From, DType To, bool Transposed>
SINTER_INLINE void packElement(const Part &part, uint64_t p, uint64_t column) {
  constexpr size_t bytes = sizeOf(From);
  const std::byte *at = part.source + (Transposed ? column * part.stride + p * bytes
                                                  : p * part.stride + column * bytes);
  constexpr uint64_t pairs = perWord(To);
  uint64_t index = part.wordAt(p / pairs, column) * pairs + p % pairs;
  float value;
  if constexpr (From == DType::F32) {
    std::memcpy(&value, at, sizeof(value));
  } else {
    uint16_t half;
    std::memcpy(&half, at, sizeof(half));
    if constexpr (To == DType::F16) {
      reinterpret_cast<uint16_t *>(part.out)[index] = half;
      return;
    }
    value = From == DType::BF16 ? bf16ToFloat(half) : f16ToFloat(half);
  }
  if constexpr (To == DType::F32)
    reinterpret_cast<float *>(part.out)[index] = value;
  else
    reinterpret_cast<uint16_t *>(part.out)[index] = floatToBf16(value);
}

template <DType From, DType To, bool Transposed> SINTER_INLINE void packPart(const Part &part) {
  constexpr uint64_t step = Transposed ? lanes * perWord(To) : perWord(To);
  uint64_t wholeEnd = part.begin + (part.end - part.begin) / step * step;
  uint64_t wholeColumns = part.columns / lanes * lanes;
  auto *words = reinterpret_cast<PanelWord<To> *>(part.out);
  if constexpr (Transposed) {
    for (uint64_t j = 0; j < wholeColumns; j += lanes)
      for (uint64_t p = part.begin; p < wholeEnd; p += step) {
        const std::byte *from = part.source + j * part.stride + p * sizeOf(From);
        // Sixteen rows side by side are more streams than hardware follows.
        bool endsRows = p + step >= wholeEnd;
        uint64_t nextColumn = endsRows ? std::min(j + lanes, wholeColumns - lanes) : j;
        uint64_t nextRow = endsRows ? part.begin : p + step;
        const std::byte *next = part.source + nextColumn * part.stride + nextRow * sizeOf(From);
#pragma clang loop unroll(full)
        for (uint64_t i = 0; i < lanes; ++i)
          __builtin_prefetch(next + i * part.stride);
        Words rows[lanes];
#pragma clang loop unroll(full)
        for (uint64_t i = 0; i < lanes; ++i)
          loadAlong<From, To>(rows[i], from + i * part.stride);
        transpose(rows);
        PanelWord<To> *to = words + part.wordAt(p / perWord(To), j);
#pragma clang loop unroll(full)
        for (uint64_t i = 0; i < lanes; ++i)
          __builtin_prefetch(to + (i + rowsAhead) * part.width, 1);
#pragma clang loop unroll(full)
        for (uint64_t i = 0; i < lanes; ++i)
          storeWords<To>(to + i * part.width, rows[i]);
      }
  } else {
    for (uint64_t p = part.begin; p < wholeEnd; p += step) {
      const std::byte *from = part.source + p * part.stride;
      for (uint64_t j = 0; j < wholeColumns;) {
        PanelWord<To> *to = words + part.wordAt(p / perWord(To), j);
        uint64_t end =
            std::min(wholeColumns, j + part.width - ((part.column + j) & (part.width - 1)));
        for (; j < end; j += lanes, to += lanes) {
          Words row;
          __builtin_prefetch(to + rowsAhead * part.width, 1);
          loadAcross<From, To>(row, from + j * sizeOf(From), part.stride);
          storeWords<To>(to, row);
        }
      }
    }
  }
  for (uint64_t p = part.begin; p < part.end; ++p)
    for (uint64_t c = p < wholeEnd ? wholeColumns : 0; c < part.columns; ++c)
      packElement<From, To, Transposed>(part, p, c);
}

template <DType To> SINTER_INLINE void packPart(const Part &part, DType from, bool transposed) {
  switch (from) {
  case DType::F32:
    return transposed ? packPart<DType::F32, To, true>(part)
                      : packPart<DType::F32, To, false>(part);
  case DType::BF16:
    return transposed ? packPart<DType::BF16, To, true>(part)
                      : packPart<DType::BF16, To, false>(part);
  default:
    return transposed ? packPart<DType::F16, To, true>(part)
                      : packPart<DType::F16, To, false>(part);
  }
}

SINTER_VECTOR_CLONES void packClone(const Part &part, DType from, DType to, bool transposed) {
  if (to == DType::F16)
    transposed ? packPart<DType::F16, DType::F16, true>(part)
               : packPart<DType::F16, DType::F16, false>(part);
  else if (to == DType::BF16)
    packPart<DType::BF16>(part, from, transposed);
  else
    packPart<DType::F32>(part, from, transposed);
}

// Zeroes what no source reaches of rows [begin, end): the columns from `columns` on, and, with the
// last rows, all that follow.
void pad(const PackedRhs &layout, std::byte *panel, uint64_t columns, uint64_t begin,
         uint64_t end) {
  uint64_t width = layout.width, pairs = layout.getInterleave();
  uint64_t wordBytes = pairs * sizeOf(layout.dtype);
  for (uint64_t p = begin; columns < width && p < end; p += pairs)
    std::memset(panel + (p / pairs * width + columns) * wordBytes, 0,
                (width - columns) * wordBytes);
  if (end < layout.k)
    return;
  if (end % pairs != 0)
    for (uint64_t c = 0; c < width; ++c)
      std::memset(panel + (end / pairs * width + c) * wordBytes + wordBytes / 2, 0, wordBytes / 2);
  uint64_t next = (end + pairs - 1) / pairs;
  std::memset(panel + next * width * wordBytes, 0,
              (layout.getPaddedK() / pairs - next) * width * wordBytes);
}

// Rows [rowBegin, rowEnd) of the panels [first, last) of `out`.
void packRows(const PackedRhs &layout, std::span<const PackSource> sources, std::byte *out,
              uint64_t first, uint64_t last, uint64_t rowBegin, uint64_t rowEnd) {
  uint64_t width = layout.width;
  uint64_t begin = first * width, end = std::min(last * width, layout.n);
  Part part{};
  part.out = out + first * layout.getPanelBytes();
  part.width = width;
  part.shift = static_cast<uint64_t>(std::countr_zero(width));
  DType to = layout.isHalfScales() ? DType::F16 : layout.dtype;
  uint64_t wordBytes = layout.isHalfScales() ? sizeof(uint16_t) : sizeof(uint32_t);
  part.panelWords = layout.getPanelBytes() / wordBytes;
  part.begin = rowBegin;
  part.end = rowEnd;
  uint64_t sourceBegin = 0;
  for (const PackSource &source : sources) {
    uint64_t sourceEnd = std::min(end, sourceBegin + source.n), next = 0;
    part.stride = source.stride * sizeOf(source.dtype);
    for (uint64_t from = std::max(begin, sourceBegin); from < sourceEnd; from = next) {
      // What begins within sixteen columns ends with its panel.
      next = from % lanes == 0 ? sourceEnd : std::min(sourceEnd, (from / width + 1) * width);
      part.column = from - begin;
      part.columns = next - from;
      part.source = static_cast<const std::byte *>(source.data) +
                    (from - sourceBegin) * (source.transposed ? part.stride : sizeOf(source.dtype));
      packClone(part, source.dtype, to, source.transposed);
    }
    sourceBegin += source.n;
  }
  for (uint64_t panel = first; panel < last; ++panel)
    pad(layout, out + panel * layout.getPanelBytes(), std::min(end - panel * width, width),
        rowBegin, rowEnd);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

// Columns of integers, which are bytes in all sources.
class ByteColumns {
public:
  explicit ByteColumns(std::span<const PackSource> sources) : sources(sources) {}

  struct Column {
    const uint8_t *data = nullptr; // null beyond the last column
    uint64_t step = 0;             // from row to row

    SINTER_INLINE uint8_t at(uint64_t row) const { return data ? data[row * step] : 0; }
  };

  Column get(uint64_t column) const {
    for (const PackSource &source : sources) {
      if (column < source.n) {
        auto *data = static_cast<const uint8_t *>(source.data);
        return source.transposed ? Column{data + column * source.stride, 1}
                                 : Column{data + column, source.stride};
      }
      column -= source.n;
    }
    return {};
  }

private:
  std::span<const PackSource> sources;
};

// The code of each byte, in four bits: its lower half, or the number of the value that it is. From
// each value to the next larger one the code changes by as much, whatever byte is between them, so
// that comparisons find the codes of 64 bytes.
class Codes {
public:
  explicit Codes(std::span<const int8_t> values) {
    for (size_t byte = 0; values.empty() && byte < codes.size(); ++byte)
      codes[byte] = byte & 15;
    // Of values that are there twice the first one's.
    for (size_t code = values.size(); code-- > 0;)
      codes[static_cast<uint8_t>(values[code])] = static_cast<uint8_t>(code);
    std::vector<int8_t> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    auto codeOf = [&](size_t i) {
      return static_cast<int8_t>(of(static_cast<uint8_t>(sorted[i])));
    };
    if (!sorted.empty())
      first += codeOf(0);
    for (size_t i = 1; i < sorted.size(); ++i) {
      thresholds[count] += sorted[i - 1];
      changes[count++] += static_cast<int8_t>(codeOf(i) - codeOf(i - 1));
    }
  }

  SINTER_INLINE void find(Words &words) const {
    if (count == 0) {
      words &= 0x0f0f0f0f;
      return;
    }
    Bytes bytes, codes = first;
    std::memcpy(&bytes, &words, sizeof(bytes));
    for (int i = 0; i < count; ++i)
      codes += (bytes > thresholds[i]) & changes[i];
    std::memcpy(&words, &codes, sizeof(words));
  }

  uint8_t of(uint8_t byte) const { return codes[byte]; }

private:
  std::array<uint8_t, 256> codes = {};
  Bytes first = {}, thresholds[15] = {}, changes[15] = {}; // the same in every lane
  int count = 0;
};

// The whole words of rows [begin, end) of a column, `width` words apart; of halves with those of
// the upper column `above`. Returns where the rest begins.
template <typename Word>
uint64_t packWords(const uint8_t *column, const uint8_t *above, uint8_t *words, uint64_t width,
                   uint64_t begin, uint64_t end) {
  constexpr auto lowerHalves = static_cast<Word>(0x0f0f0f0f);
  uint64_t p = begin;
  for (; p + sizeof(Word) <= end; p += sizeof(Word)) {
    Word word, upper;
    std::memcpy(&word, column + p, sizeof(word));
    if (above) {
      std::memcpy(&upper, above + p, sizeof(upper));
      word = static_cast<Word>((word & lowerHalves) | (upper & lowerHalves) << 4);
    }
    std::memcpy(words + p * width, &word, sizeof(word));
  }
  return p;
}

// The same of 16 columns at a time, four rows a word and 16 words a step: each column's rows are
// neighbours, and each word's columns become so.
SINTER_VECTOR_CLONES uint64_t packSquares(const Codes &codes, const uint8_t *const *columns,
                                          const uint8_t *const *above, uint8_t *words,
                                          uint64_t width, uint64_t begin, uint64_t end) {
  uint64_t p = begin;
  for (; p + sizeof(Words) <= end; p += sizeof(Words)) {
    Words square[lanes];
#pragma clang loop unroll(full)
    for (uint64_t i = 0; i < lanes; ++i) {
      std::memcpy(&square[i], columns[i] + p, sizeof(Words));
      if (above) {
        Words upper;
        std::memcpy(&upper, above[i] + p, sizeof(Words));
        codes.find(square[i]);
        codes.find(upper);
        square[i] |= upper << 4;
      }
    }
    transpose(square);
#pragma clang loop unroll(full)
    for (uint64_t i = 0; i < lanes; ++i)
      std::memcpy(words + (p + 4 * i) * width, &square[i], sizeof(Words));
  }
  return p;
}

// Rows [begin, end) of one panel, of which `rows` is the first, and with the last ones the padding.
// @pre where panels end with sums the rows are all rows
void packIntegers(const PackedRhs &layout, const ByteColumns &columns, uint64_t panel,
                  uint8_t *rows, uint64_t begin, uint64_t end) {
  bool halves = layout.dtype == DType::I4;
  uint64_t width = halves ? layout.width / 2 : layout.width;
  uint64_t together = layout.together, shift = static_cast<uint64_t>(std::countr_zero(together));
  uint64_t padded = end == layout.k ? layout.getPaddedK() : end;
  uint8_t *sums = rows + layout.getPaddedK() * width;
  Codes codes(layout.values);
  for (uint64_t first = 0; first < width; first += lanes) {
    uint64_t count = std::min(lanes, width - first);
    ByteColumns::Column lower[lanes], upper[lanes];
    const uint8_t *lowerRows[lanes], *upperRows[lanes];
    bool areNeighbours = true; // rows of a column
    for (uint64_t i = 0; i < count; ++i) {
      lower[i] = columns.get(panel * layout.width + first + i);
      if (halves)
        upper[i] = columns.get(panel * layout.width + width + first + i);
      lowerRows[i] = lower[i].data;
      upperRows[i] = upper[i].data;
      areNeighbours &= lower[i].step == 1 && (!halves || upper[i].step == 1);
    }
    uint64_t squares = begin;
    if (areNeighbours && together == 4 && count == lanes)
      squares = packSquares(codes, lowerRows, halves ? upperRows : nullptr, rows + first * together,
                            width, begin, end);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t j = first + i, p = squares;
      // Where rows are neighbours, and bytes are codes as they are, a word of them at a time.
      if (areNeighbours && layout.values.empty()) {
        uint8_t *words = rows + j * together;
        const uint8_t *above = halves ? upperRows[i] : nullptr;
        p = together == 4 ? packWords<uint32_t>(lowerRows[i], above, words, width, p, end)
                          : packWords<uint16_t>(lowerRows[i], above, words, width, p, end);
      }
      for (; p < padded; ++p) {
        uint8_t byte = 0;
        if (p < end)
          byte = halves ? static_cast<uint8_t>(codes.of(lower[i].at(p)) | codes.of(upper[i].at(p))
                                                                              << 4)
                        : lower[i].at(p);
        rows[(((p >> shift) * width + j) << shift) + (p & (together - 1))] = byte;
      }
      if (!layout.endsWithSums())
        continue;
      int32_t sum = 0;
      for (p = begin; p < end; ++p)
        sum += static_cast<int8_t>(lower[i].at(p));
      sum *= -128;
      std::memcpy(sums + j * sizeof(sum), &sum, sizeof(sum));
    }
  }
}

} // namespace

void pack(ThreadPool &pool, const PackedRhs &layout, std::span<const PackSource> sources,
          void *out) {
  bool transposed = sources.front().transposed;
  uint64_t rows = layout.endsWithSums() ? layout.k : transposed ? transposedRowsOfTask : rowsOfTask;
  uint64_t blocks = (layout.k + rows - 1) / rows;
  uint64_t panels = columnsOfTask / layout.width;
  uint64_t groups = (layout.count() + panels - 1) / panels;
  // In the order of the source's rows: a thread reads those that it wrote (ThreadPool.h).
  pool.run(groups * blocks, 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      uint64_t first = (transposed ? i / blocks : i % groups) * panels;
      uint64_t row = (transposed ? i % blocks : i / groups) * rows;
      uint64_t last = std::min(first + panels, layout.count());
      uint64_t rowEnd = std::min(row + rows, layout.k);
      if (!layout.isInteger())
        packRows(layout, sources, static_cast<std::byte *>(out), first, last, row, rowEnd);
      for (uint64_t panel = first; layout.isInteger() && panel < last; ++panel)
        packIntegers(layout, ByteColumns(sources), panel,
                     static_cast<uint8_t *>(out) + panel * layout.getPanelBytes(), row, rowEnd);
    }
  });
}

} // namespace sinter::runtime
