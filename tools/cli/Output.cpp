#include "tools/cli/Output.h"
#include "tools/cli/OneLine.h"
#include "tools/cli/RunOnRanks.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

using namespace sinter;
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

Expected<void> sinter::cli::flushOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  return fail("standard output", "cannot be written", "make room for it");
}

static int64_t nowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

Observer Terminal::observe() {
  Observer observer;
  observer.onProgress = [this](std::string_view work, uint64_t done, uint64_t total) {
    advance(work, done, total);
  };
  observer.onNote = [](const std::string &text) {
    std::fprintf(stderr, "sinter: note: %s\n", onOneLine(showFlags(text)).c_str());
  };
  observer.onWarning = [](const Error &warning) {
    std::fprintf(stderr, "%ssinter: warning: %s\n", rankPrefix().c_str(),
                 onOneLine(showFlags(warning.message())).c_str());
  };
  return observer;
}

void Terminal::advance(std::string_view work, uint64_t done, uint64_t total) {
  bool last = total != 0 && done == total;
  if (what != work) {
    if (last)
      return;
    what = work;
    startNs = nowNs();
    drawnNs = 0;
    return;
  }
  draw(done, total, last);
  if (last)
    what.clear();
}

void Terminal::draw(uint64_t done, uint64_t total, bool last) {
  constexpr int64_t kPatienceNs = 500'000'000, kRedrawNs = 100'000'000;
  static const bool terminal = isatty(STDERR_FILENO);
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
