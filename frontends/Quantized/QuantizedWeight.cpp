#include "frontends/Quantized/QuantizedWeight.h"
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

TensorDecoder QuantizedWeight::decoder() const {
  constexpr int64_t transposedRows = 16; // a cache line of each column
  int64_t step = isTransposed ? transposedRows : codes.rowsTogether();
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

} // namespace sinter
