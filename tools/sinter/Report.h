//===- Report.h - A page of curves and tables -------------------*- C++ -*-===//
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sinter::cli {

/// A line of a chart.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool marked = false; ///< few points, each to be seen
};

struct Chart {
  std::string title;
  std::string across; ///< what x counts: "step"
  std::string unit;   ///< of y; "B" is shown as KiB, MiB, ...
  std::vector<Curve> curves;
};

struct Section {
  std::string title;
  std::vector<std::string> heading; ///< empty: rows of a name and a value
  std::vector<std::vector<std::string>> rows;
};

struct Report {
  std::string title, summary;
  std::vector<Chart> charts;
  std::vector<Section> sections;
};

/// A long curve with fewer points, each the mean of some that follow each other.
Curve thinOut(Curve curve);

/// One self-contained page: no network, no other files.
std::string renderReport(const Report &report);

} // namespace sinter::cli
