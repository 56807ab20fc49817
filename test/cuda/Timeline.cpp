//===- Timeline.cpp - What streams and events order -----------------------===//
#include "test/cuda/Timeline.h"

#include <algorithm>

using namespace sinter::fake;

void Timeline::merge(Clock &into, const Clock &other) {
  for (auto [stream, number] : other)
    into[stream] = std::max(into[stream], number);
}

bool Timeline::covers(const Clock &clock, const Touch &touch) {
  auto found = clock.find(touch.stream);
  return found != clock.end() && found->second >= touch.number;
}

void Timeline::submit(Stream stream) {
  Clock &own = clocks[stream];
  merge(own, host);
  ++own[stream];
}

void Timeline::wait(Stream stream, const Clock &done) { merge(clocks[stream], done); }

void Timeline::waitOnHost(const Clock &done) {
  merge(host, done);
  std::erase_if(touches, [&](const Touch &touch) { return covers(host, touch); });
}

std::optional<std::string> Timeline::touch(Stream stream, const std::string &what,
                                           const Access &access) {
  const Clock &own = clocks[stream];
  std::optional<std::string> conflict;
  Touch *same = nullptr;
  for (Touch &other : touches) {
    bool overlaps = other.access.begin < access.end && access.begin < other.access.end;
    if (overlaps && (access.writes || other.access.writes) && !covers(own, other))
      conflict = other.what;
    if (other.stream == stream && other.access.begin == access.begin &&
        other.access.end == access.end && other.access.writes == access.writes)
      same = &other;
  }
  // Of the same accesses of a stream the last one alone matters: who comes after it comes after
  // all.
  Touch now{access, stream, own.at(stream), what};
  if (same)
    *same = std::move(now);
  else
    touches.push_back(std::move(now));
  return conflict;
}
