#include "runtime/Collective/Watch.h"
#include "runtime/Collective/WatchLink.h"
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds beat(200);
// Time for others to say the same error, of which one is then enough.
constexpr milliseconds grace(300);
constexpr std::chrono::seconds patience(20);
// What a command may take of its predicted time: predictions are of a machine of its own.
constexpr double slack = 10;
// How much longer a command may take that no processor works on.
constexpr double patienceFactor = 10;

// What a rank says of itself at first, in the same size on all.
struct Introduction {
  char version[32] = {}, host[64] = {}, machine[64] = {};
};

template <size_t size> void write(char (&field)[size], const std::string &text) {
  text.copy(field, size - 1);
}

Expected<std::vector<RankHost>> introduce(Communicator &communicator) {
  Introduction own;
  write(own.version, SINTER_VERSION);
  ::gethostname(own.host, sizeof own.host - 1);
  std::error_code ignored;
  write(own.machine, std::string(own.host) + " " +
                         std::filesystem::read_symlink("/proc/self/ns/net", ignored).string());
  std::vector<Introduction> all(communicator.size());
  SINTER_CHECK(communicator.allGather(makeWholeGroup(communicator),
                                      std::as_bytes(std::span(&own, 1)),
                                      std::as_writable_bytes(std::span(all))));
  std::vector<RankHost> hosts;
  for (const Introduction &rank : all)
    hosts.push_back({rank.host, rank.machine});
  for (size_t i = 1; i < all.size(); ++i)
    if (std::string_view(all[i].version) != all[0].version)
      return fail(nameRank(i, hosts),
                  std::string("is Sinter ") + all[i].version + ", rank 0 on " + hosts[0].name +
                      " is " + all[0].version,
                  "install the same version everywhere");
  return hosts;
}

struct Peer {
  size_t rank = 0;
  WatchLink link;
  Clock::time_point heard; ///< when it last spoke
  Clock::time_point moved; ///< when it was last seen anywhere but in the command where it is
  WatchMessage last;       ///< the last that it said of itself
  double worked = 0;       ///< by then
  bool done = false;

  void note(WatchMessage alive, Clock::time_point now) {
    if (alive.begun != last.begun || !alive.busy) {
      moved = now;
      worked = alive.worked;
    }
    last = std::move(alive);
  }
};

} // namespace

struct Watch::Impl {
  Communicator &communicator;
  WatchOptions options;
  std::vector<RankHost> hosts;
  RankProgress progress;
  std::vector<Peer> peers; // of rank 0 all others, of those rank 0
  int wakeUp = -1;

  std::mutex mutex;
  std::condition_variable changed;
  bool leaving = false;
  std::optional<Error> ending;         // this rank's own
  std::optional<WatchMessage> verdict; // what ended the watch
  bool told = false, returned = false; // onFailure is called, has returned

  // Of the thread's.
  bool saidEnding = false;
  std::optional<std::pair<Clock::time_point, WatchMessage>> pending; // becomes the verdict then

  std::jthread thread;

  Impl(Communicator &communicator, WatchOptions options)
      : communicator(communicator), options(std::move(options)) {}
  ~Impl() {
    {
      std::lock_guard lock(mutex);
      leaving = true;
    }
    changed.notify_all();
    wake();
    if (thread.joinable())
      thread.join();
    communicator.progress = nullptr;
    if (wakeUp >= 0)
      ::close(wakeUp);
  }

  bool isZero() const { return communicator.getRank() == 0; }
  void wake() const { ::eventfd_write(wakeUp, 1); }
  void tell(const WatchMessage &message) {
    for (Peer &peer : peers)
      peer.link.send(message);
  }

  void watch();
  void rest();
  WatchMessage describeSelf() const;
  void listen(Peer &peer);
  void judge();
  void judgeSilence(const Peer &peer);
  void judgeStuck(const Peer &peer, Clock::time_point known);
  void sayEnding();
  void conclude(WatchMessage verdict);
  void concludeOn(size_t rank, std::string why, std::string remedy);
};

WatchMessage Watch::Impl::describeSelf() const {
  RankProgress::Place place = progress.read();
  WatchMessage message;
  message.begun = place.begun;
  if (place.busy)
    message.busy = std::chrono::duration<double>(*place.busy).count();
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  message.worked = double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  message.where = std::move(place.text);
  return message;
}

/// Waits for the next beat, or for something to happen.
void Watch::Impl::rest() {
  std::vector<pollfd> entries = {{wakeUp, POLLIN, 0}};
  for (const Peer &peer : peers)
    if (peer.link.isOpen())
      entries.push_back({peer.link.getDescriptor(), POLLIN, 0});
  ::poll(entries.data(), entries.size(), beat.count() / 2);
  eventfd_t count;
  if (entries.front().revents != 0)
    ::eventfd_read(wakeUp, &count);
}

void Watch::Impl::watch() {
  Peer self; // rank 0 looks at itself, too
  Clock::time_point spoke, looked = self.moved = Clock::now();
  for (Peer &peer : peers)
    peer.heard = peer.moved = looked;
  while (!verdict) {
    rest();
    Clock::time_point now = Clock::now();
    // Who was stopped itself knows nothing of others' silence.
    if (now - looked > options.timeout / 2)
      for (Peer &peer : peers)
        peer.heard = peer.moved = now;
    looked = now;
    {
      std::lock_guard lock(mutex);
      if (leaving)
        break;
    }
    for (Peer &peer : peers)
      listen(peer);
    WatchMessage own = describeSelf();
    self.note(own, now);
    if (now - spoke >= beat) {
      tell(own);
      spoke = now;
    }
    sayEnding();
    judge();
    if (!verdict && isZero())
      judgeStuck(self, now);
  }
  if (!verdict)
    tell(WatchMessage{WatchMessage::Done});
}

void Watch::Impl::listen(Peer &peer) {
  for (WatchMessage &message : peer.link.receive()) {
    peer.heard = Clock::now();
    switch (message.kind) {
    case WatchMessage::Alive:
      peer.note(std::move(message), peer.heard);
      break;
    case WatchMessage::Ending:
      message.kind = WatchMessage::Verdict;
      message.ended = peer.rank;
      if (!pending)
        pending = {Clock::now() + grace, std::move(message)};
      break;
    case WatchMessage::Verdict:
      conclude(std::move(message));
      return;
    case WatchMessage::Done:
      peer.done = true;
      break;
    }
  }
}

void Watch::Impl::sayEnding() {
  std::optional<Error> error;
  {
    std::lock_guard lock(mutex);
    error = ending;
  }
  if (!error || saidEnding)
    return;
  saidEnding = true;
  WatchMessage message{isZero() ? WatchMessage::Verdict : WatchMessage::Ending};
  message.where = progress.read().text;
  message.error = *error;
  if (!isZero())
    return tell(message);
  message.ended = 0;
  conclude(std::move(message));
}

void Watch::Impl::judge() {
  for (const Peer &peer : peers) {
    if (verdict)
      return;
    if (!peer.done && !(pending && pending->second.ended == peer.rank))
      judgeSilence(peer);
    if (!verdict && !peer.done && peer.link.isOpen())
      judgeStuck(peer, peer.heard);
  }
  if (!verdict && pending && Clock::now() >= pending->first)
    conclude(pending->second);
}

static std::string seconds(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

void Watch::Impl::judgeSilence(const Peer &peer) {
  std::string where = peer.last.where.empty() ? "" : ", last seen " + peer.last.where;
  Clock::duration silence = Clock::now() - peer.heard;
  if (!peer.link.isOpen())
    return concludeOn(peer.rank,
                      "has ended without a word (killed, crashed or out of memory)" + where,
                      "see its messages and the system's log there");
  if (silence > options.timeout)
    concludeOn(peer.rank,
               "is silent for " + seconds(silence) +
                   " (stopped, swapping, or its network is down)" + where,
               "see what that machine does; `rank_timeout` allows more");
}

/// @param known until when it is known where the rank is; of who is silent nothing is
void Watch::Impl::judgeStuck(const Peer &peer, Clock::time_point known) {
  if (!peer.last.busy)
    return;
  auto most = options.timeout + std::chrono::duration<double>(slack * *peer.last.busy);
  Clock::duration time = known - peer.moved;
  // Where others have the processors a command takes long. One that waits for something is waited
  // for longer.
  bool works = peer.last.worked - peer.worked > most.count() / 2;
  if (time > (works ? most : patienceFactor * most))
    concludeOn(peer.rank, "is stuck for " + seconds(time) + " " + peer.last.where,
               "see what that machine does; `rank_timeout` allows more");
}

void Watch::Impl::concludeOn(size_t rank, std::string why, std::string remedy) {
  WatchMessage reached{WatchMessage::Verdict};
  reached.error = {nameRank(rank, hosts), std::move(why), std::move(remedy)};
  conclude(std::move(reached));
}

/// Ends the watch: all others are told, then this rank.
void Watch::Impl::conclude(WatchMessage reached) {
  tell(reached);
  Error error = reached.error;
  std::unique_lock lock(mutex);
  if (reached.ended && *reached.ended < hosts.size()) {
    error = {nameRank(*reached.ended, hosts),
             "has ended with an error " + reached.where + ": " + error.message(), ""};
    // This rank may be about to say the same.
    if (!isZero())
      changed.wait_for(lock, grace, [&] { return ending || leaving; });
  }
  // What went wrong here may be why another one ended, but not why it was killed.
  told = options.onFailure && !(reached.ended && ending);
  verdict = std::move(reached);
  lock.unlock();
  communicator.abandon(error);
  changed.notify_all();
  if (told)
    options.onFailure(error);
  lock.lock();
  returned = true;
  changed.notify_all();
}

Watch::Watch(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Watch::~Watch() = default;

Expected<std::unique_ptr<Watch>> Watch::start(Communicator &communicator, WatchOptions options) {
  auto impl = std::make_unique<Impl>(communicator, std::move(options));
  SINTER_TRY(impl->hosts, introduce(communicator));
  SINTER_TRY(std::vector<WatchLink> links, connectRanks(communicator, impl->hosts, patience));
  for (size_t rank = 0; rank < links.size(); ++rank)
    if (links[rank].isOpen()) {
      Peer &peer = impl->peers.emplace_back();
      peer.rank = rank;
      peer.link = std::move(links[rank]);
    }
  impl->wakeUp = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (impl->wakeUp < 0)
    return fail("watching ranks", "there is no file descriptor for it", "allow more open files");
  communicator.progress = &impl->progress;
  impl->thread = std::jthread([impl = impl.get()] { impl->watch(); });
  return std::unique_ptr<Watch>(new Watch(std::move(impl)));
}

bool Watch::end(const Error &error) {
  std::unique_lock lock(impl->mutex);
  if (!impl->verdict)
    impl->ending = error;
  impl->wake();
  impl->changed.notify_all();
  impl->changed.wait_for(lock, 2 * grace, [&] { return impl->verdict.has_value(); });
  if (impl->told) {
    impl->changed.wait(lock, [&] { return impl->returned; });
    return true;
  }
  const auto &verdict = impl->verdict;
  return verdict && verdict->ended && *verdict->ended != impl->communicator.getRank() &&
         verdict->error.message() == error.message();
}

} // namespace sinter::runtime
