//===- Fibers.cpp - A stack and a place to go on for each thread ----------===//
#include "test/simt/Fibers.h"

#include <cassert>
#include <sys/mman.h>

using namespace sinter::simt;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

Fibers::Fibers(Body body) : body(body) {
  void *memory = mmap(nullptr, maxBlockThreads * stride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(memory != MAP_FAILED && "no address space for the stacks of a block");
  stacks = static_cast<std::byte *>(memory);
  for (unsigned i = 0; i < maxBlockThreads; ++i)
    mprotect(stacks + i * stride, page, PROT_NONE);
  restart();
}

Fibers::~Fibers() { munmap(stacks, maxBlockThreads * stride); }

void Fibers::restart() {
  for (unsigned i = 0; i < maxBlockThreads; ++i) {
    // Frames of equal depth would share one set of the first-level cache if all stacks began at the
    // same place of their pages.
    std::byte *top = stacks + (i + 1) * stride - (i % 64) * 64;
    fibers[i] = make_fcontext(top, size_t(top - (stacks + i * stride)) - page, entry);
  }
}

void Fibers::entry(transfer_t arrival) {
  auto *passage = static_cast<Passage *>(arrival.data);
  *passage->left = arrival.fctx;
  Body body = passage->pool->body;
  unsigned self = passage->to;
  for (;;)
    body(self);
}

void Fibers::jump(Context &from, unsigned to) {
  Passage passage{this, &from, to};
  transfer_t arrival = jump_fcontext(to == nowhere ? outside : fibers[to], &passage);
  *static_cast<Passage *>(arrival.data)->left = arrival.fctx;
}
