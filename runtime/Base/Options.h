//===- Options.h - Options that are declared once ---------------*- C++ -*-===//
//
// A struct of options is a table: a .def file with one entry an option, its id, type, member,
// default and what else there is to know (OptionInfo):
//
//   SINTER_OPTION("weight_decay", double, weightDecay, 0.1,
//                 .group = "Optimizer", .placeholder = "F", .check = atLeast(0, "0.1"),
//                 .metadata = true, .help = "decay of parameters of two or more dimensions")
//
// The struct includes it twice, once for its members and once for what visits them:
//
//   struct OptimizerOptions {
//   #define SINTER_OPTION SINTER_OPTION_MEMBER
//   #include "compiler/Autodiff/OptimizerOptions.def"
//
//     template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
//   #define SINTER_OPTION SINTER_OPTION_VISIT
//   #include "compiler/Autodiff/OptimizerOptions.def"
//     }
//   };
//
// From there come the flag on the command line (--weight-decay), the option of a pass
// (weight-decay), the place in the compiler's cache key, the metadata of an executable
// ("weight_decay"), the checks below and docs/options.md. Libraries name an option in an error by
// its id in backquotes, `weight_decay`; the command line shows the flag there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// Which values an option takes.
struct OptionCheck {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool excludesMost = false;     ///< `most` itself is too much
  std::string_view example = {}; ///< of a number, for errors
  std::string_view choices = {}; ///< of a text: "f32, bf16, f16"
  bool hasNone = false;          ///< 0 or "" stands for what the library chooses
};

constexpr OptionCheck inRange(double least, double most, std::string_view example = "") {
  return {.least = least, .most = most, .example = example};
}
constexpr OptionCheck fromToBelow(double least, double limit, std::string_view example) {
  return {.least = least, .most = limit, .excludesMost = true, .example = example};
}
constexpr OptionCheck atLeast(double least, std::string_view example) {
  return {.least = least, .example = example};
}
constexpr OptionCheck oneOf(std::string_view choices) { return {.choices = choices}; }
/// The same for options whose default, 0 or "", stands for what the library chooses.
constexpr OptionCheck orNone(OptionCheck check) {
  check.hasNone = true;
  return check;
}

/// What is known of an option beside its value.
struct OptionInfo {
  std::string_view id;               ///< "weight_decay"
  std::string_view group = {};       ///< heading in help and manual; empty: "Options"
  std::string_view placeholder = {}; ///< of its value in help: "F"
  OptionCheck check = {};
  bool key = true;          ///< an executable depends on it: a part of the compiler's cache key
  bool metadata = false;    ///< an executable says what it was compiled with
  bool flag = true;         ///< the command line has it
  bool takesMany = false;   ///< several values may follow one flag
  bool showsDefault = true; ///< help tells the default; else `help` says what it is
  std::string_view help = {};
};

#define SINTER_OPTION_MEMBER(name, type, member, initial, ...) type member = initial;
#define SINTER_OPTION_VISIT(name, type, member, initial, ...)                                      \
  visitor(OptionInfo{.id = name, __VA_ARGS__}, self.member);

/// An id as flags and passes write it: "weight-decay".
struct FlagName {
  char text[32] = {};
  constexpr FlagName(std::string_view id) {
    for (size_t i = 0; i < id.size() && i + 1 < sizeof text; ++i)
      text[i] = id[i] == '_' ? '-' : id[i];
  }
};

/// An option's value as text, as metadata and passes hold it: the shortest that reads as the same
/// number, lists with commas, "" for what is not set.
std::string writeOption(bool value);
std::string writeOption(int value);
std::string writeOption(int64_t value);
std::string writeOption(uint64_t value);
std::string writeOption(double value);
std::string writeOption(const std::string &value);
std::string writeOption(const std::vector<std::string> &value);
std::string writeOption(DType value);
template <typename T> std::string writeOption(const std::optional<T> &value) {
  return value ? writeOption(*value) : std::string();
}

/// Reads what writeOption wrote; false where it is no such value.
bool readOption(std::string_view text, bool &value);
bool readOption(std::string_view text, int &value);
bool readOption(std::string_view text, int64_t &value);
bool readOption(std::string_view text, uint64_t &value);
bool readOption(std::string_view text, double &value);
bool readOption(std::string_view text, std::string &value);
bool readOption(std::string_view text, std::vector<std::string> &value);
bool readOption(std::string_view text, DType &value);
template <typename T> bool readOption(std::string_view text, std::optional<T> &value) {
  value.reset();
  return text.empty() || readOption(text, value.emplace());
}

/// Fails, naming the option, where a value is none that its check lets pass.
Expected<void> checkNumber(const OptionInfo &info, double value);
Expected<void> checkWhole(const OptionInfo &info, int64_t value);
Expected<void> checkText(const OptionInfo &info, const std::string &value);

template <typename T> Expected<void> checkOption(const OptionInfo &info, const T &value) {
  if constexpr (std::is_same_v<T, double>)
    return checkNumber(info, value);
  else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int>)
    return checkWhole(info, value);
  else if constexpr (std::is_same_v<T, std::string>)
    return checkText(info, value);
  return {};
}
template <typename T>
Expected<void> checkOption(const OptionInfo &info, const std::optional<T> &value) {
  return value ? checkOption(info, *value) : Expected<void>();
}

/// Checks every option of a struct; the first that does not pass is the error.
template <typename Options> Expected<void> checkOptions(const Options &options) {
  Expected<void> result;
  Options::visit(options, [&](const OptionInfo &info, const auto &value) {
    if (result)
      result = checkOption(info, value);
  });
  return result;
}

/// The options that an executable carries as metadata: id to text.
template <typename Options>
std::map<std::string, std::string> describeOptions(const Options &options) {
  std::map<std::string, std::string> texts;
  Options::visit(options, [&](const OptionInfo &info, const auto &value) {
    if (info.metadata)
      texts.emplace(info.id, writeOption(value));
  });
  return texts;
}

/// The ids of the options that are other than their defaults.
template <typename Options> std::set<std::string, std::less<>> listChanged(const Options &options) {
  std::map<std::string, std::string, std::less<>> defaults;
  const Options unchanged;
  Options::visit(unchanged, [&](const OptionInfo &info, const auto &value) {
    defaults.emplace(info.id, writeOption(value));
  });
  std::set<std::string, std::less<>> changed;
  Options::visit(options, [&](const OptionInfo &info, const auto &value) {
    if (defaults.find(info.id)->second != writeOption(value))
      changed.emplace(info.id);
  });
  return changed;
}

/// Where the metadata of an executable are looked up.
using FindMetadata = std::function<std::optional<std::string_view>(std::string_view id)>;

/// Error of an option that was given beside what `source` was compiled with.
tl::unexpected<Error> failCompiledWith(std::string_view id, const std::string &asked,
                                       const std::string &compiled, const std::string &source);
/// Error of metadata that this version does not write.
tl::unexpected<Error> failMetadata(std::string_view id, const std::string &source);

/// Fails where one of the options in `given` is another than the executable `source` was compiled
/// with.
template <typename Options>
Expected<void> compareOptions(const Options &options, const FindMetadata &find,
                              const std::set<std::string, std::less<>> &given,
                              const std::string &source) {
  Expected<void> result;
  Options::visit(options, [&](const OptionInfo &info, const auto &value) {
    if (!result || !info.metadata || !given.contains(info.id))
      return;
    std::optional<std::string_view> compiled = find(info.id);
    if (!compiled)
      result = failMetadata(info.id, source);
    else if (writeOption(value) != *compiled)
      result = failCompiledWith(info.id, writeOption(value), std::string(*compiled), source);
  });
  return result;
}

/// Takes over what the executable `source` was compiled with, for all options but those in `given`,
/// which must be the same.
template <typename Options>
Expected<void> adoptOptions(Options &options, const FindMetadata &find,
                            const std::set<std::string, std::less<>> &given,
                            const std::string &source) {
  Expected<void> result = compareOptions(options, find, given, source);
  Options::visit(options, [&](const OptionInfo &info, auto &value) {
    if (!result || !info.metadata || given.contains(info.id))
      return;
    std::optional<std::string_view> compiled = find(info.id);
    if (!compiled || !readOption(*compiled, value))
      result = failMetadata(info.id, source);
  });
  return result;
}

} // namespace sinter
