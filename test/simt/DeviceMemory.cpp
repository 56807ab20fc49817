//===- DeviceMemory.cpp - Allocations of an emulated device ---------------===//
#include "test/simt/DeviceMemory.h"

#include "test/simt/Arena.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace sinter::simt;

DeviceMemory::~DeviceMemory() {
  for (void *pointer : allocations)
    Arena::instance().release(pointer);
}

void *DeviceMemory::allocate(size_t bytes) {
  void *pointer = Arena::instance().allocate(bytes);
  if (pointer)
    allocations.push_back(pointer);
  return pointer;
}

void DeviceMemory::release(void *pointer) {
  auto found = std::find(allocations.begin(), allocations.end(), pointer);
  assert(found != allocations.end() && "an allocation of somebody else");
  allocations.erase(found);
  Arena::instance().release(pointer);
}

void DeviceMemory::upload(void *device, const void *host, size_t bytes) {
  assert(Arena::instance().bytesFrom(device) >= bytes && "a copy past an allocation's end");
  memcpy(device, host, bytes);
  Arena::instance().markInitialised(device, bytes);
}

void DeviceMemory::download(void *host, const void *device, size_t bytes) {
  assert(Arena::instance().bytesFrom(device) >= bytes && "a copy past an allocation's end");
  memcpy(host, device, bytes);
}

void DeviceMemory::fill(void *device, unsigned char value, size_t bytes) {
  assert(Arena::instance().bytesFrom(device) >= bytes && "a fill past an allocation's end");
  memset(device, value, bytes);
  Arena::instance().markInitialised(device, bytes);
}
