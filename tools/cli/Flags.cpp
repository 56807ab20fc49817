//===- Flags.cpp - The flag of an option ------------------------------------===//
//
// Instantiated here, once for every type of the tables: each takes a second to compile.
//
//===----------------------------------------------------------------------===//

#include "tools/cli/Flags.h"
#include "tools/cli/Checks.h"
#include "tools/cli/OneLine.h"

using namespace sinter;
using namespace sinter::cli;

/// Lets an option take what its check lets pass.
template <typename T> static void addCheck(CLI::Option &option, const OptionInfo &info) {
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

namespace {
template <typename T> struct WithoutOptional {
  using Type = T;
};
template <typename T> struct WithoutOptional<std::optional<T>> {
  using Type = T;
};
} // namespace

template <typename T> void cli::addFlag(CLI::App &command, const OptionInfo &info, T &value) {
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

#define SINTER_FLAG_OF(...)                                                                        \
  template void cli::addFlag(CLI::App &, const OptionInfo &, __VA_ARGS__ &);
SINTER_FLAG_OF(bool)
SINTER_FLAG_OF(double)
SINTER_FLAG_OF(int64_t)
SINTER_FLAG_OF(uint64_t)
SINTER_FLAG_OF(std::string)
SINTER_FLAG_OF(std::vector<std::string>)
SINTER_FLAG_OF(std::optional<DType>)
SINTER_FLAG_OF(std::optional<double>)
SINTER_FLAG_OF(std::optional<int64_t>)
#undef SINTER_FLAG_OF
