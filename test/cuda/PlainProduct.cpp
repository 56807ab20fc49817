//===- PlainProduct.cpp - A matrix product in loops -----------------------===//
#include "test/cuda/PlainProduct.h"

#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

using namespace sinter;
using namespace sinter::fake;

namespace {

float read(Element element, const void *data, uint64_t at) {
  switch (element) {
  case Element::F32:
    return static_cast<const float *>(data)[at];
  case Element::Bf16:
    return bf16ToFloat(static_cast<const uint16_t *>(data)[at]);
  case Element::F16:
    return f16ToFloat(static_cast<const uint16_t *>(data)[at]);
  case Element::E4M3:
    return e4m3ToFloat(static_cast<const uint8_t *>(data)[at]);
  case Element::E5M2:
    return e5m2ToFloat(static_cast<const uint8_t *>(data)[at]);
  }
  return 0;
}

void write(Element element, void *data, uint64_t at, float value) {
  switch (element) {
  case Element::F32:
    static_cast<float *>(data)[at] = value;
    break;
  case Element::Bf16:
    static_cast<uint16_t *>(data)[at] = floatToBf16(value);
    break;
  case Element::F16:
    static_cast<uint16_t *>(data)[at] = floatToF16(value);
    break;
  case Element::E4M3:
    static_cast<uint8_t *>(data)[at] = floatToE4M3(value);
    break;
  case Element::E5M2:
    static_cast<uint8_t *>(data)[at] = floatToE5M2(value);
    break;
  }
}

/// To 10 bits of mantissa, to nearest, ties away from zero (PTX ISA, cvt.rna.tf32.f32).
float roundToTf32(float value) {
  if (!std::isfinite(value))
    return value;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

/// op(matrix) as f32, column after column.
std::vector<float> unpack(const Matrix &matrix, const void *data, bool transpose, bool tf32) {
  uint64_t rows = transpose ? matrix.columns : matrix.rows;
  std::vector<float> values(matrix.rows * matrix.columns);
  for (uint64_t column = 0; column < matrix.columns; ++column)
    for (uint64_t row = 0; row < matrix.rows; ++row) {
      float value = read(matrix.element, data, row + column * matrix.stride);
      values[transpose ? column + row * rows : row + column * rows] =
          tf32 ? roundToTf32(value) : value;
    }
  return values;
}

float activate(Activation activation, float x) {
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return x < 0 ? 0 : x; // NaN stays NaN
  case Activation::Gelu:
    return 0.5f * x * (1 + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

} // namespace

size_t sinter::fake::bytesOf(Element element) {
  return element == Element::F32 ? 4 : isFp8(element) ? 1 : 2;
}

bool Product::consistent() const {
  auto rows = [](const Matrix &matrix, bool transpose) {
    return transpose ? matrix.columns : matrix.rows;
  };
  auto columns = [](const Matrix &matrix, bool transpose) {
    return transpose ? matrix.rows : matrix.columns;
  };
  bool strides = true;
  for (const Matrix *matrix : {&a, &b, &add, &out})
    strides = strides && matrix->rows > 0 && matrix->columns > 0 && matrix->stride >= matrix->rows;
  return strides && rows(a, transposeA) == out.rows && columns(b, transposeB) == out.columns &&
         columns(a, transposeA) == rows(b, transposeB) && add.rows == out.rows &&
         add.columns == out.columns &&
         (a.element == b.element || (isFp8(a.element) && isFp8(b.element))) &&
         add.element == out.element;
}

void Product::run(const void *aData, const void *bData, const void *addData, const void *biasData,
                  void *outData, const float *aScales, const float *bScales) const {
  uint64_t rows = out.rows, inner = transposeA ? a.rows : a.columns;
  std::vector<float> left = unpack(a, aData, transposeA, tf32);
  std::vector<float> right = unpack(b, bData, transposeB, tf32);
  std::vector<float> sums(rows);
  for (uint64_t column = 0; column < out.columns; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (uint64_t k = 0; k < inner; ++k) {
      float factor = right[k + column * inner];
      const float *values = left.data() + k * rows;
      for (uint64_t row = 0; row < rows; ++row)
        sums[row] += values[row] * factor;
    }
    for (uint64_t row = 0; row < rows; ++row) {
      float value = alpha * sums[row];
      if (hasScales)
        value *= scalesAreOfRows ? aScales[row] * bScales[column] : aScales[0] * bScales[0];
      if (beta != 0)
        value += beta * read(add.element, addData, row + column * add.stride);
      if (hasBias)
        value += read(bias, biasData, row);
      write(out.element, outData, row + column * out.stride, activate(activation, value));
    }
  }
}
