//===- Warp.h - Operations that the lanes of a warp do together -*- C++ -*-===//
//
// A shuffle, a vote, a matrix product of a warp: each is a meeting of the lanes of a mask. Every
// lane arrives with its operands and waits; the last to arrive does the work for all of them,
// results included, and they go on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::simt {

inline constexpr uint32_t allLanes = 0xffffffffu;

/// What the lanes brought: for each its operands and where its results go, in the lane's own words.
struct WarpArguments {
  uint32_t mask; ///< the lanes that arrived
  const void *in[32];
  void *out[32];

  template <typename T> const T &operand(unsigned lane) const {
    return *static_cast<const T *>(in[lane]);
  }
  template <typename T> T &result(unsigned lane) const { return *static_cast<T *>(out[lane]); }
  bool has(unsigned lane) const { return mask >> lane & 1; }
};

/// An operation of a warp; there is one object of each kind.
struct WarpOperation {
  const char *name; ///< "__shfl_sync"
  void (*run)(const WarpArguments &arguments);
  bool ordersMemory = false; ///< what the lanes did before is visible to all of them after
};

/// A meeting that has begun.
struct Meeting {
  const WarpOperation *operation;
  uint32_t mask;    ///< the lanes that are to come
  uint32_t arrived; ///< those that have
  const void *code; ///< where the first of them goes on
  WarpArguments arguments;
};

/// The meetings that the lanes of one warp wait at: one, unless lanes diverge.
struct Warp {
  uint32_t live = 0; ///< lanes that have not finished
  std::vector<Meeting> meetings;
};

} // namespace sinter::simt
