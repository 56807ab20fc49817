//===- Hooks.cpp - CUDA's synchronisation and atomics ---------------------===//
#include "test/simt/DeviceHooks.h"
#include "test/simt/KernelHooks.h"
#include "test/simt/Machine.h"

using namespace sinter;
using namespace sinter::simt;

#define SINTER_CALLER __builtin_return_address(0)

namespace {

Machine &machine() { return Machine::instance(); }

struct Shuffled {
  uint64_t value;
  unsigned source;
};

void runShuffle(const WarpArguments &arguments) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (arguments.has(lane)) {
      auto &own = arguments.operand<Shuffled>(lane);
      // What the device gives here is undefined: NaN shows.
      arguments.result<uint64_t>(lane) =
          arguments.has(own.source) ? arguments.operand<Shuffled>(own.source).value : ~uint64_t(0);
    }
}

void runBallot(const WarpArguments &arguments) {
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (arguments.has(lane) && arguments.operand<bool>(lane))
      votes |= 1u << lane;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (arguments.has(lane))
      arguments.result<unsigned>(lane) = votes;
}

void runMatch(const WarpArguments &arguments) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (arguments.has(lane)) {
      unsigned equal = 0;
      for (unsigned other = 0; other < 32; ++other)
        if (arguments.has(other) &&
            arguments.operand<uint64_t>(other) == arguments.operand<uint64_t>(lane))
          equal |= 1u << other;
      arguments.result<unsigned>(lane) = equal;
    }
}

// None of them orders memory: CUDA C++ Programming Guide, "Warp Vote Functions" and "Warp Shuffle
// Functions"; __syncwarp does.
constexpr WarpOperation syncOperation{"__syncwarp", [](const WarpArguments &) {}, true};
constexpr WarpOperation shuffleOperation{"__shfl_sync", runShuffle};
constexpr WarpOperation ballotOperation{"__ballot_sync", runBallot};
constexpr WarpOperation matchOperation{"__match_any_sync", runMatch};

} // namespace

void simt::blockBarrier() { machine().barrier(false, SINTER_CALLER); }

BlockVote simt::blockVote(bool predicate) {
  Machine::Vote vote = machine().barrier(predicate, SINTER_CALLER);
  return {vote.count, vote.count == vote.voters};
}

void simt::warpBarrier(unsigned mask) {
  machine().meet(syncOperation, mask, nullptr, nullptr, SINTER_CALLER);
}

uint64_t simt::shuffle(unsigned mask, uint64_t value, unsigned sourceLane) {
  Shuffled in{value, sourceLane % 32};
  uint64_t out;
  machine().meet(shuffleOperation, mask, &in, &out, SINTER_CALLER);
  return out;
}

unsigned simt::ballot(unsigned mask, bool predicate) {
  unsigned out;
  machine().meet(ballotOperation, mask, &predicate, &out, SINTER_CALLER);
  return out;
}

unsigned simt::matchAny(unsigned mask, uint64_t value) {
  unsigned out;
  machine().meet(matchOperation, mask, &value, &out, SINTER_CALLER);
  return out;
}

unsigned simt::liveLanes() { return machine().liveLanes(); }
unsigned simt::laneId() { return machine().current() % 32; }

void simt::noteAtomic(const void *address, size_t bytes, const void *code) {
  machine().atomic(address, bytes, code);
}

void simt::deviceFence() { machine().fence(); }
void simt::yield() { machine().yield(); }

//===----------------------------------------------------------------------===//
// Asynchronous copies and dynamic shared memory
//===----------------------------------------------------------------------===//

void simt::cpAsync16(void *shared, const void *global, unsigned bytes) {
  machine().issueCopy({shared, global, 16, bytes}, SINTER_CALLER);
}
void simt::cpAsync8(void *shared, const void *global, unsigned bytes) {
  machine().issueCopy({shared, global, 8, bytes}, SINTER_CALLER);
}
void simt::cpAsync4(void *shared, const void *global, unsigned bytes) {
  machine().issueCopy({shared, global, 4, bytes}, SINTER_CALLER);
}
void simt::cpAsyncCommit() { machine().commitCopies(); }
void simt::cpAsyncWait(unsigned pending) { machine().waitForCopies(pending); }
void simt::pdlWait() { machine().waitForPredecessor(SINTER_CALLER); }

//===----------------------------------------------------------------------===//
// Products of warpgroups
//===----------------------------------------------------------------------===//

unsigned simt::sharedAddress(const void *shared) {
  return machine().sharedAddress(shared, SINTER_CALLER);
}
void simt::wgmmaFence() { machine().fenceProducts(); }
void simt::wgmmaFenceRegisters(const void *registers, unsigned long bytes) {
  machine().nameForProducts(registers, bytes);
}
void simt::wgmmaM64N64K16(float *d, unsigned long long a, unsigned long long b, bool adds,
                          bool isF16) {
  machine().issueProduct({d, nullptr, a, b, Major::K, adds, isF16}, SINTER_CALLER);
}
void simt::wgmmaM64N64K16(float *d, const unsigned (&a)[4], unsigned long long b, bool isF16) {
  machine().issueProduct({d, a, 0, b, Major::MN, true, isF16}, SINTER_CALLER);
}
void simt::wgmmaCommit() { machine().commitProducts(); }
void simt::wgmmaWait(unsigned pending) { machine().waitForProducts(pending, SINTER_CALLER); }
void simt::fenceProxyAsync() { machine().fenceProxy(); }

void *simt::dynamicShared() { return SharedMemory::dynamic(0).data(); }
