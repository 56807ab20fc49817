#include "runtime/Base/ByteSize.h"
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace sinter {

Expected<uint64_t> parseByteSize(std::string_view text, const std::string &option) {
  double number = 0;
  auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(rest, text.data() + text.size());
  for (char &c : unit)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},         {"b", 1},    {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30},
      {"tib", 0x1p40}, {"kb", 1e3}, {"mb", 1e6},     {"gb", 1e9},     {"tb", 1e12}};
  double factor = 0;
  for (const auto &[name, size] : units)
    if (unit == name)
      factor = size;
  if (status != std::errc() || factor == 0 || !std::isfinite(number))
    return fail(option + " " + std::string(text), "is not a size",
                "write a number and B, KiB, MiB, GiB, KB, MB or GB, as 8GiB");
  double bytes = std::floor(number * factor);
  if (bytes < 1 || bytes >= 0x1p63)
    return fail(option + " " + std::string(text), "is not a size that a machine can have",
                "give a size from 1B to 8000000TiB");
  return static_cast<uint64_t>(bytes);
}

std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
  return text;
}

std::string formatExactBytes(uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + formatBytes(bytes) + ")";
}

} // namespace sinter
