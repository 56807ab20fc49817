#include "runtime/Collective/WatchLink.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace sinter::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// No line of a rank's is longer.
constexpr size_t longestLine = 1 << 16;

std::string write(const WatchMessage &message) {
  json object = {{"kind", message.kind}, {"where", message.where}};
  if (message.kind == WatchMessage::Alive) {
    object["begun"] = message.begun;
    object["worked"] = message.worked;
    if (message.busy)
      object["busy"] = *message.busy;
  } else {
    object["what"] = message.error.what;
    object["why"] = message.error.why;
    object["remedy"] = message.error.remedy;
    if (message.ended)
      object["ended"] = *message.ended;
  }
  return writeJson(object) + "\n";
}

std::optional<WatchMessage> read(std::string_view line) {
  json object = parseJson(line);
  if (!object.is_object())
    return std::nullopt;
  auto text = [&](const char *key) {
    auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  auto number = [&](const char *key) -> std::optional<uint64_t> {
    auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned()
               ? std::optional(found->get<uint64_t>())
               : std::nullopt;
  };
  std::optional<uint64_t> kind = number("kind");
  if (!kind || *kind > WatchMessage::Done)
    return std::nullopt;
  WatchMessage message;
  message.kind = static_cast<WatchMessage::Kind>(*kind);
  message.begun = number("begun").value_or(0);
  if (auto busy = object.find("busy"); busy != object.end() && busy->is_number())
    message.busy = busy->get<double>();
  if (auto worked = object.find("worked"); worked != object.end() && worked->is_number())
    message.worked = worked->get<double>();
  message.where = text("where");
  message.error = {text("what"), text("why"), text("remedy")};
  message.ended = number("ended");
  return message;
}

// How the others find rank 0, as bytes that all have in the same size.
struct Endpoint {
  static constexpr size_t mostAddresses = 16;
  uint16_t port = 0; // 0: rank 0 listens to nothing
  uint32_t count = 0;
  sockaddr_storage addresses[mostAddresses] = {};
  std::byte token[32] = {}; // what a rank must say first
};

void setPort(sockaddr_storage &address, uint16_t port) {
  if (address.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in &>(address).sin_port = port;
  else
    reinterpret_cast<sockaddr_in6 &>(address).sin6_port = port;
}

// Of this machine, those that others may reach; its own among itself come first.
void listAddresses(Endpoint &endpoint, bool alone) {
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) != 0)
    return;
  for (bool loopback : {true, false})
    for (ifaddrs *entry = all; entry && (loopback || !alone); entry = entry->ifa_next) {
      if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) ||
          loopback != bool(entry->ifa_flags & IFF_LOOPBACK) ||
          endpoint.count == Endpoint::mostAddresses)
        continue;
      bool four = entry->ifa_addr->sa_family == AF_INET;
      if (!four && entry->ifa_addr->sa_family != AF_INET6)
        continue;
      // Addresses of one link mean something else on another machine.
      if (!four &&
          IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6 *>(entry->ifa_addr)->sin6_addr))
        continue;
      std::memcpy(&endpoint.addresses[endpoint.count++], entry->ifa_addr,
                  four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    }
  ::freeifaddrs(all);
}

uint16_t portOf(const sockaddr_storage &address) {
  return address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in &>(address).sin_port
                                      : reinterpret_cast<const sockaddr_in6 &>(address).sin6_port;
}

// A socket that listens at a port that the system chooses, to this machine alone or to all.
int listenAnywhere(bool alone, uint16_t &port) {
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(alone ? INADDR_LOOPBACK : INADDR_ANY);
  sockaddr_in6 six = {}; // and four
  six.sin6_family = AF_INET6;
  auto listen = [&](const void *wanted, socklen_t size) {
    sockaddr_storage address = {};
    std::memcpy(&address, wanted, size);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    int off = 0,
        socket = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (address.ss_family == AF_INET6)
      ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (socket >= 0 && ::bind(socket, generic, size) == 0 && ::listen(socket, SOMAXCONN) == 0 &&
        ::getsockname(socket, generic, &size) == 0) {
      port = portOf(address);
      return socket;
    }
    if (socket >= 0)
      ::close(socket);
    return -1;
  };
  int socket = alone ? -1 : listen(&six, sizeof six);
  return socket >= 0 ? socket : listen(&four, sizeof four);
}

bool waitFor(int socket, short events, Clock::time_point until) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd entry = {socket, events, 0};
  return left > 0 && ::poll(&entry, 1, static_cast<int>(left)) == 1;
}

/// Has messages sent when they are written (no Nagle's algorithm): one that waits for the
/// acknowledgement of the one before it is not sent at all where this rank ends meanwhile.
void sendAtOnce(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

struct Hello {
  std::byte token[32];
  uint64_t rank = 0;
};

bool readHello(int socket, Hello &hello, Clock::time_point until) {
  auto *bytes = reinterpret_cast<char *>(&hello);
  for (size_t done = 0; done < sizeof hello;) {
    if (!waitFor(socket, POLLIN, until))
      return false;
    ssize_t count = ::recv(socket, bytes + done, sizeof hello - done, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    done += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

Expected<std::vector<WatchLink>> acceptAll(int listening, const Endpoint &endpoint,
                                           const std::vector<RankHost> &hosts,
                                           Clock::time_point until) {
  std::vector<WatchLink> links(hosts.size());
  for (size_t missing = hosts.size() - 1; missing > 0;) {
    if (!waitFor(listening, POLLIN, until)) {
      size_t rank = 1;
      while (links[rank].isOpen())
        ++rank;
      return fail(nameRank(rank, hosts), "does not connect to " + nameRank(0, hosts),
                  "see whether it lives and the network between them lets TCP pass");
    }
    WatchLink link(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Hello hello;
    if (!link.isOpen() ||
        !readHello(link.getDescriptor(), hello, Clock::now() + std::chrono::seconds(1)))
      continue;
    // Who does not know the token is no rank.
    if (std::memcmp(hello.token, endpoint.token, sizeof hello.token) != 0 || hello.rank == 0 ||
        hello.rank >= hosts.size() || links[hello.rank].isOpen())
      continue;
    sendAtOnce(link.getDescriptor());
    links[hello.rank] = std::move(link);
    --missing;
  }
  return links;
}

Expected<std::vector<WatchLink>> connectToZero(const Endpoint &endpoint, size_t rank,
                                               const std::vector<RankHost> &hosts,
                                               Clock::time_point until) {
  for (uint32_t i = 0; i < endpoint.count && i < Endpoint::mostAddresses; ++i) {
    sockaddr_storage address = endpoint.addresses[i];
    bool four = address.ss_family == AF_INET;
    bool loopback =
        four ? ntohl(reinterpret_cast<sockaddr_in &>(address).sin_addr.s_addr) >> 24 == 127
             : IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6 &>(address).sin6_addr);
    if (loopback && hosts[rank].machine != hosts[0].machine)
      continue;
    setPort(address, endpoint.port);
    WatchLink link(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socklen_t size = four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    int socket = link.getDescriptor(), error = 0;
    socklen_t errorSize = sizeof error;
    if (!link.isOpen() || (::connect(socket, reinterpret_cast<sockaddr *>(&address), size) != 0 &&
                           errno != EINPROGRESS))
      continue;
    Clock::time_point soon = std::min(until, Clock::now() + std::chrono::seconds(2));
    if (!waitFor(socket, POLLOUT, soon) ||
        ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &errorSize) != 0 || error != 0)
      continue;
    Hello hello;
    std::ranges::copy(endpoint.token, hello.token);
    hello.rank = rank;
    if (::send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
      continue;
    sendAtOnce(socket);
    std::vector<WatchLink> links;
    links.push_back(std::move(link));
    return links;
  }
  return fail(nameRank(rank, hosts), "cannot reach " + nameRank(0, hosts) + " by TCP",
              "see whether the network between them lets TCP pass");
}

} // namespace

std::string nameRank(size_t rank, const std::vector<RankHost> &hosts) {
  return "rank " + std::to_string(rank) + " on " + hosts[rank].name;
}

WatchLink::~WatchLink() { close(); }
WatchLink::WatchLink(WatchLink &&other) noexcept
    : socket(std::exchange(other.socket, -1)), unread(std::move(other.unread)) {}
WatchLink &WatchLink::operator=(WatchLink &&other) noexcept {
  std::swap(socket, other.socket);
  std::swap(unread, other.unread);
  return *this;
}

void WatchLink::close() {
  if (!isOpen())
    return;
  // A socket that is closed before all was read drops what was not sent yet. More than a line is
  // not waiting; who sends without end is not listened to.
  char unused[longestLine];
  ::recv(socket, unused, sizeof unused, MSG_DONTWAIT);
  ::close(socket);
  socket = -1;
}

void WatchLink::send(const WatchMessage &message) {
  if (!isOpen())
    return;
  std::string line = write(message);
  // A part of a line would be nonsense with the next one; then this end is of no more use.
  ssize_t sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0 && static_cast<size_t>(sent) < line.size())
    ::shutdown(socket, SHUT_WR);
}

std::vector<WatchMessage> WatchLink::receive() {
  std::vector<WatchMessage> messages;
  char buffer[4096];
  while (isOpen()) {
    ssize_t count = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    if (count <= 0) {
      close();
      break;
    }
    unread.append(buffer, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = unread.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::optional<WatchMessage> message =
          read(std::string_view(unread).substr(begin, end - begin));
      if (!message) {
        close();
        return messages;
      }
      messages.push_back(std::move(*message));
    }
    unread.erase(0, begin);
    if (unread.size() > longestLine)
      close();
  }
  return messages;
}

Expected<std::vector<WatchLink>> connectRanks(Communicator &communicator,
                                              const std::vector<RankHost> &hosts,
                                              std::chrono::seconds patience) {
  Endpoint own;
  int listening = -1;
  bool isZero = communicator.getRank() == 0;
  if (isZero) {
    bool alone = std::ranges::all_of(
        hosts, [&](const RankHost &host) { return host.machine == hosts[0].machine; });
    listening = listenAnywhere(alone, own.port);
    listAddresses(own, alone);
    if (::getrandom(own.token, sizeof own.token, 0) != sizeof own.token)
      own.port = 0;
  }
  WatchLink closesIt(listening);
  std::vector<Endpoint> all(communicator.size());
  SINTER_CHECK(communicator.allGather(makeWholeGroup(communicator),
                                      std::as_bytes(std::span(&own, 1)),
                                      std::as_writable_bytes(std::span(all))));
  if (all[0].port == 0)
    return fail(nameRank(0, hosts), "has no TCP to be reached by", "see whether its network is up");
  Clock::time_point until = Clock::now() + patience;
  return isZero ? acceptAll(listening, own, hosts, until)
                : connectToZero(all[0], communicator.getRank(), hosts, until);
}

} // namespace sinter::runtime
