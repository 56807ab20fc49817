//===- SharedMemory.cpp - The shared memory of the block that runs --------===//
#include "test/simt/SharedMemory.h"

#include "test/simt/KernelHooks.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <dlfcn.h>
#include <map>

using namespace sinter::simt;

alignas(1024) std::byte SharedMemory::dynamicBytes[mostDynamicBytes];

namespace {

/// Where the object that has the address was loaded.
const void *loadAddress(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

std::map<const void *, KernelModule> &modules() {
  static std::map<const void *, KernelModule> loaded;
  return loaded;
}

} // namespace

void sinter::simt::registerKernels(const void *code, char *sharedBegin, char *sharedEnd,
                                   bool checked) {
  // Several files may be linked into one module; each of them registers.
  KernelModule &module = modules()[loadAddress(code)];
  module.staticShared = std::as_writable_bytes(std::span(sharedBegin, sharedEnd));
  module.checked |= checked;
}

KernelModule sinter::simt::moduleOf(const void *code) {
  auto found = modules().find(loadAddress(code));
  return found == modules().end() ? KernelModule{} : found->second;
}

void SharedMemory::poison(std::span<std::byte> bytes) {
  if (!bytes.empty())
    memset(bytes.data(), 0xFF, bytes.size());
}
