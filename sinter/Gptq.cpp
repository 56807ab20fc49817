#include "sinter/Gptq.h"
#include "runtime/Base/VectorClones.h"
#include <algorithm>
#include <cmath>

using namespace sinter;

SINTER_VECTOR_CLONES
static double dot(const double *a, const double *b, int64_t count) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double sum = 0;
  for (double lane : sums)
    sum += lane;
  for (int64_t i = whole; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

SINTER_VECTOR_CLONES
static void subtractMultiple(float *values, const float *row, float factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    values[i] -= factor * row[i];
}

/// H from X^T X.
static std::vector<double> makeHessian(std::span<const double> gram, int64_t n) {
  constexpr double kDamping = 0.01;
  std::vector<double> hessian(gram.begin(), gram.end());
  double mean = 0;
  for (int64_t i = 0; i < n; ++i)
    mean += gram[i * n + i] / double(n);
  for (int64_t i = 0; i < n; ++i)
    hessian[i * n + i] += mean > 0 ? kDamping * mean : 1;
  return hessian;
}

/// Makes of H the upper triangular R of which H = R R^T, from the last column on.
static void factorize(runtime::ThreadPool &pool, std::vector<double> &h, int64_t n) {
  for (int64_t j = n - 1; j >= 0; --j) {
    const double *row = &h[j * n + j + 1];
    double pivot = std::sqrt(h[j * n + j] - dot(row, row, n - j - 1));
    h[j * n + j] = pivot;
    auto count = static_cast<uint64_t>(j);
    pool.run(count, pool.balancedChunk(count), [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i)
        h[i * n + j] = (h[i * n + j] - dot(&h[i * n + j + 1], row, n - j - 1)) / pivot;
    });
  }
}

/// U = R^-1, upper triangular: H^-1 = (R R^T)^-1 = U^T U.
static std::vector<float> invert(runtime::ThreadPool &pool, const std::vector<double> &r,
                                 int64_t n) {
  std::vector<float> inverse(static_cast<size_t>(n * n));
  pool.run(static_cast<uint64_t>(n), 1, [&](uint64_t begin, uint64_t end) {
    std::vector<double> column(static_cast<size_t>(n));
    for (auto c = static_cast<int64_t>(begin); c < static_cast<int64_t>(end); ++c) {
      column[c] = 1 / r[c * n + c];
      for (int64_t i = c - 1; i >= 0; --i)
        column[i] = -dot(&r[i * n + i + 1], &column[i + 1], c - i) / r[i * n + i];
      for (int64_t i = 0; i <= c; ++i)
        inverse[i * n + c] = static_cast<float>(column[i]);
    }
  });
  return inverse;
}

EncodedMatrix sinter::encodeByGptq(runtime::ThreadPool &pool, std::vector<float> weights,
                                   int64_t rows, int64_t columns, std::span<const double> gram,
                                   const WeightEncoding &encoding) {
  std::vector<double> hessian = makeHessian(gram, columns);
  factorize(pool, hessian, columns);
  std::vector<float> inverse = invert(pool, hessian, columns);
  hessian = {};
  int64_t groups = encoding.groups(columns), size = encoding.groupSize(columns);
  EncodedMatrix matrix{rows, columns, std::vector<int8_t>(weights.size()),
                       std::vector<float>(static_cast<size_t>(rows * groups))};
  constexpr uint64_t kTogether = 16; // rows that read a row of U together
  pool.run(static_cast<uint64_t>(rows), kTogether, [&](uint64_t begin, uint64_t end) {
    for (int64_t j = 0; j < columns; ++j) {
      const float *u = &inverse[j * columns + j];
      for (uint64_t row = begin; row < end; ++row) {
        float *weight = &weights[row * columns + j];
        float &scale = matrix.scales[row * groups + j / size];
        if (j % size == 0)
          scale = chooseScale(std::span<const float>(weight, size), encoding);
        int8_t code = encodeWeight(*weight, scale, encoding);
        matrix.codes[row * columns + j] = code;
        float error = (*weight - decodeWeight(code, encoding) * scale) / u[0];
        subtractMultiple(weight + 1, u + 1, error, columns - j - 1);
      }
    }
  });
  return matrix;
}
