//===- Output.h - Tables, numbers and progress for people -------*- C++ -*-===//
#pragma once

#include "runtime/Base/ByteSize.h"
#include "runtime/Base/Json.h"
#include "sinter/Observer.h"
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::cli {

/// Rows of text under a heading, columns aligned: the first to the left, the others to the right
/// unless `leftColumns` says more.
class Table {
public:
  explicit Table(std::vector<std::string> heading, size_t leftColumns = 1);
  void addRow(std::vector<std::string> row);
  /// Prints to standard output.
  void print() const;

private:
  std::vector<std::vector<std::string>> rows;
  size_t leftColumns;
};

/// Fixed-point with `digits` decimals.
std::string formatNumber(double value, int digits = 2);

/// Prints a JSON object on one line of standard output. Bytes that are not UTF-8, as paths may hold
/// them, become U+FFFD.
template <typename Json> void printJson(const Json &object) {
  std::printf("%s\n", writeJson(object).c_str());
}

/// Hands what was printed to standard output on to the system. Fails where not all of it was taken,
/// as by a full disk.
Expected<void> flushOutput();

/// Shows on standard error what the library tells: notes, warnings, and long work as a bar that
/// redraws itself on a terminal, else as a line at the start and one at the end. Of work nothing is
/// drawn in the first half second.
class Terminal {
public:
  /// Callbacks that refer to this.
  Observer observe();

private:
  void advance(std::string_view work, uint64_t done, uint64_t total);
  void draw(uint64_t done, uint64_t total, bool last);

  std::string what; ///< empty: no work goes on
  int64_t startNs = 0, drawnNs = 0;
};

} // namespace sinter::cli
