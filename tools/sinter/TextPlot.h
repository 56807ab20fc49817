//===- TextPlot.h - Curves in a terminal ------------------------*- C++ -*-===//
#pragma once

#include "tools/sinter/Report.h"

namespace sinter::cli {

/// A chart of plain characters: the first curve's points are 'a', the second's 'b', and '*' where
/// several meet. A point is the mean of all in its column. Losses fall most at the beginning, where
/// designs differ least: what the first eighth has above the rest is drawn at the upper edge. Empty
/// where there is nothing to draw.
std::string renderTextPlot(const Chart &chart);

} // namespace sinter::cli
