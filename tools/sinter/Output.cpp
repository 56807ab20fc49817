#include "tools/sinter/Output.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

using namespace sinter::cli;

Table::Table(std::vector<std::string> heading, size_t leftColumns)
    : rows{std::move(heading)}, leftColumns(leftColumns) {}

void Table::addRow(std::vector<std::string> row) { rows.push_back(std::move(row)); }

void Table::print() const {
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string padding(widths[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (i < leftColumns ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string sinter::cli::formatNumber(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string sinter::cli::formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = bytes / 1024.0;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return formatNumber(value) + " " + units[unit];
}

std::string sinter::cli::formatExactBytes(uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + formatBytes(bytes) + ")";
}

static int64_t nowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

Progress::Progress(std::string what, uint64_t total)
    : what(std::move(what)), total(total), startNs(nowNs()), terminal(isatty(STDERR_FILENO)) {}

Progress::~Progress() { draw(/*last=*/true); }

void Progress::advance(uint64_t step) {
  done = step;
  draw(/*last=*/false);
}

void Progress::draw(bool last) {
  constexpr int64_t kPatienceNs = 500'000'000, kRedrawNs = 100'000'000;
  int64_t now = nowNs();
  if (now - startNs < kPatienceNs || (!last && drawnNs && (!terminal || now - drawnNs < kRedrawNs)))
    return;
  bool first = drawnNs == 0;
  drawnNs = now;
  double seconds = (now - startNs) * 1e-9;
  if (!terminal) {
    if (last)
      std::fprintf(stderr, "%s: done in %.1f s\n", what.c_str(), seconds);
    else if (first)
      std::fprintf(stderr, "%s ...\n", what.c_str());
    return;
  }
  constexpr int kWidth = 30;
  int filled = total ? static_cast<int>(kWidth * std::min<double>(1, double(done) / total)) : 0;
  std::string bar(filled, '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r%s [%s] %.1f s%s", what.c_str(), bar.c_str(), seconds, last ? "\n" : "");
  std::fflush(stderr);
}
