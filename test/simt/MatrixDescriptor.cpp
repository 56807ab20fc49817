//===- MatrixDescriptor.cpp - Where wgmma finds a matrix ------------------===//
#include "test/simt/MatrixDescriptor.h"

using namespace sinter::simt;

std::string MatrixDescriptor::whyInvalid(Major major) const {
  constexpr unsigned swizzleOf128Bytes = 1;
  if (field(14, 2) || field(30, 2) || field(46, 3) || field(52, 10))
    return "has bits set that mean nothing";
  if (field(62, 2) != swizzleOf128Bytes)
    return "has another layout than a swizzle of 128 bytes";
  if (field(49, 3) || start() / 128 % 8 != 0 || stride() % 1024 != 0)
    return "has atoms that do not begin at multiples of 1024 bytes";
  if (start() % (major == Major::K ? 32 : 128) != 0)
    return "begins within 16 elements";
  return "";
}

uint32_t MatrixDescriptor::chunk(Major major, unsigned mn, unsigned k) const {
  uint32_t linear = major == Major::K
                        ? mn / 8 * stride() + mn % 8 * 128 + k * 2
                        : mn / 64 * leading() + k / 8 * stride() + k % 8 * 128 + mn % 64 * 2;
  uint32_t address = start() + linear;
  return address ^ (address >> 7 & 7) << 4;
}
