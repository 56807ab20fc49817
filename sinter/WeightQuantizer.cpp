#include "sinter/WeightQuantizer.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include <algorithm>
#include <cmath>

using namespace sinter;

static float getLargest(const WeightEncoding &encoding) {
  return encoding.isFloat ? largestE4M3 : static_cast<float>((1 << (encoding.bits - 1)) - 1);
}

/// A scale as it is stored. Weights of which the scale would be 0 become 0 with any.
static float roundScale(float scale, DType type) {
  if (type == DType::BF16)
    scale = bf16ToFloat(floatToBf16(scale));
  if (type == DType::F16)
    scale = std::min(f16ToFloat(floatToF16(scale)), 65504.0f);
  return scale > 0 ? scale : 1;
}

/// The nearest whole number, ties to even, within [least, most]. @pre both are below 2^22
static SINTER_INLINE float roundWithin(float value, float least, float most) {
  constexpr float kShift = 0x1.8p23f; // has no bits left for a fraction
  value = value < least ? least : value > most ? most : value;
  return (value + kShift) - kShift;
}

static SINTER_INLINE float squareError(float weight, float scale, float inverse, float largest) {
  float difference = weight - scale * roundWithin(weight * inverse, -largest - 1, largest);
  return difference * difference;
}

/// The sum of (w - w')^2.
SINTER_VECTOR_CLONES
static float sumErrors(const float *weights, int64_t count, float scale, float largest) {
  constexpr int64_t kLanes = 16;
  float sums[kLanes] = {};
  float inverse = 1 / scale;
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += squareError(weights[i + lane], scale, inverse, largest);
  for (int64_t half = kLanes / 2; half != 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      sums[lane] += sums[lane + half];
  float sum = sums[0];
  for (int64_t i = whole; i < count; ++i)
    sum += squareError(weights[i], scale, inverse, largest);
  return sum;
}

static float findMax(std::span<const float> weights) {
  float most = 0;
  for (float weight : weights)
    most = std::max(most, std::fabs(weight));
  return most;
}

static float findPercentile(std::span<const float> weights) {
  constexpr double kPart = 0.999;
  std::vector<float> sizes(weights.size());
  std::ranges::transform(weights, sizes.begin(), [](float weight) { return std::fabs(weight); });
  auto at = sizes.begin() + static_cast<int64_t>(kPart * double(sizes.size() - 1) + 0.5);
  std::ranges::nth_element(sizes, at);
  return *at;
}

float sinter::chooseScale(std::span<const float> weights, const WeightEncoding &encoding) {
  float largest = getLargest(encoding);
  if (encoding.clip == ClipMethod::Percentile)
    return roundScale(findPercentile(weights) / largest, encoding.scaleType);
  float whole = findMax(weights) / largest;
  float best = roundScale(whole, encoding.scaleType);
  if (encoding.clip == ClipMethod::Max || encoding.isFloat)
    return best;
  constexpr int kParts = 64;
  float least = HUGE_VALF;
  for (int part = kParts; part >= kParts / 2; --part) {
    float scale = roundScale(whole * float(part) / kParts, encoding.scaleType);
    float error = sumErrors(weights.data(), static_cast<int64_t>(weights.size()), scale, largest);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

int8_t sinter::encodeWeight(float weight, float scale, const WeightEncoding &encoding) {
  if (encoding.isFloat)
    return static_cast<int8_t>(floatToE4M3(weight / scale));
  float largest = getLargest(encoding);
  return static_cast<int8_t>(roundWithin(weight / scale, -largest - 1, largest));
}

float sinter::decodeWeight(int8_t code, const WeightEncoding &encoding) {
  return encoding.isFloat ? e4m3ToFloat(static_cast<uint8_t>(code)) : static_cast<float>(code);
}

EncodedMatrix sinter::encodeMatrix(runtime::ThreadPool &pool, std::span<const float> weights,
                                   int64_t rows, int64_t columns, const WeightEncoding &encoding) {
  int64_t groups = encoding.groups(columns), size = encoding.groupSize(columns);
  int64_t scaleRows = encoding.scaleRows(rows);
  EncodedMatrix matrix{rows, columns, std::vector<int8_t>(weights.size()),
                       std::vector<float>(static_cast<size_t>(scaleRows * groups))};
  auto count = static_cast<uint64_t>(scaleRows);
  pool.run(count, pool.balancedChunk(count), [&](uint64_t begin, uint64_t end) {
    std::vector<float> block;
    for (auto i = static_cast<int64_t>(begin) * groups; i < static_cast<int64_t>(end) * groups;
         ++i) {
      int64_t firstRow = i / groups * encoding.outputs, first = i % groups * size;
      int64_t lastRow = std::min(firstRow + encoding.outputs, rows);
      int64_t width = std::min(size, columns - first);
      block.clear();
      for (int64_t row = firstRow; row < lastRow; ++row) {
        auto part = weights.subspan(static_cast<size_t>(row * columns + first), width);
        block.insert(block.end(), part.begin(), part.end());
      }
      float scale = matrix.scales[static_cast<size_t>(i)] = chooseScale(block, encoding);
      for (size_t at = 0; float weight : block) {
        int64_t row = firstRow + static_cast<int64_t>(at) / width;
        matrix.codes[row * columns + first + static_cast<int64_t>(at) % width] =
            encodeWeight(weight, scale, encoding);
        ++at;
      }
    }
  });
  return matrix;
}

std::vector<float> sinter::decodeMatrix(const EncodedMatrix &matrix,
                                        const WeightEncoding &encoding) {
  std::vector<float> weights(matrix.codes.size());
  int64_t size = encoding.groupSize(matrix.columns), groups = encoding.groups(matrix.columns);
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column) {
      auto i = static_cast<size_t>(row * matrix.columns + column);
      auto at = static_cast<size_t>(row / encoding.outputs * groups + column / size);
      weights[i] = decodeWeight(matrix.codes[i], encoding) * matrix.scales[at];
    }
  return weights;
}

std::vector<uint32_t> sinter::packCodes(const EncodedMatrix &matrix, int bits) {
  int64_t inWord = 32 / bits, words = (matrix.columns + inWord - 1) / inWord;
  uint32_t mask = (1u << bits) - 1, offset = 1u << (bits - 1);
  std::vector<uint32_t> packed(static_cast<size_t>(matrix.rows * words));
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column) {
      auto code = static_cast<uint32_t>(matrix.codes[row * matrix.columns + column]);
      packed[row * words + column / inWord] |= ((code + offset) & mask) << (column % inWord * bits);
    }
  return packed;
}
