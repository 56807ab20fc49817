//===- Timeline.cpp - What streams and events order -----------------------===//
#include "test/cuda/Timeline.h"

#include <algorithm>

using namespace sinter::fake;

void Timeline::merge(Clock &into, const Clock &other) {
  for (auto [stream, number] : other)
    into[stream] = std::max(into[stream], number);
}

bool Timeline::covers(const Clock &clock, const Place &place) {
  auto found = clock.find(place.stream);
  return found != clock.end() && found->second >= place.number;
}

bool Timeline::isReady(const Place &place, const Clock &done) {
  return std::all_of(place.before.begin(), place.before.end(), [&](const auto &entry) {
    auto [stream, number] = entry;
    auto found = done.find(stream);
    uint64_t reached = found == done.end() ? 0 : found->second;
    return reached >= (stream == place.stream ? number - 1 : number);
  });
}

void Timeline::submit(Stream stream) {
  Clock &own = clocks[stream];
  merge(own, host);
  ++own[stream];
}

void Timeline::wait(Stream stream, const Clock &done) { merge(clocks[stream], done); }

void Timeline::waitOnHost(const Clock &done) {
  merge(host, done);
  std::erase_if(touches, [&](const Touch &touch) { return covers(host, touch.place); });
}

std::optional<std::string> Timeline::touch(const Place &place, const std::string &what,
                                           const Access &access) {
  std::optional<std::string> conflict;
  Touch *same = nullptr;
  for (Touch &other : touches) {
    bool overlaps = other.access.begin < access.end && access.begin < other.access.end;
    if (overlaps && (access.writes || other.access.writes) && !covers(place.before, other.place) &&
        !covers(other.place.before, place))
      conflict = other.what;
    if (other.place.stream == place.stream && other.access.begin == access.begin &&
        other.access.end == access.end && other.access.writes == access.writes)
      same = &other;
  }
  // Of the same accesses of a stream the last one alone matters: who comes after it comes after
  // all.
  Touch now{access, place, what};
  if (!same)
    touches.push_back(std::move(now));
  else if (same->place.number <= place.number)
    *same = std::move(now);
  return conflict;
}
