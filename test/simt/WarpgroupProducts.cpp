//===- WarpgroupProducts.cpp - The wgmma that a thread has under way ------===//
//
// PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma.m64nNk16: warp w of a
// warpgroup has rows 16 w to 16 w + 15 of a and d, each 16 by 16 and 16 by 8 as mma.m16n8k16 has
// them (Tensor.cpp).
//
// How a tensor core rounds while it adds is not documented; here sums run over k in f32.
//
//===----------------------------------------------------------------------===//
#include "test/simt/WarpgroupProducts.h"

#include "runtime/Base/HalfFloat.h"

#include <algorithm>
#include <cstring>

using namespace sinter;
using namespace sinter::simt;

namespace {

constexpr size_t accumulatorBytes = WarpgroupProducts::accumulators * sizeof(float);

void poison(float *d) { memset(d, 0xFF, accumulatorBytes); }

bool isPoisoned(const float *d) {
  auto *bytes = reinterpret_cast<const unsigned char *>(d);
  return std::all_of(bytes, bytes + accumulatorBytes, [](unsigned char b) { return b == 0xFF; });
}

bool overlap(const void *a, size_t bytesOfA, const void *b, size_t bytesOfB) {
  auto *first = static_cast<const std::byte *>(a), *second = static_cast<const std::byte *>(b);
  return first < second + bytesOfB && second < first + bytesOfA;
}

/// 64 by 16 numbers, of a or of b transposed.
struct Matrix {
  float elements[64][16];

  void read(uint64_t descriptor, Major major, float (*widen)(uint16_t),
            const std::byte *(*memory)(uint32_t address)) {
    MatrixDescriptor(descriptor)
        .forEachChunk(major, 0, 64, [&](unsigned mn, unsigned k, uint32_t address) {
          uint16_t chunk[8];
          memcpy(chunk, memory(address), sizeof(chunk));
          for (unsigned i = 0; i < 8; ++i)
            (major == Major::K ? elements[mn][k + i] : elements[mn + i][k]) = widen(chunk[i]);
        });
  }
};

} // namespace

void WarpgroupProducts::name(const void *registers, size_t bytes) {
  auto *begin = static_cast<const std::byte *>(registers);
  named.push_back({begin, {begin, begin + bytes}});
}

bool WarpgroupProducts::isOrdered(const void *registers, size_t bytes) const {
  auto *begin = static_cast<const std::byte *>(registers);
  return std::any_of(named.begin(), named.end(), [&](const Named &range) {
    return begin >= range.begin && begin + bytes <= range.begin + range.bytes.size() &&
           memcmp(begin, range.bytes.data() + (begin - range.begin), bytes) == 0;
  });
}

WarpgroupProducts::Accumulator *WarpgroupProducts::find(const float *d) {
  auto found = std::find_if(busy.begin(), busy.end(),
                            [&](const Accumulator &other) { return other.d == d; });
  return found == busy.end() ? nullptr : &*found;
}

std::string WarpgroupProducts::issue(const Product &product) {
  std::string wrong;
  Accumulator *accumulator = find(product.d);
  if (!accumulator) {
    if (!isOrdered(product.d, accumulatorBytes))
      wrong = "gives wgmma accumulators that were not fenced, or were changed since";
    busy.push_back({product.d, 0, {}});
    accumulator = &busy.back();
    memcpy(accumulator->values.data(), product.d, accumulatorBytes);
    poison(product.d);
  } else if (!isPoisoned(product.d)) {
    wrong = "has changed accumulators of wgmma before it waited";
    poison(product.d);
  }
  ++accumulator->uses;
  products.push_back(product);
  if (product.aRegisters) {
    if (!isOrdered(product.aRegisters, sizeof(product.fragment)))
      wrong = "gives wgmma a fragment that was not fenced, or was changed since";
    memcpy(products.back().fragment.data(), product.aRegisters, sizeof(product.fragment));
  }
  return wrong;
}

void WarpgroupProducts::commit() { ends.push_back(products.size()); }

std::span<const Product> WarpgroupProducts::due(size_t pending) const {
  if (ends.size() <= pending)
    return {};
  return std::span(products).first(ends[ends.size() - 1 - pending]);
}

std::span<float> WarpgroupProducts::valuesOf(const Product &product) {
  return find(product.d)->values;
}

std::string WarpgroupProducts::complete(size_t pending) {
  std::string wrong;
  size_t done = due(pending).size();
  for (const Product &product : due(pending)) {
    Accumulator *accumulator = find(product.d);
    if (--accumulator->uses)
      continue;
    if (!isPoisoned(product.d))
      wrong = "has changed accumulators of wgmma before it waited";
    memcpy(product.d, accumulator->values.data(), accumulatorBytes);
    busy.erase(busy.begin() + (accumulator - busy.data()));
    // The products themselves may change what was fenced.
    for (Named &range : named)
      if (overlap(range.begin, range.bytes.size(), product.d, accumulatorBytes))
        memcpy(range.bytes.data(), range.begin, range.bytes.size());
  }
  products.erase(products.begin(), products.begin() + ptrdiff_t(done));
  ends.erase(ends.begin(), ends.end() - ptrdiff_t(std::min(pending, ends.size())));
  for (size_t &end : ends)
    end -= done;
  return wrong;
}

void WarpgroupProducts::clear() {
  products.clear();
  ends.clear();
  busy.clear();
  named.clear();
}

std::string WarpgroupProducts::whyInUse(const void *address, size_t bytes, bool isWrite) const {
  for (const Accumulator &accumulator : busy)
    if (overlap(address, bytes, accumulator.d, accumulatorBytes))
      return std::string(isWrite ? "writes" : "reads") +
             " an accumulator of wgmma that it has not waited for";
  for (const Product &product : products)
    if (isWrite && product.aRegisters &&
        overlap(address, bytes, product.aRegisters, sizeof(product.fragment)))
      return "writes a fragment that wgmma reads, for which it has not waited";
  return "";
}

void sinter::simt::multiply(std::span<WarpgroupProducts *const, warpgroupThreads> threads,
                            size_t index, size_t pending,
                            const std::byte *(*read)(uint32_t address)) {
  const Product &product = threads[0]->due(pending)[index];
  auto *widen = product.isF16 ? f16ToFloat : bf16ToFloat;
  Matrix a, b;
  b.read(product.b, product.bMajor, widen, read);
  if (!product.aRegisters)
    a.read(product.a, Major::K, widen, read);
  for (unsigned t = 0; t < warpgroupThreads && product.aRegisters; ++t) {
    const Product &own = threads[t]->due(pending)[index];
    for (unsigned i = 0; i < 4; ++i) {
      float *pair = &a.elements[t / 32 * 16 + t % 32 / 4 + i % 2 * 8][2 * (t % 4) + i / 2 * 8];
      pair[0] = widen(uint16_t(own.fragment[i]));
      pair[1] = widen(uint16_t(own.fragment[i] >> 16));
    }
  }
  for (unsigned t = 0; t < warpgroupThreads; ++t) {
    std::span<float> d = threads[t]->valuesOf(threads[t]->due(pending)[index]);
    for (unsigned i = 0; i < WarpgroupProducts::accumulators; ++i) {
      const float *row = a.elements[t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8];
      const float *column = b.elements[i / 4 * 8 + 2 * (t % 4) + i % 2];
      float sum = product.adds ? d[i] : 0.0f;
      for (unsigned k = 0; k < 16; ++k)
        sum += row[k] * column[k];
      d[i] = sum;
    }
  }
}
