//===- MemoryChecker.h - Watches every access of a kernel -------*- C++ -*-===//
//
// In checked mode kernels are compiled with -fsanitize=thread, but without its library: the calls
// that the compiler puts before every load and store arrive here (SanitizerCallbacks.cpp). Each
// byte of global and shared memory has a cell that remembers who wrote it last, who read it since
// and when, by the clocks of Clocks.h and GridOrder.h. That makes four defects visible whatever the
// values are: races, accesses outside of allocations, reads of what nobody wrote, and accesses to
// the target of a cp.async that has not been waited for.
//
// A cell remembers two readers, the first and the last, so a race with a third may show only under
// another schedule.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/simt/Clocks.h"
#include "test/simt/Findings.h"
#include "test/simt/GridOrder.h"
#include "test/simt/TouchedLines.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sinter::simt {

class MemoryChecker {
public:
  enum class Access { Read, Write, Atomic };

  explicit MemoryChecker(Findings &findings) : findings(findings) {}

  /// A launch whose blocks have this shared memory.
  void startLaunch(std::span<const std::byte> staticShared,
                   std::span<const std::byte> dynamicShared);
  void startBlock(unsigned block, unsigned threads);

  /// `thread` of the current block is about to access memory; `code` is where it goes on after
  /// that.
  void access(unsigned thread, const void *address, size_t bytes, Access access, const void *code);
  /// The finding that the address is no multiple of the size.
  void reportMisaligned(unsigned thread, const void *address, size_t bytes, const void *code);

  /// A cp.async is issued: from now on its target may change at any time ...
  void issueCopy(unsigned thread, const void *target, size_t bytes, const void *code);
  /// ... until the thread has waited for it.
  void completeCopy(unsigned thread, const void *target, size_t bytes);

  /// A product of a warpgroup begins that reads shared memory: from now on nobody may write it ...
  void issueProduct(unsigned thread, const void *address, size_t bytes, const void *code);
  /// ... until the thread has waited for it.
  void completeProduct(unsigned thread, const void *address, size_t bytes);
  /// fence.proxy.async: what the thread has written is ready for products.
  void fenceProxy(unsigned thread);

  void fence(unsigned thread) { grid.fence(thread, clocks); }
  void joinBlock() { clocks.joinBlock(); }
  void joinWarp(unsigned warp, uint32_t lanes) { clocks.joinWarp(warp, lanes); }

  /// The global memory that this launch has accessed so far.
  std::vector<Touched> touched() const { return lines.ranges(); }

private:
  using Time = Clocks::Time;

  /// What is remembered of one byte. Blocks are told apart by an epoch that never repeats; threads
  /// are counted from 1, 0 is nobody.
  struct Cell {
    uint32_t writeEpoch, readEpoch;
    Time writeTime, readTimes[2];
    uint16_t writer, readers[2];
    bool atomic;  ///< the last write was an atomic operation
    bool pending; ///< a cp.async is still to write it
  };

  enum class Space { None, Global, StaticShared, DynamicShared };
  struct Place {
    Space space = Space::None;
    Cell *cells = nullptr;
    uint8_t *states = nullptr; ///< of global memory
  };

  Place find(const void *address);
  bool inBounds(const Place &place, const std::byte *byte, size_t i) const;
  /// Drops what earlier blocks or launches did that nothing can race with any more.
  void forget(Cell &cell, Space space) const;
  /// Whether the current block's `thread` has seen what another did.
  bool ordered(unsigned thread, uint32_t otherEpoch, unsigned other, Time time) const;
  bool initialised(const Place &place, const Cell &cell, const std::byte *byte, size_t i);
  /// Whether the last write to the cell was followed by a fence.proxy.async of its thread that
  /// `thread` comes after.
  bool readyForProducts(unsigned thread, const Cell &cell) const;

  /// Looks for a defect of the access to one byte; true if there is one.
  bool judge(unsigned thread, const Place &place, size_t i, const std::byte *byte, Access access,
             const void *code);
  void record(unsigned thread, const Place &place, size_t i, Access access);
  bool report(Defect defect, unsigned thread, const std::byte *byte, Access access,
              const std::string &why, const void *code);
  std::string describe(const std::byte *byte) const;
  std::string describeThread(uint32_t otherEpoch, unsigned other) const;

  Findings &findings;
  Clocks clocks;
  GridOrder grid;
  TouchedLines lines;
  std::span<const std::byte> staticShared, dynamicShared;
  Cell *globalCells = nullptr, *staticCells = nullptr, *dynamicCells = nullptr;
  std::vector<unsigned> blocks;               ///< of this launch, by epoch
  std::vector<std::vector<Time>> proxyFences; ///< of the current block's threads
  std::vector<uint16_t> productReads; ///< products under way that read a byte of dynamic memory
  uint32_t epoch = 0;                 ///< of the current block
  uint32_t firstEpoch = 0;            ///< of this launch
};

} // namespace sinter::simt
