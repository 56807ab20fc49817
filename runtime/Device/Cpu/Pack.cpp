#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr uint64_t width = Panels::width;

// 16 consecutive 32-bit words; a register where the machine has one that wide.
typedef uint32_t Words __attribute__((vector_size(64)));
constexpr uint64_t wordCount = 16;

// Converts `count` elements at `source` to `To`, which is float or uint16_t (bf16).
template <typename To>
SINTER_INLINE void convert(To *__restrict out, const std::byte *__restrict source, DType from,
                           uint64_t count) {
  constexpr bool toFloat = std::is_same_v<To, float>;
  auto each = [&](auto element, auto toValue) {
    using Element = decltype(element);
    for (uint64_t i = 0; i < count; ++i) {
      Element value;
      std::memcpy(&value, source + i * sizeof(Element), sizeof(Element));
      out[i] = toValue(value);
    }
  };
  switch (from) {
  case DType::F32:
    if constexpr (toFloat)
      std::memcpy(out, source, count * sizeof(float));
    else
      each(float(), [](float value) { return floatToBf16(value); });
    return;
  case DType::BF16:
    if constexpr (toFloat)
      each(uint16_t(), [](uint16_t value) { return bf16ToFloat(value); });
    else
      std::memcpy(out, source, count * sizeof(uint16_t));
    return;
  default:
    if constexpr (toFloat)
      each(uint16_t(), [](uint16_t value) { return f16ToFloat(value); });
    else
      each(uint16_t(), [](uint16_t value) { return floatToBf16(f16ToFloat(value)); });
    return;
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

// out[p][column] = words[column][p] for 16 columns and 16 words; a row of `out` is `width` words.
SINTER_VECTOR_CLONES void transpose(uint32_t *__restrict out, const uint32_t *__restrict words) {
  Words rows[wordCount];
#pragma clang loop unroll(full)
  for (uint64_t i = 0; i < wordCount; ++i)
    std::memcpy(&rows[i], words + i * wordCount, sizeof(Words));
  constexpr std::make_integer_sequence<int, 16> lanes;
  exchange<1>(rows, lanes);
  exchange<2>(rows, lanes);
  exchange<4>(rows, lanes);
  exchange<8>(rows, lanes);
#pragma clang loop unroll(full)
  for (uint64_t i = 0; i < wordCount; ++i)
    std::memcpy(out + i * width, &rows[i], sizeof(Words));
}

SINTER_VECTOR_CLONES void convertRow(float *out, const std::byte *source, DType from,
                                     uint64_t count) {
  convert(out, source, from, count);
}

SINTER_VECTOR_CLONES void convertRow(uint16_t *out, const std::byte *source, DType from,
                                     uint64_t count) {
  convert(out, source, from, count);
}

// Two rows of bf16 into pairs: out[2j] = even[j], out[2j + 1] = odd[j].
SINTER_VECTOR_CLONES void interleave(uint16_t *__restrict out, const uint16_t *__restrict even,
                                     const uint16_t *__restrict odd, uint64_t count) {
  for (uint64_t j = 0; j < count; ++j) {
    out[2 * j] = even[j];
    out[2 * j + 1] = odd[j];
  }
}

// Columns [first, first + count) of a source into columns [column, ...) of a panel of To.
template <typename To> class PanelWriter {
public:
  PanelWriter(const Panels &layout, std::byte *panel)
      : layout(layout), panel(reinterpret_cast<To *>(panel)) {}

  void write(const PackSource &source, uint64_t first, uint64_t count, uint64_t column) {
    if (source.transposed)
      writeTransposed(source, first, count, column);
    else
      writeRows(source, first, count, column);
  }

  /// Zeroes what no source reaches: the rows from k on, and the columns from `columns` on.
  void pad(uint64_t columns) {
    uint64_t pairs = layout.interleave();
    for (uint64_t p = 0; p < layout.paddedK(); p += pairs)
      if (columns < width)
        std::memset(panel + (p * width + columns * pairs), 0,
                    (width - columns) * pairs * sizeof(To));
    // An odd k leaves half a pair; writers fill it with zeros themselves.
    uint64_t begin = (layout.k + pairs - 1) / pairs * pairs;
    if (begin < layout.paddedK())
      std::memset(panel + begin * width, 0, (layout.paddedK() - begin) * width * sizeof(To));
  }

private:
  // A 32-bit word is one f32 or a pair of bf16, so one transposition serves both.
  void writeTransposed(const PackSource &source, uint64_t first, uint64_t count, uint64_t column) {
    constexpr uint64_t perWord = sizeof(uint32_t) / sizeof(To);
    constexpr uint64_t depth = wordCount * perWord;
    auto *words = reinterpret_cast<uint32_t *>(panel);
    alignas(64) To block[wordCount][depth];
    size_t elementBytes = sizeOf(source.dtype);
    for (uint64_t p = 0; p < layout.k; p += depth) {
      uint64_t valid = std::min(depth, layout.k - p);
      uint64_t validWords = (valid + perWord - 1) / perWord;
      for (uint64_t j = 0; j < count; j += wordCount) {
        uint64_t columns = std::min(wordCount, count - j);
        if (valid < depth || columns < wordCount)
          std::memset(block, 0, sizeof(block));
        for (uint64_t c = 0; c < columns; ++c)
          convertRow(block[c],
                     static_cast<const std::byte *>(source.data) +
                         ((first + j + c) * source.stride + p) * elementBytes,
                     source.dtype, valid);
        uint32_t *target = words + p / perWord * width + column + j;
        const auto *from = reinterpret_cast<const uint32_t *>(block);
        if (validWords == wordCount && columns == wordCount) {
          transpose(target, from);
          continue;
        }
        for (uint64_t w = 0; w < validWords; ++w)
          for (uint64_t c = 0; c < columns; ++c)
            target[w * width + c] = from[c * wordCount + w];
      }
    }
  }

  void writeRows(const PackSource &source, uint64_t first, uint64_t count, uint64_t column) {
    size_t elementBytes = sizeOf(source.dtype);
    auto row = [&](uint64_t p) {
      return static_cast<const std::byte *>(source.data) +
             (p * source.stride + first) * elementBytes;
    };
    if constexpr (std::is_same_v<To, float>) {
      for (uint64_t p = 0; p < layout.k; ++p)
        convertRow(panel + p * width + column, row(p), source.dtype, count);
    } else {
      alignas(64) uint16_t even[width], odd[width];
      for (uint64_t p = 0; p < layout.k; p += 2) {
        convertRow(even, row(p), source.dtype, count);
        if (p + 1 < layout.k)
          convertRow(odd, row(p + 1), source.dtype, count);
        else
          std::memset(odd, 0, sizeof(odd));
        interleave(panel + (p * width + column * 2), even, odd, count);
      }
    }
  }

  Panels layout;
  To *panel;
};

template <typename To>
void packPanel(const Panels &layout, std::span<const PackSource> sources, std::byte *panel,
               uint64_t index) {
  PanelWriter<To> writer(layout, panel);
  uint64_t begin = index * width, end = std::min(begin + width, layout.n);
  uint64_t sourceBegin = 0;
  for (const PackSource &source : sources) {
    uint64_t from = std::max(begin, sourceBegin), to = std::min(end, sourceBegin + source.n);
    if (from < to)
      writer.write(source, from - sourceBegin, to - from, from - begin);
    sourceBegin += source.n;
  }
  writer.pad(end - begin);
}

} // namespace

void pack(ThreadPool &pool, const Panels &layout, std::span<const PackSource> sources, void *out) {
  pool.run(layout.count(), 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      std::byte *panel = static_cast<std::byte *>(out) + i * layout.panelBytes();
      if (layout.dtype == DType::BF16)
        packPanel<uint16_t>(layout, sources, panel, i);
      else
        packPanel<float>(layout, sources, panel, i);
    }
  });
}

} // namespace sinter::runtime
