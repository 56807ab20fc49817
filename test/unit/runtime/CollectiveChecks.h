// What every communicator must do, whoever moves the bytes.
#pragma once

#include "runtime/Collective/Agreement.h"
#include "runtime/Collective/Communicator.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace sinter::runtime::testing {

/// Byte `i` that a rank sends to `place`.
inline std::byte byteOf(size_t rank, size_t place, size_t i) {
  return static_cast<std::byte>((rank * 37 + place * 11 + i * 7 + i / 251) & 0xff);
}

/// All groups that one rank in every `stride` of the ranks has, in their order or turned around.
inline std::vector<RankGroup> makeGroups(const Communicator &communicator) {
  std::vector<RankGroup> groups = {makeWholeGroup(communicator)};
  for (size_t stride = 2; stride < communicator.size(); ++stride) {
    RankGroup group;
    for (size_t rank = communicator.getRank() % stride; rank < communicator.size(); rank += stride)
      group.ranks.push_back(rank);
    group.place = communicator.getRank() / stride;
    groups.push_back(group);
    std::ranges::reverse(group.ranks);
    group.place = group.size() - 1 - group.place;
    groups.push_back(group);
  }
  return groups;
}

inline Expected<void> expect(bool holds, const std::string &what) {
  if (!holds)
    return fail(what, "is not what it should be", "");
  return {};
}

inline Expected<void> checkMoves(Communicator &communicator, const RankGroup &group, size_t bytes) {
  size_t rank = communicator.getRank(), places = group.size();
  std::vector<std::byte> part(bytes), all(bytes * places), in(bytes * places), out(bytes * places);
  for (size_t i = 0; i < bytes; ++i)
    part[i] = byteOf(rank, 0, i);
  SINTER_CHECK(communicator.allGather(group, part, all));
  for (size_t place = 0; place < places; ++place)
    for (size_t i = 0; i < bytes; ++i)
      in[place * bytes + i] = byteOf(rank, place, i);
  SINTER_CHECK(communicator.allToAll(group, in, out));
  bool gathered = true, exchanged = true;
  for (size_t place = 0; place < places; ++place)
    for (size_t i = 0; i < bytes; ++i) {
      gathered &= all[place * bytes + i] == byteOf(group.ranks[place], 0, i);
      exchanged &= out[place * bytes + i] == byteOf(group.ranks[place], group.place, i);
    }
  SINTER_CHECK(expect(gathered, "allGather of " + std::to_string(bytes) + " bytes"));
  return expect(exchanged, "allToAll of " + std::to_string(bytes) + " bytes");
}

/// Sums within rounding of those in double precision, the same bits on all ranks.
template <typename T>
Expected<void> checkSum(Communicator &communicator, const RankGroup &group, size_t elements) {
  auto valueOf = [](size_t rank, size_t i) {
    return static_cast<T>(std::sin(double(rank * 1001 + i)));
  };
  std::vector<T> in(elements), out(elements);
  for (size_t i = 0; i < elements; ++i)
    in[i] = valueOf(communicator.getRank(), i);
  SINTER_CHECK(communicator.allReduce(group, std::as_bytes(std::span(in)),
                                      std::as_writable_bytes(std::span(out)),
                                      sizeof(T) == 4 ? DType::F32 : DType::F64));
  bool close = true;
  for (size_t i = 0; i < elements; ++i) {
    double sum = 0;
    for (size_t rank : group.ranks)
      sum += valueOf(rank, i);
    // Of n terms of at most 1 each of n - 1 additions rounds a sum of at most n.
    double n = double(group.size()), most = n * n * std::numeric_limits<T>::epsilon();
    close &= std::abs(out[i] - sum) <= most;
  }
  SINTER_CHECK(expect(close, "allReduce of " + std::to_string(elements) + " elements"));
  std::vector<std::byte> all(elements * sizeof(T) * group.size());
  SINTER_CHECK(communicator.allGather(group, std::as_bytes(std::span(out)), all));
  bool same = true;
  for (size_t place = 0; place < group.size() && elements; ++place)
    same &= std::memcmp(&all[place * elements * sizeof(T)], out.data(), elements * sizeof(T)) == 0;
  return expect(same, "allReduce on all ranks");
}

/// Messages around all ranks, over two channels that are received in the other order, several on
/// their way at a time.
inline Expected<void> checkMessages(Communicator &communicator, size_t bytes) {
  constexpr size_t rounds = 3;
  size_t rank = communicator.getRank(), ranks = communicator.size();
  size_t next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<std::vector<std::byte>> sent;
  for (size_t round = 0; round < rounds; ++round)
    for (uint32_t channel : {0, 5}) {
      std::vector<std::byte> &out = sent.emplace_back(bytes + channel);
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = byteOf(rank, round * 8 + channel, i);
      SINTER_CHECK(communicator.send(next, channel, out));
    }
  bool arrived = true;
  for (uint32_t channel : {5, 0})
    for (size_t round = 0; round < rounds; ++round) {
      SINTER_CHECK(communicator.advance());
      std::vector<std::byte> in(bytes + channel);
      SINTER_CHECK(communicator.receive(previous, channel, in));
      for (size_t i = 0; i < in.size(); ++i)
        arrived &= in[i] == byteOf(previous, round * 8 + channel, i);
    }
  for (const std::vector<std::byte> &out : sent)
    SINTER_CHECK(communicator.finishSend(out));
  return expect(arrived, "a message of " + std::to_string(bytes) + " bytes");
}

/// What rank 0 has, wherever it is other than what another rank has.
inline Expected<void> checkBroadcasts(Communicator &communicator) {
  size_t rank = communicator.getRank();
  for (bool first : {false, true}) {
    bool value = (rank == 0) == first;
    SINTER_CHECK(broadcast(&communicator, value));
    SINTER_CHECK(expect(value == first, "the broadcast of a flag"));
  }
  for (std::string first : {std::string(), std::string("one"), std::string(100'000, 'x')}) {
    std::string text = rank == 0 ? first : std::string(rank, 'y');
    SINTER_CHECK(broadcast(&communicator, text));
    SINTER_CHECK(expect(text == first, "the broadcast of a text"));
  }
  return {};
}

/// Everything, on groups of all kinds.
inline Expected<void> checkCollectives(Communicator &communicator) {
  for (size_t bytes : {1, 4096, 300'000})
    if (communicator.size() > 1)
      SINTER_CHECK(checkMessages(communicator, bytes));
  SINTER_CHECK(checkBroadcasts(communicator));
  for (const RankGroup &group : makeGroups(communicator)) {
    for (size_t bytes : {0, 1, 5, 4096, 300'000})
      SINTER_CHECK(checkMoves(communicator, group, bytes));
    for (size_t elements : {0, 1, 7, 1000, 100'003}) {
      SINTER_CHECK(checkSum<float>(communicator, group, elements));
      SINTER_CHECK(checkSum<double>(communicator, group, elements));
    }
  }
  return communicator.barrier();
}

} // namespace sinter::runtime::testing
