//===- SharedMemory.cpp - The shared memory of the block that runs --------===//
#include "test/simt/SharedMemory.h"

#include "test/simt/KernelHooks.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace sinter::simt;

alignas(1024) std::byte SharedMemory::storage[baseOffset + mostDynamicBytes];

namespace {

/// Where the object that has the address was loaded.
const void *loadAddress(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/// The modules that have registered, by where they were loaded. Threads may load at a time.
struct Modules {
  std::mutex mutex;
  std::map<const void *, KernelModule> loaded;
};
Modules &modules() {
  static Modules all;
  return all;
}

} // namespace

void sinter::simt::registerKernels(const void *code, char *sharedBegin, char *sharedEnd,
                                   bool checked) {
  // Several files may be linked into one module; each of them registers.
  std::lock_guard lock(modules().mutex);
  KernelModule &module = modules().loaded[loadAddress(code)];
  module.staticShared = std::as_writable_bytes(std::span(sharedBegin, sharedEnd));
  module.checked |= checked;
}

KernelModule sinter::simt::moduleOf(const void *code) {
  std::lock_guard lock(modules().mutex);
  auto found = modules().loaded.find(loadAddress(code));
  return found == modules().loaded.end() ? KernelModule{} : found->second;
}

void SharedMemory::poison(std::span<std::byte> bytes) {
  if (!bytes.empty())
    memset(bytes.data(), 0xFF, bytes.size());
}
