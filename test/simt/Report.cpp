//===- Report.cpp - What was wrong with a launch --------------------------===//
#include "test/simt/Report.h"

#include <algorithm>

using namespace sinter::simt;

std::string_view sinter::simt::name(Defect defect) {
  switch (defect) {
  case Defect::Race:
    return "race";
  case Defect::MissingWait:
    return "missing wait";
  case Defect::Uninitialised:
    return "uninitialised read";
  case Defect::OutOfBounds:
    return "out of bounds";
  case Defect::Misaligned:
    return "misaligned access";
  case Defect::Divergence:
    return "divergence";
  case Defect::Deadlock:
    return "deadlock";
  case Defect::InvalidOperand:
    return "invalid operand";
  case Defect::InvalidLaunch:
    return "invalid launch";
  }
  return "";
}

std::string Finding::message() const {
  std::string line = std::string(name(defect)) + ": block " + std::to_string(block) + ", thread " +
                     std::to_string(thread) + " " + text;
  if (!where.empty())
    line += ", at " + where;
  if (times > 1)
    line += " (" + std::to_string(times) + " times)";
  return line;
}

bool Report::has(Defect defect) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding &finding) { return finding.defect == defect; });
}

std::string Report::text() const {
  std::string lines;
  for (const Finding &finding : findings)
    lines += kernel + ": " + finding.message() + "\n";
  return lines;
}

std::ostream &sinter::simt::operator<<(std::ostream &out, const Report &report) {
  return out << report.text();
}
