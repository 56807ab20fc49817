//===- Arena.cpp - The memory that stands for a device's ------------------===//
#include "test/simt/Arena.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <sys/mman.h>

using namespace sinter::simt;

namespace {

size_t aligned(size_t offset) {
  return (offset + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
}

/// Gives whole pages back to the system; the rest is left as it is.
void discard(void *start, size_t bytes) {
  constexpr uintptr_t page = 4096;
  uintptr_t first = (uintptr_t(start) + page - 1) / page * page;
  uintptr_t last = (uintptr_t(start) + bytes) / page * page;
  if (first < last)
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace

void *sinter::simt::reserveAddresses(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(memory != MAP_FAILED && "the emulator needs address space");
  return memory;
}

Arena &Arena::instance() {
  static Arena arena;
  return arena;
}

Arena::Arena()
    : base(static_cast<std::byte *>(reserveAddresses(maxSequence))),
      stateBytes(static_cast<uint8_t *>(reserveAddresses(maxSequence))) {}

void *Arena::allocate(size_t bytes) {
  bytes = bytes ? bytes : 1;
  // The first gap at or after the cursor, then the first of all: an address comes back late, so
  // that a use after release meets memory that nobody owns.
  for (size_t from : {cursor, size_t(0)}) {
    size_t start = aligned(from + gap);
    for (auto next = allocations.lower_bound(from);; ++next) {
      size_t limit = next == allocations.end() ? maxSequence : next->first;
      if (start < limit && limit - start >= bytes + gap) {
        allocations.emplace(start, Allocation{bytes});
        cursor = start + bytes;
        memset(base + start, 0xFF, bytes);
        memset(stateBytes + start, Allocated, bytes);
        return base + start;
      }
      if (next == allocations.end())
        break;
      start = aligned(next->first + next->second.bytes + gap);
    }
  }
  return nullptr;
}

void Arena::release(void *pointer) {
  auto found = allocations.find(offset(pointer));
  assert(found != allocations.end() && "not the start of an allocation");
  memset(stateBytes + found->first, 0, found->second.bytes);
  discard(base + found->first, found->second.bytes);
  discard(stateBytes + found->first, found->second.bytes);
  allocations.erase(found);
}

std::map<size_t, Arena::Allocation>::const_iterator Arena::before(size_t offset) const {
  auto after = allocations.upper_bound(offset);
  return after == allocations.begin() ? allocations.end() : std::prev(after);
}

size_t Arena::bytesFrom(const void *address) const {
  if (!contains(address))
    return 0;
  size_t at = offset(address);
  auto found = before(at);
  if (found == allocations.end() || at >= found->first + found->second.bytes)
    return 0;
  return found->first + found->second.bytes - at;
}

void Arena::markInitialised(const void *address, size_t bytes) {
  memset(states(address), Allocated | Initialised, bytes);
}

void Arena::copyStates(const void *target, const void *source, size_t bytes) {
  if (trusted(source))
    markInitialised(target, bytes);
  else
    memmove(states(target), states(source), bytes);
}

bool Arena::hasUninitialised(const void *address, size_t bytes) const {
  const uint8_t *first = states(address);
  return !trusted(address) &&
         std::any_of(first, first + bytes, [](uint8_t state) { return !(state & Initialised); });
}

void Arena::trust(const void *address) {
  if (bytesFrom(address))
    allocations[before(offset(address))->first].trusted = true;
}

bool Arena::trusted(const void *address) const {
  return bytesFrom(address) && before(offset(address))->second.trusted;
}

std::string Arena::describe(const void *address) const {
  size_t at = offset(address);
  auto found = before(at);
  if (found == allocations.end())
    return "an address before every allocation";
  auto [start, allocation] = *found;
  std::string owner = "an allocation of " + std::to_string(allocation.bytes) + " bytes";
  if (at < start + allocation.bytes)
    return "byte " + std::to_string(at - start) + " of " + owner;
  auto next = std::next(found);
  if (next != allocations.end() && next->first - at < at - start - allocation.bytes)
    return std::to_string(next->first - at) + " bytes before an allocation of " +
           std::to_string(next->second.bytes) + " bytes";
  return std::to_string(at - start - allocation.bytes) + " bytes past the end of " + owner;
}
