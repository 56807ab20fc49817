//===- Communicator.h - Ranks that move bytes to each other -----*- C++ -*-===//
//
// The ranks of a run are processes, on one machine or many, or threads of one process. Each runs
// the same program on its own part of the data, and so the same collectives in the same order. A
// collective is between the ranks of a group, all of which call it with spans of the same sizes.
//
// Beside collectives, a rank sends to another one what that one waits for.
//
// Bytes are moved, never added, so that what a program computes does not depend on who moves them;
// allReduce() alone adds, in an order of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sinter::runtime {

/// Ranks, each once, in the order of their places. A rank is in one group of every kind.
struct RankGroup {
  std::vector<size_t> ranks;
  size_t place = 0; ///< of the rank that asks: ranks[place] is its number

  size_t size() const { return ranks.size(); }
};

class RankProgress;

/// Used by one thread at a time. An error means that a rank has failed or cannot be reached any
/// more, which the error names; nothing can be done with the communicator afterwards but to end.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Where this rank tells how far it is; null where nobody asks.
  RankProgress *progress = nullptr;

  virtual size_t getRank() const = 0;
  virtual size_t size() const = 0;

  /// `all` is, place by place, the `part` of each rank. @pre all.size() == group.size() *
  /// part.size()
  virtual Expected<void> allGather(const RankGroup &group, std::span<const std::byte> part,
                                   std::span<std::byte> all) = 0;

  /// `in` and `out` are one part a place: part i of `out` is this rank's part of the `in` of place
  /// i.
  virtual Expected<void> allToAll(const RankGroup &group, std::span<const std::byte> in,
                                  std::span<std::byte> out) = 0;

  /// `out` is the sum of all `in`, elements of `type`, F32 or F64, the same bits on every rank of
  /// the group, in an order of its own.
  virtual Expected<void> allReduce(const RankGroup &group, std::span<const std::byte> in,
                                   std::span<std::byte> out, DType type) = 0;

  /// Begins to send bytes to another rank, and returns. They stay as they are until finishSend().
  /// What is sent to a rank over a channel it receives in the same order.
  virtual Expected<void> send(size_t to, uint32_t channel, std::span<const std::byte> bytes) = 0;

  /// Waits for as many bytes as `from` sends over the channel.
  virtual Expected<void> receive(size_t from, uint32_t channel, std::span<std::byte> bytes) = 0;

  /// Waits until all that was sent of memory that begins where `bytes` do has been received.
  virtual Expected<void> finishSend(std::span<const std::byte> bytes) = 0;

  /// Lets what is being sent go on, where nothing else does; called between commands.
  virtual Expected<void> advance() = 0;

  /// Returns once all ranks have called it.
  virtual Expected<void> barrier() = 0;

  /// From now on the collectives of this rank fail with `error`, also one that waits for others.
  /// Any thread may call it.
  virtual void abandon(const Error &error) = 0;

  /// Why the collectives of this rank fail: what abandon() was called with, or that another rank
  /// has ended; nothing while they do not. Any thread may call it.
  virtual std::optional<Error> getFailure() const = 0;
};

/// All ranks of a communicator.
RankGroup makeWholeGroup(const Communicator &communicator);

} // namespace sinter::runtime
