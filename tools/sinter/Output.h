//===- Output.h - Tables, numbers and progress for people -------*- C++ -*-===//
#pragma once

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

/// "1.50 GiB", "12.0 KiB", "312 B".
std::string formatBytes(uint64_t bytes);
/// "604288 bytes (590.12 KiB)": to be read, and to be given back to an option.
std::string formatExactBytes(uint64_t bytes);
/// Fixed-point with `digits` decimals.
std::string formatNumber(double value, int digits = 2);

/// Prints a JSON object on one line of standard output. Bytes that are not UTF-8, as paths may hold
/// them, become U+FFFD.
template <typename Json> void printJson(const Json &object) {
  std::printf("%s\n", object.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

/// Reports long work on standard error: a bar that redraws itself on a terminal, else one line at
/// the start and one at the end. Nothing is drawn in the first half second.
class Progress {
public:
  /// @param total steps, or 0 where it is not known
  Progress(std::string what, uint64_t total);
  ~Progress();
  void advance(uint64_t done);

private:
  void draw(bool last);

  std::string what;
  uint64_t total, done = 0;
  int64_t startNs, drawnNs = 0;
  bool terminal;
};

} // namespace sinter::cli
