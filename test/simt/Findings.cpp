//===- Findings.cpp - The findings of a launch as they come ---------------===//
#include "test/simt/Findings.h"

#include "test/simt/Symbolizer.h"

using namespace sinter::simt;

void Findings::clear() {
  known.clear();
  entries.clear();
}

bool Findings::isNew(Defect defect, const void *code) {
  auto found = known.find({defect, code});
  if (found != known.end()) {
    ++entries[found->second].finding.times;
    return false;
  }
  return entries.size() < most;
}

void Findings::add(Defect defect, const void *code, unsigned block, unsigned thread,
                   std::string text) {
  if (!isNew(defect, code))
    return;
  known[{defect, code}] = entries.size();
  entries.push_back({{defect, block, thread, std::move(text), "", 1}, code, nullptr});
}

void Findings::addMeeting(const void *code, const void *other, unsigned block, unsigned thread,
                          std::string text) {
  if (!isNew(Defect::Divergence, code))
    return;
  add(Defect::Divergence, code, block, thread, std::move(text));
  entries.back().other = other;
}

std::vector<Finding> Findings::resolve() const {
  std::vector<Finding> findings;
  for (const Entry &entry : entries) {
    Finding finding = entry.finding;
    finding.where = entry.code ? sourcePlace(entry.code) : "";
    if (entry.other) {
      std::string other = sourcePlace(entry.other);
      if (other == finding.where)
        continue;
      finding.text += " at " + other;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}
