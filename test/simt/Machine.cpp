//===- Machine.cpp - The block that runs ----------------------------------===//
#include "test/simt/Machine.h"

#include "test/simt/Arena.h"
#include "test/simt/Arguments.h"
#include "test/simt/CrashWatch.h"

#include <cstdio>
#include <mutex>
#include <set>

using namespace sinter::simt;

// The variables behind CUDA's names, laid out as its uint3 and dim3 are.
struct Index3 {
  unsigned x, y, z;
};
extern "C" {
Index3 threadIdx, blockIdx, blockDim, gridDim;
}

namespace {

/// Below this no system maps memory: addresses there are null pointers with an offset.
constexpr uintptr_t lowestAddress = 65536;

} // namespace

Machine Machine::only;

Machine::Machine() : fibers([](unsigned) { Machine::instance().runThread(); }) {}

//===----------------------------------------------------------------------===//
// Launches and blocks
//===----------------------------------------------------------------------===//

Report Machine::run(const Kernel &newKernel, const Launch &newShape,
                    std::span<void *const> pointers) {
  static std::mutex oneAtATime;
  std::lock_guard lock(oneAtATime);
  CrashWatch watch;
  findings.clear();
  Report report;
  report.kernel = newKernel.name();
  if (acceptable(newKernel, newShape, pointers.size())) {
    kernel = &newKernel;
    shape = newShape;
    arguments = pointers;
    checked = kernel->module().checked;
    switches = 0;
    abandoned = false;
    if (checked)
      memory.startLaunch(kernel->module().staticShared, SharedMemory::dynamic(shape.sharedBytes));
    else
      for (size_t i = 0; i < pointers.size(); ++i)
        if (kernel->writes(i))
          Arena::instance().trust(pointers[i]);
    blockDim = {shape.block, 1, 1};
    gridDim = {shape.grid, 1, 1};
    scheduler.follow(shape.schedule);
    for (unsigned block : blockOrder(shape.grid, shape.schedule)) {
      ++report.blocks;
      if (!runBlock(block))
        break;
    }
    report.switches = switches;
    if (checked)
      report.touched = memory.touched();
  }
  report.findings = findings.resolve();
  return report;
}

bool Machine::acceptable(const Kernel &newKernel, const Launch &newShape, size_t count) {
  auto refuse = [&](std::string why) {
    findings.add(Defect::InvalidLaunch, nullptr, 0, 0, "cannot run: " + why);
    return false;
  };
  if (!newKernel.function())
    return refuse("there is no such kernel");
  if (newShape.block == 0 || newShape.block > maxBlockThreads)
    return refuse("a block has 1 to 1024 threads, not " + std::to_string(newShape.block));
  if (newShape.grid == 0)
    return refuse("a grid has at least one block");
  if (newShape.sharedBytes > SharedMemory::mostDynamicBytes)
    return refuse(std::to_string(newShape.sharedBytes) + " bytes of dynamic shared memory; " +
                  std::to_string(SharedMemory::mostDynamicBytes) + " is the most");
  if (count != newKernel.arguments())
    return refuse("it takes " + std::to_string(newKernel.arguments()) + " arguments, not " +
                  std::to_string(count));
  if (count > mostArguments)
    return refuse(std::to_string(count) + " arguments; " + std::to_string(mostArguments) +
                  " is the most");
  return true;
}

void Machine::startBlock(unsigned block) {
  blockIndex = block;
  blockIdx = {block, 0, 0};
  live = shape.block;
  atBarrier = 0;
  votes = {};
  SharedMemory::poison(kernel->module().staticShared);
  SharedMemory::poison(SharedMemory::dynamic(shape.sharedBytes));
  if (checked)
    memory.startBlock(block, shape.block);
  for (unsigned first = 0; first < shape.block; first += 32) {
    Warp &warp = warps[first / 32];
    unsigned lanes = std::min(32u, shape.block - first);
    warp.live = lanes == 32 ? allLanes : (1u << lanes) - 1;
    warp.meetings.clear();
  }
  for (unsigned i = 0; i < shape.block; ++i) {
    threads[i].state = State::Ready;
    threads[i].copies.clear();
    threads[i].products.clear();
  }
  atProducts.fill(0);
  scheduler.start(shape.block);
  isHidden = shape.before;
  if (isHidden)
    shape.before->hide();
}

bool Machine::runBlock(unsigned block) {
  startBlock(block);
  unsigned first = scheduler.next();
  setCurrent(first);
  fibers.enter(first);
  self = nobody;
  if (isHidden)
    shape.before->show();
  isHidden = false;
  if (!live)
    return true;
  if (!abandoned)
    reportDeadlock(block);
  fibers.restart();
  return false;
}

/// What a fiber does once for each block.
void Machine::runThread() {
  callWith(kernel->function(), arguments);
  finish();
}

void Machine::finish() {
  waitForCopies(0);
  if (!thread().products.empty())
    findings.add(Defect::MissingWait, nullptr, blockIndex, self,
                 "ends without waiting for its products (wgmma)");
  if (isHidden)
    findings.add(Defect::MissingWait, nullptr, blockIndex, self,
                 "ends without waiting for the kernel before it, with which its launch overlaps");
  scheduler.makeWaiting(self);
  thread().state = State::Finished;
  --live;
  warps[self / 32].live &= ~(1u << (self % 32));
  if (!warps[self / 32].meetings.empty())
    completeMeetings(self / 32);
  if (live && atBarrier == live)
    openBarrier();
  suspend();
}

void Machine::setCurrent(unsigned thread) {
  self = thread;
  threadIdx = {thread, 0, 0};
  ++switches;
}

/// Goes to whoever can go on; comes back when somebody comes back to this thread.
void Machine::suspend() {
  unsigned from = self, to = scheduler.next();
  if (to == Scheduler::none && isHidden) {
    showPredecessor();
    to = scheduler.next();
  }
  if (to == from)
    return;
  if (to == Scheduler::none)
    return fibers.leave(from);
  setCurrent(to);
  fibers.switchTo(from, to);
}

void Machine::abandon() {
  abandoned = true;
  fibers.leave(self);
}

void Machine::yield() {
  // Behind everyone who is ready: they run until they wait, and this thread is picked again.
  unsigned from = self;
  scheduler.makeWaiting(from);
  unsigned to = scheduler.next();
  scheduler.makeReady(from);
  if (to == Scheduler::none)
    return;
  setCurrent(to);
  fibers.switchTo(from, to);
}

//===----------------------------------------------------------------------===//
// The kernel before this one
//===----------------------------------------------------------------------===//

void Machine::waitForPredecessor(const void *code) {
  if (!isHidden)
    return;
  thread().state = State::AtPredecessor;
  thread().code = code;
  scheduler.makeWaiting(self);
  suspend();
}

void Machine::requireVisible(const void *address, size_t bytes, const void *code) {
  if (isHidden && bytes != 0 && shape.before->mayWrite(address, bytes))
    findings.add(Defect::MissingWait, code, blockIndex, self,
                 "touches memory that a kernel before it may still write: it has not waited");
}

/// The kernel before this one is done, as late as may be: nothing else of the block can go on.
void Machine::showPredecessor() {
  isHidden = false;
  shape.before->show();
  for (unsigned i = 0; i < shape.block; ++i)
    if (threads[i].state == State::AtPredecessor) {
      threads[i].state = State::Ready;
      scheduler.makeReady(i);
    }
}

//===----------------------------------------------------------------------===//
// The barrier of the block
//===----------------------------------------------------------------------===//

Machine::Vote Machine::barrier(bool predicate, const void *code) {
  thread().state = State::AtBarrier;
  thread().code = code;
  votes.count += predicate;
  ++votes.voters;
  scheduler.makeWaiting(self);
  if (++atBarrier == live)
    openBarrier();
  suspend();
  return lastVotes;
}

void Machine::openBarrier() {
  const Thread *first = nullptr;
  unsigned finished = nobody;
  for (unsigned i = 0; i < shape.block; ++i) {
    Thread &other = threads[i];
    if (other.state == State::Finished) {
      finished = i;
      continue;
    }
    if (checked && first && first->code != other.code)
      findings.addMeeting(other.code, first->code, blockIndex, i,
                          "meets others at a barrier that is not the same: they wait");
    first = first ? first : &other;
    other.state = State::Ready;
    scheduler.makeReady(i);
  }
  if (finished != nobody)
    findings.add(Defect::Divergence, first->code, blockIndex, finished,
                 "has finished while others wait at a barrier");
  if (checked)
    memory.joinBlock();
  atBarrier = 0;
  lastVotes = votes;
  votes = {};
}

//===----------------------------------------------------------------------===//
// Operations of a warp
//===----------------------------------------------------------------------===//

void Machine::meet(const WarpOperation &operation, uint32_t mask, const void *in, void *out,
                   const void *code) {
  unsigned index = self / 32, lane = self % 32;
  Warp &warp = warps[index];
  if (!(mask >> lane & 1)) {
    diverge(std::string("is not in the mask with which it calls ") + operation.name, code);
    mask |= 1u << lane;
  }
  size_t at = 0;
  for (; at < warp.meetings.size(); ++at)
    if (warp.meetings[at].operation == &operation && warp.meetings[at].mask == mask)
      break;
  if (at == warp.meetings.size()) {
    for (const Meeting &other : warp.meetings)
      if (other.mask & mask)
        findings.addMeeting(code, other.code, blockIndex, self,
                            std::string("calls ") + operation.name +
                                " while lanes of its mask wait at " + other.operation->name);
    warp.meetings.push_back({&operation, mask, 0, code, {}});
  }
  Meeting &meeting = warp.meetings[at];
  if (checked && meeting.arrived && meeting.code != code)
    findings.addMeeting(code, meeting.code, blockIndex, self,
                        std::string("meets its warp in another ") + operation.name +
                            ": lanes wait");
  meeting.arrived |= 1u << lane;
  meeting.arguments.in[lane] = in;
  meeting.arguments.out[lane] = out;
  thread().state = State::InWarp;
  thread().code = code;
  // A block whose threads are no multiple of 32 has lanes that never were; the device leaves them
  // out.
  if ((meeting.mask & warp.live) == meeting.arrived) {
    complete(index, at);
    return;
  }
  scheduler.makeWaiting(self);
  suspend();
}

/// A lane has finished: those that waited for it need not any more.
void Machine::completeMeetings(unsigned index) {
  Warp &warp = warps[index];
  for (size_t at = warp.meetings.size(); at-- > 0;)
    if ((warp.meetings[at].mask & warp.live) == warp.meetings[at].arrived)
      complete(index, at);
}

void Machine::complete(unsigned index, size_t at) {
  Warp &warp = warps[index];
  Meeting &meeting = warp.meetings[at];
  meeting.arguments.mask = meeting.arrived;
  meeting.operation->run(meeting.arguments);
  if (checked && meeting.operation->ordersMemory)
    memory.joinWarp(index, meeting.arrived);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (meeting.arrived >> lane & 1)
      threads[index * 32 + lane].state = State::Ready;
  scheduler.makeReady(index, meeting.arrived);
  warp.meetings.erase(warp.meetings.begin() + ptrdiff_t(at));
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

template <typename Visit>
void Machine::forEachRead(const Product &product, unsigned warp, Visit visit) const {
  auto visitChunk = [&](unsigned, unsigned, uint32_t address) { visit(SharedMemory::at(address)); };
  unsigned row = warp % 4 * 16;
  if (!product.aRegisters)
    MatrixDescriptor(product.a).forEachChunk(Major::K, row, row + 16, visitChunk);
  MatrixDescriptor(product.b).forEachChunk(product.bMajor, 0, 64, visitChunk);
}

void Machine::issueProduct(const Product &product, const void *code) {
  if (liveLanes() != allLanes)
    diverge("calls wgmma, which takes all 128 threads of a warpgroup", code);
  std::string invalid = MatrixDescriptor(product.b).whyInvalid(product.bMajor);
  if (invalid.empty() && !product.aRegisters)
    invalid = MatrixDescriptor(product.a).whyInvalid(Major::K);
  std::span<const std::byte> all = SharedMemory::dynamic(shape.sharedBytes);
  if (invalid.empty())
    forEachRead(product, self / 32, [&](const std::byte *chunk) {
      if (chunk < all.data() || chunk + 16 > all.data() + all.size())
        invalid = "reaches beyond dynamic shared memory";
    });
  if (!invalid.empty()) {
    findings.add(Defect::InvalidOperand, code, blockIndex, self,
                 "gives wgmma a matrix descriptor that " + invalid);
    abandon();
  }
  // A warp reads what it has to by itself.
  if (checked && self % 32 == 0)
    forEachRead(product, self / 32,
                [&](const std::byte *chunk) { memory.issueProduct(self, chunk, 16, code); });
  if (std::string wrong = thread().products.issue(product); !wrong.empty())
    findings.add(Defect::Race, code, blockIndex, self, wrong);
}

void Machine::waitForProducts(size_t pending, const void *code) {
  unsigned first = self / warpgroupThreads * warpgroupThreads;
  thread().pendingProducts = pending;
  thread().state = State::InWarpgroup;
  thread().code = code;
  if (++atProducts[first / warpgroupThreads] == warpgroupThreads)
    return completeProducts(first);
  scheduler.makeWaiting(self);
  suspend();
}

void Machine::completeProducts(unsigned first) {
  std::array<WarpgroupProducts *, warpgroupThreads> all;
  for (unsigned i = 0; i < warpgroupThreads; ++i)
    all[i] = &threads[first + i].products;
  size_t pending = threads[first].pendingProducts;
  std::span<const Product> due = all[0]->due(pending);
  bool same = true;
  for (unsigned i = 1; i < warpgroupThreads; ++i) {
    std::span<const Product> others = all[i]->due(pending);
    if (threads[first + i].pendingProducts != pending ||
        !std::equal(due.begin(), due.end(), others.begin(), others.end(),
                    [](const Product &a, const Product &b) { return a.matches(b); })) {
      findings.add(Defect::Divergence, threads[first + i].code, blockIndex, first + i,
                   "has begun other products (wgmma) than its warpgroup");
      same = false;
      break;
    }
  }
  for (size_t i = 0; i < due.size() && same; ++i)
    multiply(all, i, pending, SharedMemory::at);
  for (unsigned i = 0; i < warpgroupThreads; ++i) {
    Thread &other = threads[first + i];
    if (checked && i % 32 == 0)
      for (const Product &product : other.products.due(pending))
        forEachRead(product, i / 32,
                    [&](const std::byte *chunk) { memory.completeProduct(first + i, chunk, 16); });
    if (std::string wrong = other.products.complete(pending); !wrong.empty())
      findings.add(Defect::Race, other.code, blockIndex, first + i, wrong);
    other.state = State::Ready;
    scheduler.makeReady(first + i);
  }
  atProducts[first / warpgroupThreads] = 0;
}

void Machine::fenceProxy() {
  if (checked)
    memory.fenceProxy(self);
}

uint32_t Machine::sharedAddress(const void *address, const void *code) {
  auto *byte = static_cast<const std::byte *>(address);
  if (!SharedMemory::isDynamic(byte)) {
    findings.add(Defect::OutOfBounds, code, blockIndex, self,
                 "takes the shared address of what is not in dynamic shared memory");
    abandon();
  }
  return SharedMemory::address(byte);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Machine::issueCopy(const AsyncCopies::Copy &copy, const void *code) {
  requireAligned(copy.target, copy.bytes, code);
  requireVisible(copy.source, copy.filled, code);
  if (copy.filled)
    requireAligned(copy.source, copy.bytes, code);
  if (checked) {
    memory.access(self, copy.source, copy.filled, MemoryChecker::Access::Read, code);
    memory.issueCopy(self, copy.target, copy.bytes, code);
  }
  thread().copies.issue(copy);
}

void Machine::waitForCopies(size_t pending) {
  thread().copies.wait(pending, [&](const AsyncCopies::Copy &copy) {
    if (checked)
      memory.completeCopy(self, copy.target, copy.bytes);
  });
}

void Machine::atomic(const void *address, size_t bytes, const void *code) {
  requireAligned(address, bytes, code);
  access(address, bytes, MemoryChecker::Access::Atomic, code);
}

void Machine::fence() {
  if (checked)
    memory.fence(self);
}

void Machine::access(const void *address, size_t bytes, MemoryChecker::Access access,
                     const void *code) {
  if (self == nobody || !checked)
    return;
  if (uintptr_t(address) < lowestAddress) {
    findings.add(Defect::OutOfBounds, code, blockIndex, self,
                 "accesses address " + std::to_string(uintptr_t(address)) + ", where no memory is");
    abandon();
  }
  requireVisible(address, bytes, code);
  if (!fibers.onStack(address))
    return memory.access(self, address, bytes, access, code);
  if (unsigned owner = fibers.ownerOf(address); owner != self)
    findings.add(Defect::OutOfBounds, code, blockIndex, self,
                 "accesses a local variable of thread " + std::to_string(owner));
  else if (std::string wrong =
               thread().products.whyInUse(address, bytes, access != MemoryChecker::Access::Read);
           !wrong.empty())
    findings.add(Defect::MissingWait, code, blockIndex, self, wrong);
}

void Machine::requireAligned(const void *address, size_t bytes, const void *code) {
  if (self == nobody || !checked || uintptr_t(address) % bytes == 0)
    return;
  memory.reportMisaligned(self, address, bytes, code);
  abandon();
}

void Machine::diverge(std::string text, const void *code) {
  findings.add(Defect::Divergence, code, blockIndex, self, std::move(text));
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// One finding for each place at which threads wait.
void Machine::reportDeadlock(unsigned block) {
  std::set<const void *> places;
  for (unsigned i = 0; i < shape.block; ++i) {
    const Thread &waiting = threads[i];
    if (waiting.state == State::Finished || !places.insert(waiting.code).second)
      continue;
    findings.add(Defect::Deadlock, waiting.code, block, i,
                 std::string("waits for ever at a ") +
                     (waiting.state == State::AtBarrier     ? "barrier"
                      : waiting.state == State::InWarpgroup ? "wait of its warpgroup"
                                                            : "warp operation") +
                     " with " + threadsThatWait(waiting.state, waiting.code));
  }
}

std::string Machine::threadsThatWait(State state, const void *code) const {
  unsigned count = 0;
  for (unsigned i = 0; i < shape.block; ++i)
    count += threads[i].state == state && threads[i].code == code;
  return count == 1 ? "no other thread" : std::to_string(count - 1) + " others";
}

int Machine::describeCrash(char *line, size_t size, const void *address) const {
  if (self == nobody)
    return 0;
  const char *why = fibers.onGuard(address) ? "has more local variables than its stack holds"
                                            : "touched memory that is not there";
  return snprintf(line, size, "%s: block %u, thread %u %s (address %p)%s\n", kernel->name().c_str(),
                  blockIndex, self, why, address,
                  checked ? "" : "; checked mode names the source line");
}
