#include "frontends/Quantized/QuantizedWeight.h"
#include "runtime/Base/Float8.h"
#include <algorithm>

namespace sinter {

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
  auto items = static_cast<uint64_t>((codes.rows + step - 1) / step);
  return {items, [weight = *this, step](uint64_t begin, uint64_t end, std::byte *bytes) {
            auto *out = reinterpret_cast<float *>(bytes);
            int64_t rows = weight.codes.rows, columns = weight.codes.columns;
            std::vector<float> block;
            for (auto item = static_cast<int64_t>(begin); item < static_cast<int64_t>(end);
                 ++item) {
              int64_t first = item * step, count = std::min(step, rows - first);
              if (!weight.isTransposed) {
                weight.decodeRows(first, count, out + first * columns);
                continue;
              }
              block.resize(static_cast<size_t>(count * columns));
              weight.decodeRows(first, count, block.data());
              for (int64_t column = 0; column < columns; ++column)
                for (int64_t row = 0; row < count; ++row)
                  out[column * rows + first + row] = block[row * columns + column];
            }
          }};
}

TensorDecoder QuantizedWeight::decodeIntegers(int shift) const {
  int64_t step = codes.getRowsTogether();
  auto items = static_cast<uint64_t>((codes.rows + step - 1) / step);
  return {items, [matrix = codes, step, shift](uint64_t begin, uint64_t end, std::byte *out) {
            std::vector<float> block(static_cast<size_t>(step * matrix.columns));
            for (uint64_t item = begin; item < end; ++item) {
              int64_t first = static_cast<int64_t>(item) * step;
              int64_t count = std::min(step, matrix.rows - first);
              matrix.read(first, count, block.data());
              for (int64_t i = 0; i < count * matrix.columns; ++i)
                out[first * matrix.columns + i] = static_cast<std::byte>(
                    static_cast<int8_t>(block[static_cast<size_t>(i)] - static_cast<float>(shift)));
            }
          }};
}

TensorDecoder QuantizedWeight::decodeNumbers() const {
  return {static_cast<uint64_t>(codes.rows),
          [matrix = codes](uint64_t begin, uint64_t end, std::byte *out) {
            std::vector<float> row(static_cast<size_t>(matrix.columns));
            for (uint64_t i = begin; i < end; ++i) {
              matrix.read(static_cast<int64_t>(i), 1, row.data());
              for (size_t column = 0; column < row.size(); ++column)
                out[i * row.size() + column] = static_cast<std::byte>(floatToE4M3(row[column]));
            }
          }};
}

TensorDecoder QuantizedWeight::decodeGroups(bool ofMinima, int shift) const {
  return {1, [weight = *this, ofMinima, shift](uint64_t, uint64_t, std::byte *bytes) {
            int64_t groups = weight.scales.columns, rows = weight.scales.rows;
            std::vector<float> scaleOf(static_cast<size_t>(rows * groups)), zeroOf(scaleOf.size());
            weight.scales.read(0, rows, scaleOf.data());
            if (ofMinima)
              weight.zeros->read(0, rows, zeroOf.data());
            auto *out = reinterpret_cast<float *>(bytes);
            for (int64_t row = 0; row < weight.codes.rows; ++row)
              for (int64_t group = 0; group < groups; ++group) {
                auto at = static_cast<size_t>(row / weight.rowGroup * groups + group);
                *out++ =
                    ofMinima ? (static_cast<float>(shift) - zeroOf[at]) * scaleOf[at] : scaleOf[at];
              }
          }};
}

std::optional<IntegerMatrix> QuantizedWeight::getIntegers() const {
  using Element = StoredMatrix::Element;
  bool isInteger = codes.element == Element::I8 || codes.element == Element::Bits;
  bool isFp8 = codes.element == Element::E4M3;
  int64_t group = std::min(columnGroup, codes.columns);
  if ((!isInteger && !isFp8) || groupOf || codes.columns % group != 0)
    return std::nullopt;
  // Signed codes go from -offset on, those without an offset from 0 on.
  bool countsFromZero = codes.element == Element::Bits && codes.offset == 0;
  if (countsFromZero && !zeros)
    return std::nullopt;
  int shift = countsFromZero ? 1 << (codes.bits - 1) : 0;
  IntegerMatrix matrix;
  matrix.format.dtype = isFp8 ? DType::E4M3 : codes.bits <= 4 ? DType::I4 : DType::I8;
  matrix.format.group = group;
  matrix.format.hasMinima = zeros.has_value();
  matrix.format.roundsRows =
      roundsRows && !zeros && group == codes.columns && matrix.format.dtype != DType::I4;
  matrix.rows = codes.rows;
  matrix.columns = codes.columns;
  matrix.integers = isFp8 ? decodeNumbers() : decodeIntegers(shift);
  matrix.scales = decodeGroups(/*ofMinima=*/false, shift);
  if (zeros)
    matrix.minima = decodeGroups(/*ofMinima=*/true, shift);
  return matrix;
}

} // namespace sinter
