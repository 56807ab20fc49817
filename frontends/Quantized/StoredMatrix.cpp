#include "frontends/Quantized/StoredMatrix.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include <cstring>

namespace sinter {

constexpr int64_t lineBytes = 64, wordBytes = 4;

template <typename T> static T load(std::span<const std::byte> data, int64_t index) {
  T value;
  std::memcpy(&value, data.data() + index * int64_t(sizeof(T)), sizeof value);
  return value;
}

/// Writes `convert(element)` of each element, in the order that the file has them in.
template <typename T, typename Out, typename Convert>
static void readElements(const StoredMatrix &matrix, int64_t first, int64_t count, Out *out,
                         Convert convert) {
  bool byRows = matrix.columnStride == 1;
  int64_t outer = byRows ? count : matrix.columns, inner = byRows ? matrix.columns : count;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      int64_t row = byRows ? i : j, column = byRows ? j : i;
      int64_t index = (first + row) * matrix.rowStride + column * matrix.columnStride;
      out[row * matrix.columns + column] = convert(load<T>(matrix.data, index));
    }
}

int64_t StoredMatrix::getRowsTogether() const {
  if (columnStride == 1)
    return 1;
  int64_t inLine = lineBytes / wordBytes;
  return element == Element::Bits && isPackedByRows ? inLine * wordBits / bits : inLine;
}

void StoredMatrix::read(int64_t first, int64_t count, float *out) const {
  switch (element) {
  case Element::F32:
    return readElements<float>(*this, first, count, out, [](float value) { return value; });
  case Element::F16:
    return readElements<uint16_t>(*this, first, count, out, f16ToFloat);
  case Element::BF16:
    return readElements<uint16_t>(*this, first, count, out, bf16ToFloat);
  case Element::I8:
    return readElements<int8_t>(*this, first, count, out,
                                [](int8_t value) { return static_cast<float>(value); });
  case Element::E4M3:
    return readElements<uint8_t>(*this, first, count, out, e4m3ToFloat);
  case Element::HalfE8M0:
    return readElements<uint8_t>(*this, first, count, out, halfOfE8M0);
  case Element::Bits:
    return readBits(first, count, /*shift=*/0, out);
  }
}

void StoredMatrix::readIntegers(int64_t first, int64_t count, int shift, int8_t *out) const {
  if (element == Element::I8)
    return readElements<int8_t>(*this, first, count, out, [shift](int8_t value) {
      return static_cast<int8_t>(value - shift);
    });
  if (bits == 4 && !order && !isPackedByRows && columnStride == 1)
    return readHalves(first, count, shift, out);
  readBits(first, count, shift, out);
}

/// Two codes a byte, the lower half first, in the order of the columns.
void StoredMatrix::readHalves(int64_t first, int64_t count, int shift, int8_t *out) const {
  int8_t pairs[256][2];
  for (int byte = 0; byte < 256; ++byte)
    for (int half : {0, 1}) {
      int code = byte >> 4 * half & 15;
      pairs[byte][half] = static_cast<int8_t>((values ? (*values)[code] : code - offset) - shift);
    }
  for (int64_t row = first; row < first + count; ++row) {
    const std::byte *codes = data.data() + row * rowStride * wordBytes;
    for (int64_t column = 0; column + 1 < columns; column += 2, out += 2)
      std::memcpy(out, pairs[static_cast<uint8_t>(*codes++)], 2);
    if (columns % 2 != 0)
      *out++ = pairs[static_cast<uint8_t>(*codes)][0];
  }
}

template <typename Out>
void StoredMatrix::readBits(int64_t first, int64_t count, int shift, Out *out) const {
  uint32_t mask = (1u << bits) - 1;
  auto code = [&](int64_t row, int64_t column) {
    int64_t index = isPackedByRows ? row : column;
    if (order)
      index = index / 8 * 8 + order[index % 8];
    int64_t bit = index * bits, begin = bit % wordBits;
    int64_t stride = isPackedByRows ? rowStride : columnStride;
    int64_t word =
        bit / wordBits * stride + (isPackedByRows ? column * columnStride : row * rowStride);
    uint32_t value = load<uint32_t>(data, word) >> begin;
    if (begin + bits > wordBits)
      value |= load<uint32_t>(data, word + stride) << (wordBits - begin);
    int code = static_cast<int>(value & mask);
    return static_cast<Out>((values ? (*values)[code] : code - offset) - shift);
  };
  bool byRows = columnStride == 1;
  int64_t outer = byRows ? count : columns, inner = byRows ? columns : count;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      int64_t row = byRows ? i : j, column = byRows ? j : i;
      out[row * columns + column] = code(first + row, column);
    }
}

} // namespace sinter
