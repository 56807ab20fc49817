// Codes by GPTQ against its definition: after each column the best change of those left, by the
// inverse of what is left of H (optimal brain quantization), computed anew for each column.

#include "sinter/Gptq.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sinter;

namespace {

using Matrix = std::vector<double>;

/// The inverse of a symmetric positive matrix by Gauss and Jordan.
Matrix invert(Matrix a, int64_t n) {
  Matrix inverse(n * n);
  for (int64_t i = 0; i < n; ++i)
    inverse[i * n + i] = 1;
  for (int64_t i = 0; i < n; ++i) {
    double pivot = a[i * n + i];
    for (int64_t k = 0; k < n; ++k) {
      a[i * n + k] /= pivot;
      inverse[i * n + k] /= pivot;
    }
    for (int64_t j = 0; j < n; ++j) {
      double factor = j == i ? 0 : a[j * n + i];
      for (int64_t k = 0; k < n; ++k) {
        a[j * n + k] -= factor * a[i * n + k];
        inverse[j * n + k] -= factor * inverse[i * n + k];
      }
    }
  }
  return inverse;
}

struct Problem {
  int64_t rows = 5, columns = 24, samples = 40;
  std::vector<float> weights;
  Matrix inputs, gram;

  explicit Problem(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    weights.resize(rows * columns);
    for (float &weight : weights)
      weight = static_cast<float>(normal(random));
    inputs.resize(samples * columns);
    for (int64_t i = 0; i < samples; ++i) {
      double common = normal(random); // inputs that go together
      for (int64_t j = 0; j < columns; ++j)
        inputs[i * columns + j] = common + 0.5 * normal(random);
    }
    gram.resize(columns * columns);
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t k = 0; k < samples; ++k)
          gram[i * columns + j] += inputs[k * columns + i] * inputs[k * columns + j];
  }

  double outputError(const std::vector<float> &decoded) const {
    double error = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < samples; ++k) {
        double difference = 0;
        for (int64_t j = 0; j < columns; ++j)
          difference +=
              inputs[k * columns + j] * (weights[row * columns + j] - decoded[row * columns + j]);
        error += difference * difference;
      }
    return error;
  }
};

TEST(Gptq, IsWhatItsDefinitionMakes) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    Problem problem(seed);
    int64_t n = problem.columns;
    WeightEncoding encoding{.bits = 4, .group = 8};
    runtime::ThreadPool pool(2);
    EncodedMatrix matrix =
        encodeByGptq(pool, problem.weights, problem.rows, n, problem.gram, encoding);

    Matrix hessian = problem.gram;
    double mean = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += problem.gram[i * n + i] / double(n);
    for (int64_t i = 0; i < n; ++i)
      hessian[i * n + i] += 0.01 * mean;
    std::vector<float> weights = problem.weights;
    for (int64_t j = 0; j < n; ++j) {
      int64_t left = n - j;
      Matrix rest(left * left);
      for (int64_t a = 0; a < left; ++a)
        for (int64_t b = 0; b < left; ++b)
          rest[a * left + b] = hessian[(j + a) * n + j + b];
      Matrix inverse = invert(rest, left);
      for (int64_t row = 0; row < problem.rows; ++row) {
        float *weight = &weights[row * n + j];
        if (j % 8 == 0) {
          EXPECT_NEAR(matrix.scales[row * 3 + j / 8],
                      chooseScale(std::span<const float>(weight, 8), encoding), 1e-4);
        }
        float scale = matrix.scales[row * 3 + j / 8];
        int8_t code = encodeWeight(*weight, scale, encoding);
        EXPECT_EQ(matrix.codes[row * n + j], code) << "row " << row << ", column " << j;
        double error = (*weight - code * scale) / inverse[0];
        for (int64_t k = 1; k < left; ++k)
          weight[k] -= static_cast<float>(error * inverse[k]);
      }
    }
  }
}

TEST(Gptq, LosesLessOfTheOutputsThanRounding) {
  Problem problem(7);
  WeightEncoding encoding{.bits = 4, .group = 8};
  runtime::ThreadPool pool(1);
  std::vector<float> byGptq = decodeMatrix(
      encodeByGptq(pool, problem.weights, problem.rows, problem.columns, problem.gram, encoding),
      encoding);
  std::vector<float> rounded = decodeMatrix(
      encodeMatrix(pool, problem.weights, problem.rows, problem.columns, encoding), encoding);
  EXPECT_LT(problem.outputError(byGptq), 0.5 * problem.outputError(rounded));
}

TEST(Gptq, WithoutInputsItRounds) {
  Problem problem(8);
  WeightEncoding encoding{.bits = 4, .group = 8};
  runtime::ThreadPool pool(1);
  std::vector<double> nothing(problem.gram.size());
  EncodedMatrix byGptq =
      encodeByGptq(pool, problem.weights, problem.rows, problem.columns, nothing, encoding);
  EncodedMatrix rounded =
      encodeMatrix(pool, problem.weights, problem.rows, problem.columns, encoding);
  EXPECT_EQ(byGptq.codes, rounded.codes);
  EXPECT_EQ(byGptq.scales, rounded.scales);
}

} // namespace
