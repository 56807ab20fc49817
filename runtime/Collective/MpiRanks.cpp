//===- MpiRanks.cpp - libSinterMpi.so: collectives over MPI -----------------===//
//
// Messages between two ranks, all at once and none that waits, so that a rank that has failed is
// noticed by who waits for it; MPI's own collectives would wait forever. Between two ranks messages
// stay in order, and all ranks run the same collectives, so one tag is enough; each channel has its
// own.
//
//===----------------------------------------------------------------------===//

#include "runtime/Collective/MpiRanks.h"
#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <mpi.h>
#include <mutex>
#include <numeric>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr int tag = 1;
// Of what one rank sends another: this and those behind it.
constexpr int firstChannel = 2;
// MPI counts in int.
constexpr size_t largestMessage = size_t(1) << 30;
// What is no larger comes at once when it comes, without a call of ours to help it along.
constexpr size_t smallMessage = 64;
// Who has waited for that for so long looks for it less often, and leaves a processor to others.
constexpr std::chrono::seconds patience{1};
constexpr std::chrono::milliseconds pause{1};
// Of all parts that allReduce() holds beside its operands.
constexpr size_t sumScratch = size_t(8) << 20;

std::string describe(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<size_t>(length));
}

tl::unexpected<Error> failMpi(int code) {
  return fail("MPI", describe(code), "see which rank has ended, and whether the network is up");
}

#define SINTER_MPI(call)                                                                           \
  if (int code = (call); code != MPI_SUCCESS)                                                      \
  return failMpi(code)

class MpiCommunicator final : public Communicator {
public:
  ~MpiCommunicator() override {
    // With a rank that has failed this would wait for it.
    if (started && !abandoned)
      MPI_Finalize();
  }

  Expected<void> open() {
    int provided = 0;
    SINTER_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    started = true;
    if (provided < MPI_THREAD_SERIALIZED)
      return fail("MPI", "it was built for programs of one thread", "use one that has threads");
    // Apart from the messages of others in this process.
    SINTER_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &world));
    SINTER_MPI(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
    int number = 0, count = 0;
    SINTER_MPI(MPI_Comm_rank(world, &number));
    SINTER_MPI(MPI_Comm_size(world, &count));
    self = static_cast<size_t>(number);
    ranks = static_cast<size_t>(count);
    return {};
  }

  size_t getRank() const override { return self; }
  size_t size() const override { return ranks; }

  Expected<void> allGather(const RankGroup &group, std::span<const std::byte> part,
                           std::span<std::byte> all) override {
    std::ranges::copy(part, all.subspan(group.place * part.size()).begin());
    return exchange(
        group, [&](size_t) { return part; },
        [&](size_t place) { return all.subspan(place * part.size(), part.size()); });
  }

  Expected<void> allToAll(const RankGroup &group, std::span<const std::byte> in,
                          std::span<std::byte> out) override {
    size_t bytes = in.size() / group.size(), own = group.place * bytes;
    std::ranges::copy(in.subspan(own, bytes), out.subspan(own).begin());
    return exchange(
        group, [&](size_t place) { return in.subspan(place * bytes, bytes); },
        [&](size_t place) { return out.subspan(place * bytes, bytes); });
  }

  Expected<void> allReduce(const RankGroup &group, std::span<const std::byte> in,
                           std::span<std::byte> out, DType type) override {
    assert((type == DType::F32 || type == DType::F64) && "sums are of f32 or f64");
    return type == DType::F32 ? addAll<float>(group, in, out) : addAll<double>(group, in, out);
  }

  Expected<void> send(size_t to, uint32_t channel, std::span<const std::byte> bytes) override {
    return forPieces(bytes, [&](std::span<const std::byte> piece) {
      senders.push_back(bytes.data());
      return MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, static_cast<int>(to),
                       firstChannel + static_cast<int>(channel), world, &sends.emplace_back());
    });
  }

  Expected<void> receive(size_t from, uint32_t channel, std::span<std::byte> bytes) override {
    requests.clear();
    SINTER_CHECK(forPieces(bytes, [&](std::span<std::byte> piece) {
      return MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                       static_cast<int>(from), firstChannel + static_cast<int>(channel), world,
                       &requests.emplace_back());
    }));
    return wait(bytes.size());
  }

  Expected<void> finishSend(std::span<const std::byte> bytes) override {
    requests.clear();
    for (size_t i = 0; i < sends.size(); ++i)
      if (senders[i] == bytes.data())
        requests.push_back(std::exchange(sends[i], MPI_REQUEST_NULL));
    return wait(bytes.size());
  }

  // What is large moves only while its sender calls MPI.
  Expected<void> advance() override {
    if (sends.empty())
      return {};
    int done = 0;
    SINTER_MPI(
        MPI_Testall(static_cast<int>(sends.size()), sends.data(), &done, MPI_STATUSES_IGNORE));
    if (done) {
      sends.clear();
      senders.clear();
    }
    return {};
  }

  Expected<void> barrier() override {
    std::byte nothing{};
    std::vector<std::byte> all(ranks);
    return allGather(makeGroupOfAll(), {&nothing, 1}, all);
  }

  void abandon(const Error &error) override {
    std::lock_guard lock(mutex);
    reason = error;
    abandoned = true;
  }

  std::optional<Error> getFailure() const override {
    if (!abandoned)
      return std::nullopt;
    std::lock_guard lock(mutex);
    return reason;
  }

private:
  RankGroup makeGroupOfAll() const {
    RankGroup group;
    group.ranks.resize(ranks);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    group.place = self;
    return group;
  }

  // Sends `part(place)` to every other place and receives `into(place)` from it.
  template <typename Part, typename Into>
  Expected<void> exchange(const RankGroup &group, Part part, Into into) {
    requests.clear();
    size_t count = group.size(), largest = 0;
    for (size_t i = 1; i < count; ++i) {
      size_t place = (group.place + count - i) % count;
      largest = std::max({largest, part(place).size(), into(place).size()});
      SINTER_CHECK(forPieces(into(place), [&](std::span<std::byte> piece) {
        return MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                         static_cast<int>(group.ranks[place]), tag, world,
                         &requests.emplace_back());
      }));
    }
    // Everyone begins with another one, so that nobody gets all messages at once.
    for (size_t i = 1; i < count; ++i) {
      size_t place = (group.place + i) % count;
      SINTER_CHECK(forPieces(part(place), [&](std::span<const std::byte> piece) {
        return MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                         static_cast<int>(group.ranks[place]), tag, world,
                         &requests.emplace_back());
      }));
    }
    return wait(largest);
  }

  template <typename Bytes, typename Start>
  static Expected<void> forPieces(Bytes bytes, Start start) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), largestMessage)))
      SINTER_MPI(start(bytes.first(std::min(bytes.size(), largestMessage))));
    return {};
  }

  // Until all messages, of so many bytes at the most, have come and gone. Ranks may be more than
  // processors, so who waits lets others run.
  Expected<void> wait(size_t largest) {
    auto begin = std::chrono::steady_clock::now();
    while (true) {
      int done = 0;
      SINTER_MPI(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                             MPI_STATUSES_IGNORE));
      if (done)
        return {};
      if (abandoned) {
        return tl::unexpected(*getFailure());
      }
      if (largest <= smallMessage && std::chrono::steady_clock::now() - begin > patience)
        std::this_thread::sleep_for(pause);
      else
        ::sched_yield();
    }
  }

  // Every place adds a share of the elements of all, in the order of places, and sends its sums.
  template <typename T>
  Expected<void> addAll(const RankGroup &group, std::span<const std::byte> in,
                        std::span<std::byte> out) {
    size_t places = group.size(), most = sumScratch / places / sizeof(T);
    std::vector<T> parts;
    for (size_t begin = 0, count = in.size() / sizeof(T); begin < count;) {
      size_t block = std::min(count - begin, most * places), share = (block + places - 1) / places;
      auto shareOf = [&](auto bytes, size_t place) {
        size_t first = std::min(place * share, block), last = std::min(first + share, block);
        return bytes.subspan((begin + first) * sizeof(T), (last - first) * sizeof(T));
      };
      auto own = shareOf(in, group.place);
      size_t elements = own.size() / sizeof(T);
      parts.resize(elements * places);
      auto bytes = std::as_writable_bytes(std::span(parts));
      auto partOf = [&](size_t place) { return bytes.subspan(place * own.size(), own.size()); };
      std::ranges::copy(own, partOf(group.place).begin());
      SINTER_CHECK(exchange(group, [&](size_t place) { return shareOf(in, place); }, partOf));
      auto sums = shareOf(out, group.place);
      for (size_t i = 0; i < elements; ++i) {
        T sum = 0;
        for (size_t place = 0; place < places; ++place)
          sum += parts[place * elements + i];
        std::memcpy(&sums[i * sizeof(T)], &sum, sizeof(T));
      }
      SINTER_CHECK(exchange(
          group, [&](size_t) { return std::span<const std::byte>(sums); },
          [&](size_t place) { return shareOf(out, place); }));
      begin += block;
    }
    return {};
  }

  MPI_Comm world = MPI_COMM_NULL;
  bool started = false;
  size_t self = 0, ranks = 1;
  std::vector<MPI_Request> requests;      // of the collective that runs
  std::vector<MPI_Request> sends;         // under way
  std::vector<const std::byte *> senders; // and where each begins
  mutable std::mutex mutex;               // of the reason
  std::optional<Error> reason;
  std::atomic<bool> abandoned = false; // there is a reason
};

} // namespace
} // namespace sinter::runtime

extern "C" __attribute__((visibility("default"))) sinter::runtime::OpenMpiRanks sinterOpenMpiRanks1;

void sinterOpenMpiRanks1(sinter::Expected<std::unique_ptr<sinter::runtime::Communicator>> &opened) {
  auto communicator = std::make_unique<sinter::runtime::MpiCommunicator>();
  if (auto started = communicator->open(); !started)
    opened = tl::unexpected(std::move(started).error());
  else
    opened = std::move(communicator);
}
