#include "sinter/StopText.h"
#include <algorithm>

using namespace sinter;

std::string StopText::push(std::string_view piece) {
  if (found)
    return "";
  held += piece;
  size_t end = std::string::npos;
  for (const std::string &stop : stops)
    if (size_t at = held.find(stop); at < end) {
      end = at;
      found = stop;
    }
  size_t through = std::min(end, held.size());
  // The longest end of what is held that is a beginning of one.
  for (const std::string &stop : stops)
    for (size_t at = held.size() - std::min(held.size(), stop.size()); !found && at < through; ++at)
      if (std::string_view(stop).starts_with(std::string_view(held).substr(at)))
        through = at;
  std::string text = held.substr(0, through);
  held.erase(0, through);
  return text;
}

std::string StopText::flush() { return found ? "" : std::move(held); }
