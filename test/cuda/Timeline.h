//===- Timeline.h - What streams and events order ---------------*- C++ -*-===//
//
// Work on one stream runs in order. Work on two streams may overlap, unless an event that one
// recorded was waited for by the other, or the host waited for the one before it gave work to the
// other. Memory that two pieces of work use, one of them writing, must be ordered so; that both
// happen to be right when they run one after the other proves nothing.
//
// Every stream numbers its work. A stream knows of each other stream up to which number all is done
// before its own next piece (a vector clock), and so does the host.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinter::fake {

/// A range of device memory that a piece of work touches.
struct Access {
  uint64_t begin;
  uint64_t end;
  bool writes;
};

class Timeline {
public:
  using Stream = unsigned;
  /// Up to which number the work of each stream is done.
  using Clock = std::map<Stream, uint64_t>;

  /// Where a piece of work stands: what is done before it, and itself.
  struct Place {
    Stream stream = 0;
    uint64_t number = 0;
    Clock before;
  };

  /// The next piece of work of a stream.
  void submit(Stream stream);
  /// The latest one.
  Place latest(Stream stream) { return {stream, clocks[stream][stream], clocks[stream]}; }

  /// What is done when all that the stream has been given is; what an event takes down.
  const Clock &clock(Stream stream) { return clocks[stream]; }
  /// The stream goes on only when that is done.
  void wait(Stream stream, const Clock &done);
  /// The host has waited for that: all that is submitted from now on comes after it.
  void waitOnHost(const Clock &done);

  /// A piece of work, called `what`, touches memory; it may be known late that it does. The name of
  /// another piece that it overlaps with, if nothing orders the two and one of them writes.
  std::optional<std::string> touch(const Place &place, const std::string &what,
                                   const Access &access);
  /// The same of the latest piece of a stream.
  std::optional<std::string> touch(Stream stream, const std::string &what, const Access &access) {
    return touch(latest(stream), what, access);
  }

  /// Whether so much is done that the work may begin.
  static bool isReady(const Place &place, const Clock &done);

private:
  struct Touch {
    Access access;
    Place place;
    std::string what;
  };

  static void merge(Clock &into, const Clock &other);
  static bool covers(const Clock &clock, const Place &place);

  std::map<Stream, Clock> clocks;
  Clock host;
  std::vector<Touch> touches; // those that the host has not waited for
};

} // namespace sinter::fake
