//===- WatchLink.h - Connections between ranks that watch -------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::runtime {

/// What watching ranks tell each other.
struct WatchMessage {
  enum Kind : uint8_t {
    Alive,   ///< and where it is
    Ending,  ///< with an error of its own
    Verdict, ///< what has happened to a rank
    Done     ///< with all work
  };
  Kind kind = Alive;
  uint64_t begun = 0;              ///< Alive: RankProgress::Place
  std::optional<double> busy = {}; ///< Alive: its seconds
  double worked = 0;               ///< Alive: seconds that processors have worked for this process
  std::string where = {};          ///< of who says it, or has ended
  Error error = {};                ///< Ending, Verdict
  /// Verdict: the rank that has ended with an error of its own, which is `error`.
  std::optional<uint64_t> ended = {};
};

/// One end of a connection. Neither sending nor receiving waits.
class WatchLink {
public:
  explicit WatchLink(int socket = -1) : socket(socket) {}
  ~WatchLink();
  WatchLink(WatchLink &&other) noexcept;
  WatchLink &operator=(WatchLink &&other) noexcept;

  int getDescriptor() const { return socket; }
  bool isOpen() const { return socket >= 0; }

  /// Drops the message where the other end takes none.
  void send(const WatchMessage &message);

  /// All that has come. Closes this end where the other one is closed, or says what no rank says.
  std::vector<WatchMessage> receive();

private:
  void close();

  int socket = -1;
  std::string unread; // the begin of a line
};

/// Where a rank is.
struct RankHost {
  std::string name;
  std::string machine; ///< the same where addresses of this machine alone reach the same
};

/// "rank 2 on host"
std::string nameRank(size_t rank, const std::vector<RankHost> &hosts);

/// Connects rank 0 with all others: its links by rank, its own closed; every other rank gets one.
/// A collective. `hosts` are by rank. Fails where a rank cannot reach rank 0 within `patience`.
Expected<std::vector<WatchLink>> connectRanks(Communicator &communicator,
                                              const std::vector<RankHost> &hosts,
                                              std::chrono::seconds patience);

} // namespace sinter::runtime
