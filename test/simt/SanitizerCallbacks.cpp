//===- SanitizerCallbacks.cpp - Hears of every load and store -------------===//
//
// -fsanitize=thread makes the compiler call these before each access to memory. Its own library,
// which would define them, is not linked.
//
//===----------------------------------------------------------------------===//
#include "test/simt/Machine.h"

#include <cstring>

using sinter::simt::Machine;
using Access = sinter::simt::MemoryChecker::Access;

namespace {

void plain(void *address, size_t bytes, Access access, const void *code) {
  Machine::instance().access(address, bytes, access, code);
}

/// An access by one instruction, whose address the device requires to be a multiple of its size.
void aligned(void *address, size_t bytes, Access access, const void *code) {
  Machine::instance().requireAligned(address, bytes, code);
  plain(address, bytes, access, code);
}

} // namespace

#define SINTER_CALLER __builtin_return_address(0)

#define SINTER_ACCESS(bytes)                                                                       \
  void __tsan_read##bytes(void *address) { aligned(address, bytes, Access::Read, SINTER_CALLER); } \
  void __tsan_write##bytes(void *address) {                                                        \
    aligned(address, bytes, Access::Write, SINTER_CALLER);                                         \
  }                                                                                                \
  void __tsan_unaligned_read##bytes(void *address) {                                               \
    plain(address, bytes, Access::Read, SINTER_CALLER);                                            \
  }                                                                                                \
  void __tsan_unaligned_write##bytes(void *address) {                                              \
    plain(address, bytes, Access::Write, SINTER_CALLER);                                           \
  }

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}

SINTER_ACCESS(1)
SINTER_ACCESS(2)
SINTER_ACCESS(4)
SINTER_ACCESS(8)
SINTER_ACCESS(16)

void *__tsan_memcpy(void *target, const void *source, size_t bytes) {
  plain(const_cast<void *>(source), bytes, Access::Read, SINTER_CALLER);
  plain(target, bytes, Access::Write, SINTER_CALLER);
  return memcpy(target, source, bytes);
}
void *__tsan_memmove(void *target, const void *source, size_t bytes) {
  plain(const_cast<void *>(source), bytes, Access::Read, SINTER_CALLER);
  plain(target, bytes, Access::Write, SINTER_CALLER);
  return memmove(target, source, bytes);
}
void *__tsan_memset(void *target, int value, size_t bytes) {
  plain(target, bytes, Access::Write, SINTER_CALLER);
  return memset(target, value, bytes);
}

} // extern "C"
