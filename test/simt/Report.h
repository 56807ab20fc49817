//===- Report.h - What was wrong with a launch ------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::simt {

enum class Defect {
  Race,           ///< two accesses, one of them a write, with nothing that orders them
  MissingWait,    ///< an access to what a cp.async, wgmma or a kernel before is still to use
  Uninitialised,  ///< a read of what nobody wrote
  OutOfBounds,    ///< an access outside of every allocation
  Misaligned,     ///< an address that is no multiple of the access's size
  Divergence,     ///< threads that must meet at one barrier or warp operation do not
  Deadlock,       ///< no thread can go on
  InvalidOperand, ///< a matrix descriptor that no device can use
  InvalidLaunch   ///< a launch that no device would accept
};

/// "race", "missing wait", ...
std::string_view name(Defect defect);

/// One defect at one place of the source; the block and thread are those of the first time.
struct Finding {
  Defect defect;
  unsigned block;
  unsigned thread;
  std::string text;  ///< what the thread did
  std::string where; ///< "kernel.cu:12 (blockSum), called from kernel.cu:40 (norm)"
  uint64_t times;    ///< how often it happened there

  /// All of it in one line.
  std::string message() const;
};

/// A range of global memory that a launch has read, or written.
struct Touched {
  const void *begin;
  size_t bytes;
  bool writes;
};

/// What came of a launch.
struct Report {
  std::string kernel;
  std::vector<Finding> findings;
  std::vector<Touched> touched; ///< by a kernel compiled for checked mode, in lines of 64 bytes
  uint64_t blocks = 0;
  uint64_t switches = 0; ///< from thread to thread

  bool clean() const { return findings.empty(); }
  /// Whether a defect of this kind was found.
  bool has(Defect defect) const;
  /// A line for each finding.
  std::string text() const;
};

std::ostream &operator<<(std::ostream &out, const Report &report);

} // namespace sinter::simt
