#include "tools/sinter/TextPlot.h"
#include "tools/cli/Output.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace sinter;
using namespace sinter::cli;

static constexpr size_t kColumns = 72, kRows = 16, kScale = 8;

/// The extent of what is drawn.
static void widen(std::pair<double, double> &range, double value) {
  range = {std::min(range.first, value), std::max(range.second, value)};
}

/// Where `value` lies among `count` cells over a range.
static size_t place(double value, std::pair<double, double> range, size_t count) {
  double size = range.second - range.first;
  double part = size > 0 ? (value - range.first) / size : 0;
  return static_cast<size_t>(std::lround(std::clamp(part, 0.0, 1.0) * double(count - 1)));
}

/// The mean of a curve's points in each column, NaN where there are none.
static std::vector<double> takeMeans(const Curve &curve, std::pair<double, double> across) {
  std::vector<double> sums(kColumns, 0), counts(kColumns, 0);
  for (auto [x, y] : curve.points)
    if (std::isfinite(y)) {
      size_t column = place(x, across, kColumns);
      sums[column] += y;
      counts[column] += 1;
    }
  std::ranges::transform(sums, counts, sums.begin(), std::divides<>()); // 0 / 0 is NaN
  return sums;
}

/// The label of a row's left edge, or of none.
static std::string makeEdge(const std::string &label) {
  return std::string(kScale - std::min(kScale, label.size()), ' ') + label + " |";
}

std::string sinter::cli::renderTextPlot(const Chart &chart) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::pair<double, double> across = {kFar, -kFar}, high = {kFar, -kFar};
  for (const Curve &curve : chart.curves)
    for (auto [x, y] : curve.points)
      widen(across, x);
  std::vector<std::vector<double>> means;
  for (const Curve &curve : chart.curves) {
    means.push_back(takeMeans(curve, across));
    for (size_t column = kColumns / 8; column < kColumns; ++column)
      if (double mean = means.back()[column]; std::isfinite(mean))
        widen(high, mean);
    for (double mean : means.back())
      if (mean < high.first)
        high.first = mean;
  }
  if (!std::isfinite(high.first))
    return "";
  high.second = std::max(high.first, high.second);
  std::vector<std::string> rows(kRows, std::string(kColumns, ' '));
  for (size_t i = 0; i < means.size(); ++i)
    for (size_t column = 0; column < kColumns; ++column)
      if (std::isfinite(means[i][column])) {
        char &cell = rows[kRows - 1 - place(means[i][column], high, kRows)][column];
        cell = cell == ' ' ? static_cast<char>('a' + i % 26) : '*';
      }
  std::string text = chart.title + " by " + chart.across + "\n";
  for (size_t i = 0; i < kRows; ++i) {
    std::string label;
    if (i == 0 || i + 1 == kRows)
      label = formatNumber(i == 0 ? high.second : high.first, 3);
    text += makeEdge(label) + rows[i].substr(0, rows[i].find_last_not_of(' ') + 1) + "\n";
  }
  std::string first = formatNumber(across.first, 0), last = formatNumber(across.second, 0);
  text += std::string(kScale + 1, ' ') + "+" + std::string(kColumns, '-') + "\n";
  text += std::string(kScale + 2, ' ') + first +
          std::string(kColumns - std::min(kColumns, first.size() + last.size()), ' ') + last + "\n";
  for (size_t i = 0; i < chart.curves.size(); ++i)
    text += (i ? "  " : "") + std::string(1, static_cast<char>('a' + i % 26)) + " " +
            chart.curves[i].name;
  return text + "\n";
}
