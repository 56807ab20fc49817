//===- WarpgroupProducts.h - The wgmma that a thread has under way -*- C++ -*-===//
//
// A product of a warpgroup reads shared memory and writes registers while its threads go on. Here
// it takes place at the wait that demands it, which is as late as the device may do it. From its
// beginning to the wait, the accumulators hold NaN instead of their values, so that who reads them
// early computes nonsense; and who writes them is found out.
//
// Registers are local variables here, which the kernel names where it fences them (wgmma.fence):
// what a product uses has to be as it was there, unless the products before it were the last to use
// it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/simt/MatrixDescriptor.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sinter::simt {

inline constexpr unsigned warpgroupThreads = 128;

/// What one thread says of a product d [64, 64] (+)= a [64, 16] . b [16, 64].
struct Product {
  float *d;                   ///< the thread's 32 numbers
  const unsigned *aRegisters; ///< the thread's fragment, or null: `a` is a descriptor
  uint64_t a, b;              ///< descriptors
  Major bMajor;
  bool adds;                             ///< to what d is; otherwise d begins at zero
  bool isF16;                            ///< and not bf16
  std::array<unsigned, 4> fragment = {}; ///< what aRegisters were

  /// Whether another thread of the warpgroup means the same product.
  bool matches(const Product &other) const {
    return a == other.a && b == other.b && bMajor == other.bMajor && adds == other.adds &&
           isF16 == other.isF16 && !aRegisters == !other.aRegisters;
  }
};

/// The products of one thread.
class WarpgroupProducts {
public:
  static constexpr unsigned accumulators = 32;

  /// wgmma.fence: the registers that are named after it are as they are to be.
  void fence() { named.clear(); }
  void name(const void *registers, size_t bytes);

  /// Begins a product; what is wrong with its registers, or nothing.
  std::string issue(const Product &product);
  /// What was issued since the last commit is a group.
  void commit();

  size_t groups() const { return ends.size(); }
  bool empty() const { return products.empty(); }
  /// The products of all groups but the last `pending`.
  std::span<const Product> due(size_t pending) const;
  /// The numbers that a product under way is to add to.
  std::span<float> valuesOf(const Product &product);
  /// Those of all groups but the last `pending` are done; what was wrong with the registers
  /// meanwhile, or nothing.
  std::string complete(size_t pending);
  void clear();

  /// Why the thread must not touch this memory now, or nothing.
  std::string whyInUse(const void *address, size_t bytes, bool isWrite) const;

private:
  /// Numbers that products under way write.
  struct Accumulator {
    float *d;
    unsigned uses; ///< products that are to add to it
    std::array<float, accumulators> values;
  };
  struct Named {
    const std::byte *begin;
    std::vector<std::byte> bytes; ///< what they were
  };

  bool isOrdered(const void *registers, size_t bytes) const;
  Accumulator *find(const float *d);

  std::vector<Product> products;
  std::vector<size_t> ends; // of the groups, in products
  std::vector<Accumulator> busy;
  std::vector<Named> named;
};

/// Does a product that is due for all threads of a warpgroup, thread by thread the same product of
/// theirs; `read` gives the memory at an address of shared memory.
void multiply(std::span<WarpgroupProducts *const, warpgroupThreads> threads, size_t product,
              size_t pending, const std::byte *(*read)(uint32_t address));

} // namespace sinter::simt
