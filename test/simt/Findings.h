//===- Findings.h - The findings of a launch as they come -------*- C++ -*-===//
#pragma once

#include "test/simt/Report.h"

#include <map>

namespace sinter::simt {

/// Collects what checks find. A defect in a loop is one finding: they are told apart by kind and by
/// the instruction that was at fault.
class Findings {
public:
  void clear();

  /// Whether text for a finding at this place would be the first of its kind; counts it if not.
  bool isNew(Defect defect, const void *code);
  void add(Defect defect, const void *code, unsigned block, unsigned thread, std::string text);

  /// Two threads met at one barrier from different instructions: a finding unless both turn out to
  /// stand for the same place of the source, which a compiler may have copied.
  void addMeeting(const void *code, const void *other, unsigned block, unsigned thread,
                  std::string text);

  /// The findings with places of the source in place of addresses.
  std::vector<Finding> resolve() const;

private:
  struct Entry {
    Finding finding;
    const void *code;
    const void *other; // of a meeting
  };

  // More than these are the consequences of the same few mistakes.
  static constexpr size_t most = 32;

  std::map<std::pair<Defect, const void *>, size_t> known;
  std::vector<Entry> entries;
};

} // namespace sinter::simt
