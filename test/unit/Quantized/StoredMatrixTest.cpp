// Integers of a stored matrix are the numbers that it holds.

#include "frontends/Quantized/StoredMatrix.h"
#include <gtest/gtest.h>
#include <vector>

using namespace sinter;

namespace {

using Element = StoredMatrix::Element;

/// Expects that rows of `matrix` are read alike as numbers and, less `shift`, as integers.
void expectIntegers(const StoredMatrix &matrix, int shift) {
  constexpr int64_t first = 1;
  int64_t count = matrix.rows - first;
  std::vector<float> numbers(static_cast<size_t>(count * matrix.columns));
  std::vector<int8_t> integers(numbers.size());
  matrix.read(first, count, numbers.data());
  matrix.readIntegers(first, count, shift, integers.data());
  for (size_t i = 0; i < numbers.size(); ++i)
    ASSERT_EQ(static_cast<float>(integers[i] + shift), numbers[i]) << i;
}

TEST(StoredMatrix, ReadsIntegers) {
  constexpr int64_t rows = 5, words = 8;
  std::vector<std::byte> data(size_t(rows * words * 4));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(i * 151 + i / 7);
  for (int64_t columns : {32, 37})
    for (int bits : {3, 4}) {
      StoredMatrix codes{.data = data,
                         .rows = rows,
                         .columns = columns,
                         .element = Element::Bits,
                         .rowStride = words,
                         .bits = bits,
                         .offset = 1 << (bits - 1)};
      expectIntegers(codes, 0);
      codes.offset = 0;
      expectIntegers(codes, 1 << (bits - 1));
    }
  constexpr uint8_t order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  StoredMatrix codes{.data = data,
                     .rows = rows,
                     .columns = 16,
                     .element = Element::Bits,
                     .rowStride = words,
                     .bits = 4,
                     .values = &twiceE2M1};
  expectIntegers(codes, 0);
  codes.order = order;
  expectIntegers(codes, 0);
  StoredMatrix transposed{.data = data,
                          .rows = rows,
                          .columns = 9,
                          .element = Element::I8,
                          .rowStride = 1,
                          .columnStride = rows};
  expectIntegers(transposed, 0);
}

} // namespace
