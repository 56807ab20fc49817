//===- TouchedLines.h - The memory that a launch has used -------*- C++ -*-===//
#pragma once

#include "test/simt/Report.h"

namespace sinter::simt {

/// Lines of 64 bytes of global memory that a launch reads or writes.
class TouchedLines {
public:
  void clear();
  /// Bytes of global memory are accessed.
  void add(const void *address, size_t bytes, bool writes);
  /// What was added since it was clear: ranges of whole lines, those that are written apart.
  std::vector<Touched> ranges() const;

private:
  enum Mark : uint8_t { Read = 1, Written = 2 };
  static constexpr size_t lineBytes = 64;

  uint8_t *marks = nullptr; ///< of each line
  mutable std::vector<size_t> lines;
};

} // namespace sinter::simt
