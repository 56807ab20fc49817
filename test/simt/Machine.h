//===- Machine.h - The block that runs --------------------------*- C++ -*-===//
#pragma once

#include "test/simt/AsyncCopies.h"
#include "test/simt/Fibers.h"
#include "test/simt/Findings.h"
#include "test/simt/Launch.h"
#include "test/simt/MemoryChecker.h"
#include "test/simt/Warp.h"
#include "test/simt/WarpgroupProducts.h"

#include <array>

namespace sinter::simt {

/// Runs launches, and does for the running thread what the hooks ask. There is one.
class Machine {
public:
  static Machine &instance() { return only; }

  Report run(const Kernel &kernel, const Launch &shape, std::span<void *const> pointers);

  // What the running thread asks for. `code` is where it goes on in the kernel.

  struct Vote {
    unsigned count = 0, voters = 0;
  };
  /// Waits for all threads of the block; what they said.
  Vote barrier(bool predicate, const void *code);
  /// Waits for the lanes of `mask` and does the operation with them.
  void meet(const WarpOperation &operation, uint32_t mask, const void *in, void *out,
            const void *code);
  /// Lets others go on first.
  void yield();

  void issueCopy(const AsyncCopies::Copy &copy, const void *code);
  void commitCopies() { thread().copies.commit(); }
  void waitForCopies(size_t pending);

  void fenceProducts() { thread().products.fence(); }
  void nameForProducts(const void *registers, size_t bytes) {
    thread().products.name(registers, bytes);
  }
  void issueProduct(const Product &product, const void *code);
  void commitProducts() { thread().products.commit(); }
  /// Waits for the warpgroup; all groups of products but the last `pending` are done.
  void waitForProducts(size_t pending, const void *code);
  void fenceProxy();
  uint32_t sharedAddress(const void *address, const void *code);

  void waitForPredecessor(const void *code);
  void atomic(const void *address, size_t bytes, const void *code);
  void fence();
  /// An access to memory of the running thread; nothing where no kernel is running.
  void access(const void *address, size_t bytes, MemoryChecker::Access access, const void *code);
  void requireAligned(const void *address, size_t bytes, const void *code);
  void diverge(std::string text, const void *code);

  /// Writes a line about a segmentation fault; returns its length, 0 where no kernel runs.
  int describeCrash(char *line, size_t size, const void *address) const;

  unsigned current() const { return self; }
  uint32_t liveLanes() const { return warps[self / 32].live; }

private:
  enum class State : uint8_t { Ready, AtBarrier, InWarp, InWarpgroup, AtPredecessor, Finished };
  struct Thread {
    State state = State::Finished;
    const void *code = nullptr; ///< where it waits
    AsyncCopies copies;
    WarpgroupProducts products;
    size_t pendingProducts = 0; ///< that it does not wait for
  };

  static Machine only;
  static constexpr unsigned nobody = ~0u;

  Machine();
  bool acceptable(const Kernel &kernel, const Launch &shape, size_t arguments);
  bool runBlock(unsigned block);
  void startBlock(unsigned block);
  void runThread();
  void finish();
  void suspend();
  void setCurrent(unsigned thread);
  void openBarrier();
  void showPredecessor();
  /// Tells of what a warp's share of a product reads: calls `visit(address of 16 bytes)`.
  template <typename Visit>
  void forEachRead(const Product &product, unsigned warp, Visit visit) const;
  void completeProducts(unsigned first);
  void requireVisible(const void *address, size_t bytes, const void *code);
  void completeMeetings(unsigned warp);
  void complete(unsigned warp, size_t meeting);
  /// Ends the launch from within a thread: what it is about to do would end the process.
  void abandon();
  void reportDeadlock(unsigned block);
  std::string threadsThatWait(State state, const void *code) const;

  Thread &thread() { return threads[self]; }

  Findings findings;
  MemoryChecker memory{findings};
  Fibers fibers;
  Scheduler scheduler;
  std::array<Thread, maxBlockThreads> threads;
  std::array<Warp, maxBlockThreads / 32> warps;
  std::array<unsigned, maxBlockThreads / warpgroupThreads> atProducts; ///< threads that wait

  // Of the launch that runs.
  const Kernel *kernel = nullptr;
  std::span<void *const> arguments;
  Launch shape;
  bool checked = false;
  bool abandoned = false;
  uint64_t switches = 0;

  // Of the block that runs.
  unsigned blockIndex = 0;
  unsigned self = nobody; ///< the thread that runs
  unsigned live = 0;      ///< threads that have not finished
  unsigned atBarrier = 0;
  bool isHidden = false; ///< what the kernels before this one write
  Vote votes;            ///< of those at the barrier
  Vote lastVotes;        ///< of the barrier that opened last
};

} // namespace sinter::simt
