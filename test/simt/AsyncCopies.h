//===- AsyncCopies.h - The cp.async that a thread has under way -*- C++ -*-===//
//
// A copy takes place at the wait that demands it, which is as late as the device may do it. A
// kernel that reads before the wait finds the poison of shared memory instead of a value that on
// the device happens to have arrived.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace sinter::simt {

class AsyncCopies {
public:
  struct Copy {
    void *target;
    const void *source;
    unsigned bytes;  ///< of the target
    unsigned filled; ///< of these, those that come from the source; the rest become zero
  };

  void issue(const Copy &copy) { copies.push_back(copy); }
  /// What was issued since the last commit is a group.
  void commit() { ends.push_back(copies.size()); }

  /// Does the copies of all groups but the last `pending`, and tells of each.
  template <typename Done> void wait(size_t pending, Done done) {
    while (ends.size() - firstGroup > pending) {
      for (; firstCopy < ends[firstGroup]; ++firstCopy) {
        const Copy &copy = copies[firstCopy];
        memcpy(copy.target, copy.source, copy.filled);
        memset(static_cast<std::byte *>(copy.target) + copy.filled, 0, copy.bytes - copy.filled);
        done(copy);
      }
      ++firstGroup;
    }
    if (firstCopy == copies.size())
      clear();
  }

  void clear() {
    copies.clear();
    ends.clear();
    firstCopy = firstGroup = 0;
  }

private:
  std::vector<Copy> copies;
  std::vector<size_t> ends; // of the groups, in copies
  size_t firstCopy = 0, firstGroup = 0;
};

} // namespace sinter::simt
