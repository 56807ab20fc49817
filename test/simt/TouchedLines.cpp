//===- TouchedLines.cpp - The memory that a launch has used ---------------===//
#include "test/simt/TouchedLines.h"

#include "test/simt/Arena.h"

#include <algorithm>

using namespace sinter::simt;

void TouchedLines::clear() {
  if (!marks)
    marks = static_cast<uint8_t *>(reserveAddresses(Arena::maxSequence / lineBytes));
  for (size_t line : lines)
    marks[line] = 0;
  lines.clear();
}

void TouchedLines::add(const void *address, size_t bytes, bool writes) {
  size_t first = Arena::instance().offset(address);
  for (size_t line = first / lineBytes; line <= (first + bytes - 1) / lineBytes; ++line) {
    if (!marks[line])
      lines.push_back(line);
    marks[line] |= writes ? Written : Read;
  }
}

std::vector<Touched> TouchedLines::ranges() const {
  std::sort(lines.begin(), lines.end());
  std::vector<Touched> ranges;
  for (bool writes : {false, true}) {
    size_t next = 0; // the line behind the last range
    bool any = false;
    for (size_t line : lines) {
      if (bool(marks[line] & Written) != writes)
        continue;
      if (any && line == next)
        ranges.back().bytes += lineBytes;
      else
        ranges.push_back({Arena::instance().address(line * lineBytes), lineBytes, writes});
      next = line + 1;
      any = true;
    }
  }
  return ranges;
}
