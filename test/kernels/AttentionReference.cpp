#include "test/kernels/AttentionReference.h"
#include "dialects/Sinter/Philox.h"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter::kernels;

namespace {
/// The weights of one query.
class Row {
public:
  Row(const AttentionProblem &problem, const std::vector<double> &query,
      const std::vector<double> &key)
      : p(problem), query(query), key(key), weights(p.maxSequence), slopes(p.maxSequence),
        kept(p.maxSequence, 1.0) {}

  size_t queryAt(int b, int t, int h) const {
    return ((size_t(b) * p.length + t) * p.heads + h) * p.headSize;
  }
  size_t keyAt(int b, int j, int h) const {
    return ((size_t(b) * p.maxSequence + j) * p.keyHeads + h / (p.heads / p.keyHeads)) * p.headSize;
  }

  void compute(int b, int t, int h) {
    int position = t + (p.start.empty() ? 0 : p.start[b]);
    end = p.causal ? std::min(p.maxSequence, position + 1) : p.maxSequence;
    begin = p.window ? std::max(0, position - p.window + 1) : 0;
    if (!p.first.empty())
      begin = std::max(begin, p.first[size_t(b) * p.length + t]);
    double largest = -HUGE_VAL, sum = 0;
    for (int j = begin; j < end; ++j) {
      double score = 0;
      for (int d = 0; d < p.headSize; ++d)
        score += query[queryAt(b, t, h) + d] * key[keyAt(b, j, h) + d];
      score *= p.scale;
      slopes[j] = p.scale;
      if (p.softcap > 0) {
        double ratio = std::tanh(score / p.softcap);
        score = p.softcap * ratio;
        slopes[j] *= 1 - ratio * ratio;
      }
      if (!p.slopes.empty())
        score -= p.slopes[h] * (position - j);
      weights[j] = score;
      largest = std::max(largest, score);
    }
    for (int j = begin; j < end; ++j)
      sum += weights[j] = std::exp(weights[j] - largest);
    for (int j = begin; j < end; ++j) {
      weights[j] /= sum;
      auto [heads, queries, keys] =
          p.isPart() ? p.whole : std::array<int, 3>{p.heads, p.length, p.maxSequence};
      uint64_t number = ((uint64_t(b) * heads + h) * queries + t) * keys + j + p.firstWeight;
      if (p.dropout > 0)
        kept[j] = philox::isKept(number, p.stream, p.seed, p.dropout) ? 1 / (1 - p.dropout) : 0.0;
    }
    logsumexp = begin < end ? largest + std::log(sum) : -HUGE_VAL;
  }

  const AttentionProblem &p;
  const std::vector<double> &query, &key;
  int begin = 0, end = 0;
  /// Weights before dropout; derivatives of scores by q.k; what dropout multiplies weights with.
  std::vector<double> weights, slopes, kept;
  double logsumexp = 0;
};
} // namespace

template <typename Body> static void forEachQuery(const AttentionProblem &problem, Body body) {
  for (int b = 0; b < problem.batch; ++b)
    for (int t = 0; t < problem.length; ++t)
      for (int h = 0; h < problem.heads; ++h)
        body(b, t, h);
}

AttentionResult kernels::attend(const AttentionProblem &problem, const std::vector<double> &query,
                                const std::vector<double> &key, const std::vector<double> &value) {
  AttentionResult out{std::vector<double>(problem.querySize()), {}};
  Row row(problem, query, key);
  forEachQuery(problem, [&](int b, int t, int h) {
    row.compute(b, t, h);
    for (int j = row.begin; j < row.end; ++j)
      for (int d = 0; d < problem.headSize; ++d)
        out.result[row.queryAt(b, t, h) + d] +=
            row.weights[j] * row.kept[j] * value[row.keyAt(b, j, h) + d];
    out.logsumexp.push_back(row.logsumexp);
  });
  return out;
}

AttentionGradients kernels::differentiate(const AttentionProblem &problem,
                                          const std::vector<double> &query,
                                          const std::vector<double> &key,
                                          const std::vector<double> &value,
                                          const std::vector<double> &gradient) {
  AttentionGradients out{std::vector<double>(problem.querySize()),
                         std::vector<double>(problem.keySize()),
                         std::vector<double>(problem.keySize())};
  Row row(problem, query, key);
  std::vector<double> products(problem.maxSequence);
  forEachQuery(problem, [&](int b, int t, int h) {
    row.compute(b, t, h);
    size_t q = row.queryAt(b, t, h);
    double mean = 0;
    for (int j = row.begin; j < row.end; ++j) {
      products[j] = 0;
      for (int d = 0; d < problem.headSize; ++d)
        products[j] += row.kept[j] * gradient[q + d] * value[row.keyAt(b, j, h) + d];
      mean += row.weights[j] * products[j];
    }
    for (int j = row.begin; j < row.end; ++j) {
      double score = row.slopes[j] * row.weights[j] * (products[j] - mean);
      size_t k = row.keyAt(b, j, h);
      for (int d = 0; d < problem.headSize; ++d) {
        out.query[q + d] += score * key[k + d];
        out.key[k + d] += score * query[q + d];
        out.value[k + d] += row.weights[j] * row.kept[j] * gradient[q + d];
      }
    }
  });
  return out;
}
