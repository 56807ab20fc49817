//===- Help.h - Help that reads like a manual -------------------*- C++ -*-===//
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace sinter::cli {

/// Text broken into lines of at most `width` characters; lines after a break begin with `indent`.
inline std::string wrap(const std::string &text, size_t width, const std::string &indent) {
  std::string wrapped, line;
  for (const std::string &word : CLI::detail::split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      wrapped += line + "\n" + indent;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return wrapped + line;
}

/// Names in a column, what they do beside it, wrapped.
class ManualFormatter : public CLI::Formatter {
public:
  ManualFormatter() { column_width(34); }

  std::string make_option(const CLI::Option *option, bool isPositional) const override {
    constexpr size_t kWidth = 62;
    std::string name = "  " + make_option_name(option, isPositional);
    if (!isPositional && option->get_type_size() != 0 && !option->get_type_name().empty())
      name += " " + getTypeName(*option);
    if (!isPositional && !name.ends_with("...") &&
        option->get_expected_max() >= CLI::detail::expected_max_vector_size)
      name += "...";
    std::string text = option->get_description();
    if (std::string value = option->get_default_str(); !value.empty())
      text += " (default: " + value + ")";
    std::string indent(get_column_width(), ' ');
    bool fits = name.size() + 2 <= indent.size();
    name += fits ? std::string(indent.size() - name.size(), ' ') : "\n" + indent;
    return name + wrap(text, kWidth, indent) + "\n";
  }

private:
  /// The type without the checks that CLI11 appends: "N" for "N:INT in [1 - 65536]".
  static std::string getTypeName(const CLI::Option &option) {
    std::string name = option.get_type_name();
    for (const char *check : {":{", ":INT ", ":UINT ", ":FLOAT "})
      name.erase(std::min(name.find(check), name.size()));
    return name;
  }
};

} // namespace sinter::cli
