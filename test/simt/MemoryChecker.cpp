//===- MemoryChecker.cpp - Watches every access of a kernel ---------------===//
#include "test/simt/MemoryChecker.h"

#include "test/simt/Arena.h"
#include "test/simt/SharedMemory.h"

#include <algorithm>
#include <cassert>

using namespace sinter::simt;

namespace {

std::string_view verb(MemoryChecker::Access access) {
  switch (access) {
  case MemoryChecker::Access::Read:
    return "reads";
  case MemoryChecker::Access::Write:
    return "writes";
  case MemoryChecker::Access::Atomic:
    return "updates";
  }
  return "";
}

bool within(std::span<const std::byte> span, const std::byte *byte) {
  return byte >= span.data() && byte < span.data() + span.size();
}

/// Atomic operations are remembered by word, so that a plain access to a part of one finds it.
const void *wordOf(const std::byte *byte) {
  return reinterpret_cast<const void *>(uintptr_t(byte) & ~uintptr_t(3));
}

} // namespace

void MemoryChecker::startLaunch(std::span<const std::byte> staticPart,
                                std::span<const std::byte> dynamicPart) {
  assert(staticPart.size() <= SharedMemory::mostStaticBytes);
  if (!globalCells) {
    auto cells = [](size_t count) {
      return static_cast<Cell *>(reserveAddresses(count * sizeof(Cell)));
    };
    globalCells = cells(Arena::maxSequence);
    staticCells = cells(SharedMemory::mostStaticBytes);
    dynamicCells = cells(SharedMemory::mostDynamicBytes);
  }
  staticShared = staticPart;
  dynamicShared = dynamicPart;
  blocks.clear();
  firstEpoch = epoch + 1;
  grid.startLaunch();
  lines.clear();
}

void MemoryChecker::startBlock(unsigned block, unsigned threads) {
  ++epoch;
  blocks.push_back(block);
  clocks.start(threads);
  grid.startBlock(threads);
  proxyFences.assign(threads, {});
  productReads.assign(dynamicShared.size(), 0);
}

MemoryChecker::Place MemoryChecker::find(const void *address) {
  auto *byte = static_cast<const std::byte *>(address);
  Arena &arena = Arena::instance();
  if (arena.contains(byte))
    return {Space::Global, globalCells + arena.offset(byte), arena.states(byte)};
  if (within(staticShared, byte))
    return {Space::StaticShared, staticCells + (byte - staticShared.data()), nullptr};
  if (SharedMemory::isDynamic(byte))
    return {Space::DynamicShared, dynamicCells + SharedMemory::dynamicOffset(byte), nullptr};
  return {};
}

bool MemoryChecker::inBounds(const Place &place, const std::byte *byte, size_t i) const {
  switch (place.space) {
  case Space::Global:
    return place.states[i] & Arena::Allocated;
  case Space::StaticShared:
    return within(staticShared, byte);
  case Space::DynamicShared:
    return within(dynamicShared, byte);
  case Space::None:
    break;
  }
  return true;
}

void MemoryChecker::forget(Cell &cell, Space space) const {
  // Every block has shared memory of its own; global memory is the whole launch's.
  uint32_t oldest = space == Space::Global ? firstEpoch : epoch;
  if (cell.writeEpoch < oldest) {
    cell.writer = 0;
    cell.atomic = cell.pending = false;
  }
  if (cell.readEpoch < oldest)
    cell.readers[0] = cell.readers[1] = 0;
}

bool MemoryChecker::ordered(unsigned thread, uint32_t otherEpoch, unsigned other, Time time) const {
  if (otherEpoch == epoch)
    return clocks.knows(thread, other, time);
  return grid.knows(thread, clocks, otherEpoch, other, time);
}

bool MemoryChecker::initialised(const Place &place, const Cell &cell, const std::byte *byte,
                                size_t i) {
  if (place.space != Space::Global)
    return cell.writer;
  if (place.states[i] & Arena::Initialised)
    return true;
  if (!Arena::instance().trusted(byte))
    return false;
  place.states[i] |= Arena::Initialised;
  return true;
}

void MemoryChecker::access(unsigned thread, const void *address, size_t bytes, Access access,
                           const void *code) {
  Place place = find(address);
  if (place.space == Space::None)
    return;
  auto *first = static_cast<const std::byte *>(address);
  if (access == Access::Atomic && place.space == Space::Global)
    for (size_t i = 0; i < bytes; i += 4)
      grid.atomic(wordOf(first + i), epoch, thread, clocks.now(thread));
  bool faulty = false;
  for (size_t i = 0; i < bytes; ++i) {
    if (!inBounds(place, first + i, i)) {
      report(Defect::OutOfBounds, thread, first + i, access, "", code);
      return;
    }
    forget(place.cells[i], place.space);
    // One access has one finding, however many bytes it has.
    faulty = faulty || judge(thread, place, i, first + i, access, code);
    record(thread, place, i, access);
  }
  if (place.space == Space::Global && bytes != 0)
    lines.add(address, bytes, access != Access::Read);
}

bool MemoryChecker::judge(unsigned thread, const Place &place, size_t i, const std::byte *byte,
                          Access access, const void *code) {
  const Cell &cell = place.cells[i];
  if (cell.pending)
    return report(Defect::MissingWait, thread, byte, access,
                  ", which a cp.async of " + describeThread(cell.writeEpoch, cell.writer - 1u) +
                      " that was not waited for is to write",
                  code);
  if (cell.writer && !(access == Access::Atomic && cell.atomic) &&
      !ordered(thread, cell.writeEpoch, cell.writer - 1u, cell.writeTime) &&
      !(cell.atomic && grid.knowsAtomics(thread, clocks, wordOf(byte))))
    return report(Defect::Race, thread, byte, access,
                  ", which " + describeThread(cell.writeEpoch, cell.writer - 1u) +
                      " wrote, with nothing that orders the two",
                  code);
  if (access != Access::Read)
    for (unsigned slot = 0; slot < 2; ++slot)
      if (cell.readers[slot] &&
          !ordered(thread, cell.readEpoch, cell.readers[slot] - 1u, cell.readTimes[slot]))
        return report(Defect::Race, thread, byte, access,
                      ", which " + describeThread(cell.readEpoch, cell.readers[slot] - 1u) +
                          " read, with nothing that orders the two",
                      code);
  if (access != Access::Read && place.space == Space::DynamicShared &&
      productReads[SharedMemory::dynamicOffset(byte)])
    return report(Defect::MissingWait, thread, byte, access,
                  ", which a wgmma that was not waited for reads", code);
  if (access != Access::Write && !initialised(place, cell, byte, i))
    return report(Defect::Uninitialised, thread, byte, access, ", which nobody wrote", code);
  return false;
}

void MemoryChecker::record(unsigned thread, const Place &place, size_t i, Access access) {
  Cell &cell = place.cells[i];
  auto self = uint16_t(thread + 1);
  Time now = clocks.now(thread);
  if (access == Access::Read) {
    if (cell.readEpoch != epoch)
      cell.readers[0] = cell.readers[1] = 0;
    cell.readEpoch = epoch;
    // The first reader gives its place only to one who comes after it.
    bool first = !cell.readers[0] || clocks.knows(thread, cell.readers[0] - 1u, cell.readTimes[0]);
    cell.readers[first ? 0 : 1] = self;
    cell.readTimes[first ? 0 : 1] = now;
    return;
  }
  cell.writeEpoch = epoch;
  cell.writer = self;
  cell.writeTime = now;
  cell.readers[0] = cell.readers[1] = 0;
  cell.atomic = access == Access::Atomic;
  cell.pending = false;
  if (place.states)
    place.states[i] |= Arena::Initialised;
}

void MemoryChecker::reportMisaligned(unsigned thread, const void *address, size_t bytes,
                                     const void *code) {
  findings.add(Defect::Misaligned, code, blocks.back(), thread,
               "accesses " + std::to_string(bytes) + " bytes at " +
                   describe(static_cast<const std::byte *>(address)) +
                   ", which is no multiple of that");
}

void MemoryChecker::issueCopy(unsigned thread, const void *target, size_t bytes, const void *code) {
  access(thread, target, bytes, Access::Write, code);
  if (Place place = find(target); place.space != Space::None)
    for (size_t i = 0; i < bytes; ++i)
      place.cells[i].pending = true;
}

void MemoryChecker::completeCopy(unsigned thread, const void *target, size_t bytes) {
  if (Place place = find(target); place.space != Space::None)
    for (size_t i = 0; i < bytes; ++i)
      record(thread, place, i, Access::Write);
}

void MemoryChecker::issueProduct(unsigned thread, const void *address, size_t bytes,
                                 const void *code) {
  access(thread, address, bytes, Access::Read, code);
  Place place = find(address);
  auto *first = static_cast<const std::byte *>(address);
  for (size_t i = 0; i < bytes && inBounds(place, first + i, i); ++i) {
    ++productReads[SharedMemory::dynamicOffset(first + i)];
    if (const Cell &cell = place.cells[i]; cell.writer && !readyForProducts(thread, cell))
      report(Defect::Race, thread, first + i, Access::Read,
             ", which " + describeThread(cell.writeEpoch, cell.writer - 1u) +
                 " wrote with no fence.proxy.async between that and wgmma",
             code);
  }
}

void MemoryChecker::completeProduct(unsigned thread, const void *address, size_t bytes) {
  Place place = find(address);
  auto *first = static_cast<const std::byte *>(address);
  for (size_t i = 0; i < bytes && inBounds(place, first + i, i); ++i) {
    --productReads[SharedMemory::dynamicOffset(first + i)];
    record(thread, place, i, Access::Read);
  }
}

void MemoryChecker::fenceProxy(unsigned thread) {
  proxyFences[thread].push_back(clocks.now(thread));
  clocks.publish(thread);
}

bool MemoryChecker::readyForProducts(unsigned thread, const Cell &cell) const {
  const std::vector<Time> &fences = proxyFences[cell.writer - 1u];
  auto fence = std::lower_bound(fences.begin(), fences.end(), cell.writeTime);
  return fence != fences.end() && clocks.knows(thread, cell.writer - 1u, *fence);
}

bool MemoryChecker::report(Defect defect, unsigned thread, const std::byte *byte, Access access,
                           const std::string &why, const void *code) {
  if (findings.isNew(defect, code))
    findings.add(defect, code, blocks.back(), thread,
                 std::string(verb(access)) + " " + describe(byte) + why);
  return true;
}

std::string MemoryChecker::describe(const std::byte *byte) const {
  if (Arena::instance().contains(byte))
    return Arena::instance().describe(byte);
  if (within(staticShared, byte))
    return "static shared byte " + std::to_string(byte - staticShared.data());
  return "dynamic shared byte " + std::to_string(SharedMemory::dynamicOffset(byte)) + " of " +
         std::to_string(dynamicShared.size());
}

std::string MemoryChecker::describeThread(uint32_t otherEpoch, unsigned other) const {
  std::string text = "thread " + std::to_string(other);
  if (otherEpoch != epoch)
    text += " of block " + std::to_string(blocks[otherEpoch - firstEpoch]);
  return text;
}
