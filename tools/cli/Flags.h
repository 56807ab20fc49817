//===- Flags.h - Tables of options as flags ---------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"
#include "tools/cli/Checks.h"
#include "tools/cli/OneLine.h"
#include <algorithm>
#include <initializer_list>

namespace sinter::cli {

/// Lets an option take what its check lets pass.
template <typename T> void addCheck(CLI::Option &option, const OptionInfo &info) {
  const OptionCheck &check = info.check;
  if constexpr (std::is_same_v<T, uint64_t>)
    option.check(isSeed);
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    option.check(wholeNumber(static_cast<int64_t>(check.least), static_cast<int64_t>(check.most)));
  else if constexpr (std::is_same_v<T, double>)
    option.check(isNumber);
  if (!check.choices.empty())
    option.check(CLI::IsMember(CLI::detail::split(
        CLI::detail::find_and_replace(std::string(check.choices), ", ", ","), ',')));
}

template <typename T> struct WithoutOptional {
  using Type = T;
};
template <typename T> struct WithoutOptional<std::optional<T>> {
  using Type = T;
};

/// Adds the flag of an option.
template <typename T> void addFlag(CLI::App &command, const OptionInfo &info, T &value) {
  std::string name = std::string("--") + FlagName(info.id).text;
  std::string help = showFlags(std::string(info.help));
  CLI::Option *option;
  if constexpr (std::is_same_v<T, std::optional<DType>>)
    option = command.add_option(
        name, [&value](const CLI::results_t &texts) { return readOption(texts.back(), value); },
        help);
  else if constexpr (std::is_same_v<T, bool>)
    option = info.placeholder.empty() ? command.add_flag(name, value, help)
                                      : command.add_option(name, value, help);
  else
    option = command.add_option(name, value, help);
  if (!info.group.empty())
    option->group(std::string(info.group));
  if (!info.placeholder.empty())
    option->type_name(std::string(info.placeholder));
  if (info.showsDefault && !info.placeholder.empty())
    option->default_str(writeOption(value));
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    if (!info.takesMany) {
      option->allow_extra_args(false); // what follows is MODEL
      if (info.placeholder.ends_with(",..."))
        option->delimiter(',');
    }
  addCheck<typename WithoutOptional<T>::Type>(*option, info);
}

/// Adds the flags of a table: of all its options, or of those with these ids.
template <typename Options>
void addOptions(CLI::App &command, Options &options,
                std::initializer_list<std::string_view> ids = {}) {
  Options::visit(options, [&](const OptionInfo &info, auto &value) {
    if (info.flag && (ids.size() == 0 || std::ranges::find(ids, info.id) != ids.end()))
      addFlag(command, info, value);
  });
}

/// The ids of the options that were given to a command.
inline std::set<std::string, std::less<>> listGiven(const CLI::App &command) {
  std::set<std::string, std::less<>> given;
  for (const CLI::Option *option : command.get_options())
    if (std::string name = option->get_name(); option->count() != 0 && name.starts_with("--")) {
      std::ranges::replace(name, '-', '_');
      given.insert(name.substr(2));
    }
  return given;
}

} // namespace sinter::cli
