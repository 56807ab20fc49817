//===- MatrixDescriptor.h - Where wgmma finds a matrix ----------*- C++ -*-===//
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout". A matrix of 16-bit elements
// in shared memory is told by 64 bits:
//
//   0 to 13    its address / 16           16 to 29   leading dimension byte offset / 16
//   32 to 45   stride dimension byte offset / 16
//   49 to 51   base offset                62, 63     layout: 1 is a swizzle of 128 bytes
//
// Of the layouts only that one is known here. With it a matrix is made of atoms of 1024 bytes, 8
// rows of 128 bytes, and chunk c (16 bytes) of row r of an atom stands where chunk c ^ r would: the
// bits 4 to 6 of its address are XORed with the bits 7 to 9. Rows are along k, which is 16 columns
// of them ("K-major"): atoms are on top of each other, `stride` bytes apart. Or they are along m or
// n ("MN-major"): an atom has 64 of these and 8 of k, the next 8 of k are `stride` bytes on, the
// next 64 of m or n `leading` bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace sinter::simt {

/// Which index of a matrix neighbours in memory differ in.
enum class Major { K, MN };

class MatrixDescriptor {
public:
  explicit MatrixDescriptor(uint64_t bits) : bits(bits) {}

  /// Why no device could read a matrix so; empty if it could.
  std::string whyInvalid(Major major) const;

  /// The address in shared memory of eight elements, (mn, k) and those after it along the major
  /// index, of which that of (mn, k) is a multiple of 8.
  uint32_t chunk(Major major, unsigned mn, unsigned k) const;

  /// Calls `visit(mn, k, address)` for every chunk of mn in [begin, end) and k in [0, 16).
  template <typename Visit>
  void forEachChunk(Major major, unsigned begin, unsigned end, Visit visit) const {
    unsigned stepMn = major == Major::MN ? 8 : 1, stepK = major == Major::K ? 8 : 1;
    for (unsigned mn = begin; mn < end; mn += stepMn)
      for (unsigned k = 0; k < 16; k += stepK)
        visit(mn, k, chunk(major, mn, k));
  }

private:
  uint32_t field(unsigned first, unsigned count) const {
    return uint32_t(bits >> first & ((1u << count) - 1));
  }
  uint32_t start() const { return field(0, 14) << 4; }
  uint32_t leading() const { return field(16, 14) << 4; }
  uint32_t stride() const { return field(32, 14) << 4; }

  uint64_t bits;
};

} // namespace sinter::simt
