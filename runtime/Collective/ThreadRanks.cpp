#include "runtime/Collective/ThreadRanks.h"
#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace sinter::runtime {
namespace {

/// Where the ranks of one group leave what the others read. A collective is two meetings: one when
/// all have said where their parts are, one when all have read them.
struct ThreadMeeting {
  std::vector<std::span<const std::byte>> parts; ///< by place
  size_t arrived = 0;
  uint64_t round = 0; ///< meetings so far
};

/// What all ranks share.
struct Shared {
  explicit Shared(size_t ranks) : ranks(ranks) {}

  const size_t ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::vector<size_t>, ThreadMeeting> meetings; ///< by group
  /// What was sent and is not yet received, by sender, receiver and channel.
  std::map<std::tuple<size_t, size_t, uint32_t>, std::deque<std::span<const std::byte>>> messages;
  std::optional<size_t> failed; ///< the first rank that ended with an error

  void fail(size_t rank) {
    std::lock_guard lock(mutex);
    failed = failed.value_or(rank);
    changed.notify_all();
  }
};

class ThreadCommunicator final : public Communicator {
public:
  ThreadCommunicator(Shared &shared, size_t number) : shared(shared), number(number) {}

  size_t getRank() const override { return number; }
  size_t size() const override { return shared.ranks; }

  Expected<void> allGather(const RankGroup &group, std::span<const std::byte> part,
                           std::span<std::byte> all) override {
    return meet(group, part, [&](const ThreadMeeting &meeting) {
      for (size_t i = 0; i < group.size(); ++i)
        std::ranges::copy(meeting.parts[i], all.begin() + static_cast<ptrdiff_t>(i * part.size()));
    });
  }

  Expected<void> allToAll(const RankGroup &group, std::span<const std::byte> in,
                          std::span<std::byte> out) override {
    size_t bytes = in.size() / group.size();
    return meet(group, in, [&](const ThreadMeeting &meeting) {
      for (size_t i = 0; i < group.size(); ++i)
        std::ranges::copy(meeting.parts[i].subspan(group.place * bytes, bytes),
                          out.begin() + static_cast<ptrdiff_t>(i * bytes));
    });
  }

  Expected<void> allReduce(const RankGroup &group, std::span<const std::byte> in,
                           std::span<std::byte> out, DType type) override {
    return meet(group, in, [&](const ThreadMeeting &meeting) { add(meeting.parts, out, type); });
  }

  Expected<void> send(size_t to, uint32_t channel, std::span<const std::byte> bytes) override {
    std::lock_guard lock(shared.mutex);
    shared.messages[{number, to, channel}].push_back(bytes);
    shared.changed.notify_all();
    return {};
  }

  Expected<void> receive(size_t from, uint32_t channel, std::span<std::byte> bytes) override {
    std::unique_lock lock(shared.mutex);
    auto &waiting = shared.messages[{from, number, channel}];
    SINTER_CHECK(waitUntil(lock, [&] { return !waiting.empty(); }));
    std::span<const std::byte> sent = waiting.front();
    assert(sent.size() == bytes.size() && "what is sent has the size of what is received");
    // The sender does not touch it before it is gone from the queue.
    lock.unlock();
    std::ranges::copy(sent, bytes.begin());
    lock.lock();
    waiting.pop_front();
    shared.changed.notify_all();
    return {};
  }

  Expected<void> finishSend(std::span<const std::byte> bytes) override {
    std::unique_lock lock(shared.mutex);
    return waitUntil(lock, [&] {
      return std::ranges::none_of(shared.messages, [&](const auto &entry) {
        return std::get<0>(entry.first) == number &&
               std::ranges::any_of(entry.second,
                                   [&](auto sent) { return sent.data() == bytes.data(); });
      });
    });
  }

  Expected<void> advance() override { return {}; }

  Expected<void> barrier() override {
    return meet(makeWholeGroup(*this), {}, [](const ThreadMeeting &) {});
  }

  void abandon(const Error &error) override {
    std::lock_guard lock(shared.mutex);
    reason = error;
    shared.changed.notify_all();
  }

  std::optional<Error> getFailure() const override {
    std::lock_guard lock(shared.mutex);
    return describeFailure();
  }

private:
  /// Calls `read` once all ranks of the group are here with their parts, which stay until all have
  /// read them.
  template <typename Read>
  Expected<void> meet(const RankGroup &group, std::span<const std::byte> part, Read read) {
    SINTER_TRY(const ThreadMeeting *meeting, arrive(group, &part));
    read(*meeting);
    SINTER_TRY(meeting, arrive(group, nullptr));
    return {};
  }

  Expected<const ThreadMeeting *> arrive(const RankGroup &group,
                                         const std::span<const std::byte> *part) {
    std::unique_lock lock(shared.mutex);
    ThreadMeeting &meeting = shared.meetings[group.ranks];
    meeting.parts.resize(group.size());
    if (part)
      meeting.parts[group.place] = *part;
    uint64_t round = meeting.round;
    if (++meeting.arrived == group.size()) {
      meeting.arrived = 0;
      ++meeting.round;
      shared.changed.notify_all();
    }
    SINTER_CHECK(waitUntil(lock, [&] { return meeting.round != round; }));
    return &meeting;
  }

  /// Waits for what others do. Fails where this rank or another one does not go on.
  template <typename Done>
  Expected<void> waitUntil(std::unique_lock<std::mutex> &lock, Done done) const {
    shared.changed.wait(lock, [&] { return done() || shared.failed || reason; });
    if (reason || !done())
      return tl::unexpected(*describeFailure());
    return {};
  }

  /// @pre the mutex is held
  std::optional<Error> describeFailure() const {
    if (reason || !shared.failed)
      return reason;
    return Error{"rank " + std::to_string(*shared.failed), "has ended with an error",
                 "see what it says"};
  }

  static void add(const std::vector<std::span<const std::byte>> &parts, std::span<std::byte> out,
                  DType type);

  Shared &shared;
  size_t number;
  std::optional<Error> reason; ///< why this rank takes no part any more
};

template <typename T>
void addParts(const std::vector<std::span<const std::byte>> &parts, std::span<std::byte> out) {
  T *sums = reinterpret_cast<T *>(out.data());
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    T sum = 0;
    for (std::span<const std::byte> part : parts)
      sum += reinterpret_cast<const T *>(part.data())[i];
    sums[i] = sum;
  }
}

void ThreadCommunicator::add(const std::vector<std::span<const std::byte>> &parts,
                             std::span<std::byte> out, DType type) {
  assert((type == DType::F32 || type == DType::F64) && "sums are of f32 or f64");
  return type == DType::F32 ? addParts<float>(parts, out) : addParts<double>(parts, out);
}

} // namespace

Expected<void> runThreadRanks(size_t ranks,
                              const std::function<Expected<void>(Communicator &)> &run) {
  Shared shared(ranks);
  std::vector<Expected<void>> results(ranks);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < ranks; ++i)
      threads.emplace_back([&, i] {
        ThreadCommunicator communicator(shared, i);
        results[i] = run(communicator);
        if (!results[i])
          shared.fail(i);
      });
  }
  if (shared.failed)
    return results[*shared.failed];
  return {};
}

} // namespace sinter::runtime
