//===- VectorClones.h - One loop, several instruction sets ------*- C++ -*-===//
//
// SINTER_VECTOR_CLONES before a function compiles it for AVX-512, AVX2 and the baseline; the
// dynamic loader picks the widest that the processor has. What it calls must be inlined into it
// (SINTER_INLINE) to be compiled the same way. Sanitizers cannot run before the loader's choice is
// made, so with them there is the baseline alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SINTER_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SINTER_SANITIZED
#endif

#if defined(__x86_64__) && !defined(SINTER_SANITIZED)
#define SINTER_VECTOR_CLONES                                                                       \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SINTER_VECTOR_CLONES
#endif

#define SINTER_INLINE inline __attribute__((always_inline))
