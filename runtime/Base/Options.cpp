#include "runtime/Base/Options.h"
#include <charconv>
#include <cstdio>

using namespace sinter;

template <typename T> static std::string writeNumber(T value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <typename T> static bool readNumber(std::string_view text, T &value) {
  auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && rest == text.data() + text.size();
}

static constexpr std::pair<std::string_view, DType> kTypes[] = {{"f32", DType::F32},
                                                                {"bf16", DType::BF16},
                                                                {"f16", DType::F16},
                                                                {"int8", DType::I8},
                                                                {"fp8", DType::E4M3}};

std::string sinter::writeOption(bool value) { return value ? "true" : "false"; }
std::string sinter::writeOption(int value) { return writeNumber(value); }
std::string sinter::writeOption(int64_t value) { return writeNumber(value); }
std::string sinter::writeOption(uint64_t value) { return writeNumber(value); }
std::string sinter::writeOption(double value) { return writeNumber(value); }
std::string sinter::writeOption(const std::string &value) { return value; }

std::string sinter::writeOption(const std::vector<std::string> &value) {
  std::string text;
  for (const std::string &part : value)
    text += (text.empty() ? "" : ",") + part;
  return text;
}

std::string sinter::writeOption(DType value) {
  for (const auto &[name, type] : kTypes)
    if (type == value)
      return std::string(name);
  return "";
}

bool sinter::readOption(std::string_view text, bool &value) {
  value = text == "true";
  return value || text == "false";
}
bool sinter::readOption(std::string_view text, int &value) { return readNumber(text, value); }
bool sinter::readOption(std::string_view text, int64_t &value) { return readNumber(text, value); }
bool sinter::readOption(std::string_view text, uint64_t &value) { return readNumber(text, value); }
bool sinter::readOption(std::string_view text, double &value) { return readNumber(text, value); }

bool sinter::readOption(std::string_view text, std::string &value) {
  value = text;
  return true;
}

bool sinter::readOption(std::string_view text, std::vector<std::string> &value) {
  value.clear();
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    value.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

bool sinter::readOption(std::string_view text, DType &value) {
  for (const auto &[name, type] : kTypes)
    if (name == text) {
      value = type;
      return true;
    }
  return false;
}

static std::string quote(std::string_view id) { return "`" + std::string(id) + "`"; }

Expected<void> sinter::checkNumber(const OptionInfo &info, double value) {
  const OptionCheck &check = info.check;
  bool bounded = std::isfinite(check.most) || std::isfinite(check.least);
  if (value >= check.least && (check.excludesMost ? value < check.most : value <= check.most) &&
      (std::isfinite(value) || !bounded))
    return {};
  char range[64];
  if (std::isfinite(check.most))
    std::snprintf(range, sizeof range, "is not a number from %g to %s%g", check.least,
                  check.excludesMost ? "below " : "", check.most);
  else
    std::snprintf(range, sizeof range, "is not a number from %g up", check.least);
  char text[32];
  std::snprintf(text, sizeof text, " %g", value);
  return fail(quote(info.id) + text, bounded ? range : "is not a number",
              check.example.empty() ? "" : "give " + std::string(check.example) + ", for example");
}

Expected<void> sinter::checkWhole(const OptionInfo &info, int64_t value) {
  const OptionCheck &check = info.check;
  if ((double(value) >= check.least && double(value) <= check.most) ||
      (value == 0 && check.hasNone))
    return {};
  char range[96];
  std::snprintf(range, sizeof range, "is not a whole number from %.0f to %.0f", check.least,
                check.most);
  return fail(quote(info.id) + " " + writeNumber(value), range, "give one of those");
}

Expected<void> sinter::checkText(const OptionInfo &info, const std::string &value) {
  std::string_view choices = info.check.choices;
  if (choices.empty() || (value.empty() && info.check.hasNone))
    return {};
  for (std::string_view rest = choices; !rest.empty();) {
    size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == value)
      return {};
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return fail(quote(info.id) + " " + value, "there is no such choice",
              "give one of " + std::string(choices));
}

tl::unexpected<Error> sinter::failCompiledWith(std::string_view id, const std::string &asked,
                                               const std::string &compiled,
                                               const std::string &source) {
  return fail(quote(id) + " " + asked,
              source + " was compiled for " + (compiled.empty() ? "none" : compiled),
              "leave the option out, or compile again");
}

tl::unexpected<Error> sinter::failMetadata(std::string_view id, const std::string &source) {
  return fail(source, "does not say what its option " + quote(id) + " was, as an older version's",
              "compile the model again");
}
