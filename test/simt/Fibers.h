//===- Fibers.h - A stack and a place to go on for each thread --*- C++ -*-===//
//
// Every thread of a block is a fiber: its own stack, entered and left by a switch of a few
// nanoseconds (Boost.Context). The fibers outlive the blocks: one that has finished is entered
// again for the thread of the same number of the next block.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>

namespace sinter::simt {

/// The largest block that CUDA allows.
inline constexpr unsigned maxBlockThreads = 1024;

class Fibers {
public:
  using Body = void (*)(unsigned fiber);

  /// Reserves the stacks. `body(i)` is what fiber i runs; when it returns, the fiber must be
  /// switched to again to run it once more, so the last thing that it does is a switch.
  explicit Fibers(Body body);
  ~Fibers();
  Fibers(const Fibers &) = delete;
  Fibers &operator=(const Fibers &) = delete;

  /// Forgets where the fibers are: each starts its body anew when next switched to. What stands on
  /// their stacks is dropped, not destroyed.
  void restart();

  /// Enters fiber `to` from outside of all fibers; returns when one of them calls leave().
  void enter(unsigned to) { jump(outside, to); }
  /// Goes from fiber `from` to fiber `to`; returns when somebody switches back.
  void switchTo(unsigned from, unsigned to) { jump(fibers[from], to); }
  /// Goes from fiber `from` to where enter() was called.
  void leave(unsigned from) { jump(fibers[from], nowhere); }

  /// Whether `address` is on the stack of some fiber.
  bool onStack(const void *address) const {
    auto *byte = static_cast<const std::byte *>(address);
    return byte >= stacks && byte < stacks + maxBlockThreads * stride;
  }
  /// The fiber on whose stack the address is.
  unsigned ownerOf(const void *address) const {
    return unsigned((static_cast<const std::byte *>(address) - stacks) / stride);
  }

  /// Whether `address` is in the page below some stack.
  bool onGuard(const void *address) const {
    return onStack(address) &&
           size_t(static_cast<const std::byte *>(address) - stacks) % stride < page;
  }

private:
  using Context = boost::context::detail::fcontext_t;

  // The guard page of each stack makes the stride an odd number of pages, which also keeps the
  // stacks from falling on the same sets of the second-level cache.
  static constexpr size_t page = 4096;
  static constexpr size_t stackBytes = 32 * page;
  static constexpr size_t stride = stackBytes + page;

  static constexpr unsigned nowhere = ~0u;

  /// What travels through a switch, on the stack of who leaves.
  struct Passage {
    Fibers *pool;
    Context *left; ///< where to note the place at which the leaving side goes on
    unsigned to;
  };

  static void entry(boost::context::detail::transfer_t arrival);
  void jump(Context &from, unsigned to);

  Body body;
  std::byte *stacks = nullptr;
  Context outside = nullptr;
  std::array<Context, maxBlockThreads> fibers{};
};

} // namespace sinter::simt
