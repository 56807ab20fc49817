//===- TrainRanks.h - What the ranks of a run tell each other ---*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Format/Executable.h"
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace sinter::runtime {

/// The ranks that a run is shared by. All of them call the same functions in the same order, and
/// come to the same results.
class TrainRanks {
public:
  /// One rank.
  TrainRanks() = default;
  /// Null: one rank.
  TrainRanks(Communicator *communicator, const Executable &executable);

  /// Whether this is the rank that speaks for all: writes logs, warns, has an eye on the folder.
  bool isFirst() const { return getRank() == 0; }
  size_t getRank() const { return all.ranks.empty() ? 0 : all.ranks[all.place]; }
  size_t size() const { return std::max<size_t>(all.size(), 1); }
  /// Of the ranks that have microbatches of their own, along the axis data: their number, and which
  /// of them this one is.
  size_t getDataRanks() const { return std::max<size_t>(data.size(), 1); }
  size_t getDataPlace() const { return data.place; }

  /// `own` of every rank along data, one after the other; of the same size on each.
  template <typename T> Expected<std::vector<T>> gather(std::span<const T> own) const {
    return gather(data, own);
  }
  /// `own` of the rank of the pipeline's last stage; of the same size on each.
  template <typename T> Expected<std::vector<T>> ofLastStage(std::span<const T> own) const {
    SINTER_TRY(std::vector<T> all, gather(pipeline, own));
    return std::vector<T>(all.end() - static_cast<ptrdiff_t>(own.size()), all.end());
  }
  /// One value of every rank.
  template <typename T> Expected<std::vector<T>> gatherAll(const T &own) const {
    return gather(all, std::span(&own, 1));
  }
  /// The same of the ranks `members`, the first of which is rank 0, by place; empty on all others.
  Expected<std::vector<std::byte>> gatherOf(const std::vector<size_t> &members,
                                            std::span<const std::byte> own) const;
  /// A text of every rank.
  Expected<std::vector<std::string>> gatherTexts(const std::string &own) const;

  /// Fails on every rank where it has failed on one, with the first one's error.
  Expected<void> agree(Expected<void> own) const;

private:
  template <typename T>
  Expected<std::vector<T>> gather(const RankGroup &group, std::span<const T> own) const {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    std::vector<T> result(own.begin(), own.end());
    if (group.size() < 2)
      return result;
    result.resize(own.size() * group.size());
    if (auto gathered = communicator->allGather(group, std::as_bytes(own),
                                                std::as_writable_bytes(std::span(result)));
        !gathered)
      return tl::unexpected(std::move(gathered).error());
    return result;
  }

  Communicator *communicator = nullptr;
  RankGroup all, data, pipeline;
};

} // namespace sinter::runtime
