//===- StopText.h - Texts that end a generation -----------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// Lets a text through that comes piece by piece, up to the first of some texts, which is left out.
/// What may be the beginning of one is held back until it is known.
class StopText {
public:
  /// @param stops none of them empty; none: everything goes through at once.
  explicit StopText(std::vector<std::string> stops) : stops(std::move(stops)) {}

  /// What may be let through after `piece`; nothing once one was found.
  std::string push(std::string_view piece);

  /// What is held back, where the text ends without one.
  std::string flush();

  /// The one that was found, the earliest in the text, of those that begin there the first given.
  const std::optional<std::string> &getFound() const { return found; }

private:
  std::vector<std::string> stops;
  std::string held;
  std::optional<std::string> found;
};

} // namespace sinter
