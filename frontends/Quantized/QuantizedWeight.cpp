#include "frontends/Quantized/QuantizedWeight.h"
#include "runtime/Base/WriteFloats.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace sinter {

/// Columns that share a scale at the least where groups are divided: with fewer, scales take more
/// than half of what the numbers do.
constexpr int64_t fewestOfGroup = 8;

void QuantizedWeight::decodeRows(int64_t first, int64_t count, float *out) const {
  int64_t groups = scales.columns, firstScale = first / rowGroup;
  int64_t scaleRows = (first + count - 1) / rowGroup + 1 - firstScale;
  std::vector<float> scaleOf(static_cast<size_t>(scaleRows * groups)), zeroOf(scaleOf.size());
  scales.read(firstScale, scaleRows, scaleOf.data());
  if (zeros)
    zeros->read(firstScale, scaleRows, zeroOf.data());
  codes.read(first, count, out);
  for (int64_t row = 0; row < count; ++row) {
    const float *scale = &scaleOf[((first + row) / rowGroup - firstScale) * groups];
    const float *zero = &zeroOf[((first + row) / rowGroup - firstScale) * groups];
    float *values = out + row * codes.columns;
    if (groupOf) {
      for (int64_t column = 0; column < codes.columns; ++column) {
        uint32_t group = (*groupOf)[column];
        values[column] = (values[column] - zero[group]) * scale[group];
      }
      continue;
    }
    for (int64_t group = 0; group < groups; ++group) {
      int64_t end = std::min((group + 1) * columnGroup, codes.columns);
      for (int64_t column = group * columnGroup; column < end; ++column)
        values[column] = (values[column] - zero[group]) * scale[group];
    }
  }
}

TensorDecoder QuantizedWeight::getDecoder() const {
  constexpr int64_t transposedRows = 16; // a cache line of each column
  int64_t step = isTransposed ? transposedRows : codes.getRowsTogether();
  int64_t rows = codes.rows / matrices, itemsOfMatrix = (rows + step - 1) / step;
  auto items = static_cast<uint64_t>(matrices * itemsOfMatrix);
  return {
      items, [=, weight = *this](uint64_t begin, uint64_t end, std::byte *bytes) {
        auto *out = reinterpret_cast<float *>(bytes);
        int64_t columns = weight.codes.columns;
        std::vector<float> block;
        for (auto item = static_cast<int64_t>(begin); item < static_cast<int64_t>(end); ++item) {
          int64_t first = item % itemsOfMatrix * step, count = std::min(step, rows - first);
          int64_t above = item / itemsOfMatrix * rows; // in matrices before this one
          if (!weight.isTransposed) {
            weight.decodeRows(first, count, out + first * columns);
            continue;
          }
          block.resize(static_cast<size_t>(count * columns));
          weight.decodeRows(above + first, count, block.data());
          for (int64_t column = 0; column < columns; ++column)
            for (int64_t row = 0; row < count; ++row)
              out[above * columns + column * rows + first + row] = block[row * columns + column];
        }
      }};
}

TensorDecoder QuantizedWeight::decodeIntegers(int shift) const {
  int64_t step = codes.getRowsTogether();
  auto items = static_cast<uint64_t>((codes.rows + step - 1) / step);
  return {items, [matrix = codes, step, shift](uint64_t begin, uint64_t end, std::byte *out) {
            int64_t first = static_cast<int64_t>(begin) * step;
            int64_t last = std::min(static_cast<int64_t>(end) * step, matrix.rows);
            auto *integers = reinterpret_cast<int8_t *>(out);
            for (int64_t row = first; row < last; row += step)
              matrix.readIntegers(row, std::min(step, last - row), shift,
                                  integers + row * matrix.columns);
          }};
}

TensorDecoder QuantizedWeight::decodeNumbers() const {
  return {static_cast<uint64_t>(codes.rows),
          [matrix = codes](uint64_t begin, uint64_t end, std::byte *out) {
            uint64_t rowBytes = static_cast<uint64_t>(matrix.columns);
            std::memcpy(out + begin * rowBytes, matrix.data.data() + begin * rowBytes,
                        (end - begin) * rowBytes);
          }};
}

/// Whether a code of e4m3 among these is that of NaN. All are looked at, which is done in vectors.
static bool hasNan(std::span<const std::byte> codes) {
  unsigned found = 0;
  for (std::byte code : codes)
    found |= static_cast<unsigned>((code & std::byte{0x7f}) == std::byte{0x7f});
  return found != 0;
}

DType QuantizedWeight::getScaleType() const {
  using Element = StoredMatrix::Element;
  return scales.element == Element::F16                                           ? DType::F16
         : scales.element == Element::BF16 || scales.element == Element::HalfE8M0 ? DType::BF16
                                                                                  : DType::F32;
}

TensorDecoder QuantizedWeight::decodeGroups(int64_t group, bool ofMinima, int shift) const {
  return {static_cast<uint64_t>(codes.rows),
          [weight = *this, group, ofMinima, shift](uint64_t begin, uint64_t end, std::byte *out) {
            const StoredMatrix &codes = weight.codes;
            DType type = ofMinima ? DType::F32 : weight.getScaleType();
            std::vector<float> ofRow(static_cast<size_t>(codes.columns / group));
            std::vector<float> scaleOf(static_cast<size_t>(weight.scales.columns)),
                zeroOf(scaleOf.size());
            for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
              weight.scales.read(row / weight.rowGroup, 1, scaleOf.data());
              if (ofMinima)
                weight.zeros->read(row / weight.rowGroup, 1, zeroOf.data());
              for (int64_t first = 0; first < codes.columns; first += group) {
                auto at = static_cast<size_t>(first / weight.columnGroup);
                float value =
                    ofMinima ? (static_cast<float>(shift) - zeroOf[at]) * scaleOf[at] : scaleOf[at];
                bool isNan = codes.element == StoredMatrix::Element::E4M3 &&
                             hasNan(codes.data.subspan(row * codes.columns + first, group));
                ofRow[static_cast<size_t>(first / group)] =
                    isNan ? std::numeric_limits<float>::quiet_NaN() : value;
              }
              writeFloats(ofRow, type,
                          out + static_cast<size_t>(row) * ofRow.size() * sizeOf(type));
            }
          }};
}

std::optional<IntegerMatrix> QuantizedWeight::getIntegers() const {
  using Element = StoredMatrix::Element;
  bool isInteger = codes.element == Element::I8 || codes.element == Element::Bits;
  bool isFp8 = codes.element == Element::E4M3;
  // A last group may be narrower: then groups are what divides it and the others.
  int64_t group =
      columnGroup < codes.columns ? std::gcd(columnGroup, codes.columns) : codes.columns;
  bool isNarrow = group < std::min({columnGroup, codes.columns, fewestOfGroup});
  if ((!isInteger && !isFp8) || groupOf || isNarrow || (isFp8 && zeros))
    return std::nullopt;
  // Signed codes go from -offset on, those without an offset from 0 on.
  bool countsFromZero = codes.element == Element::Bits && codes.offset == 0 && !codes.values;
  if (countsFromZero && !zeros)
    return std::nullopt;
  int shift = countsFromZero ? 1 << (codes.bits - 1) : 0;
  IntegerMatrix matrix;
  matrix.format.dtype = isFp8                              ? DType::E4M3
                        : codes.bits <= 4 && !codes.values ? DType::I4
                                                           : DType::I8;
  if (codes.values)
    matrix.format.values = *codes.values;
  matrix.format.group = group;
  matrix.format.scaleType = getScaleType();
  matrix.format.hasMinima = zeros.has_value();
  matrix.format.roundsRows = roundsRows;
  matrix.rows = codes.rows;
  matrix.columns = codes.columns;
  matrix.integers = isFp8 ? decodeNumbers() : decodeIntegers(shift);
  matrix.scales = decodeGroups(group, /*ofMinima=*/false, shift);
  if (zeros)
    matrix.minima = decodeGroups(group, /*ofMinima=*/true, shift);
  return matrix;
}

} // namespace sinter
