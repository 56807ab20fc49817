//===- HtmlTemplate.h - Filling in pages ------------------------*- C++ -*-===//
#pragma once

#include "compiler/Executable/PageParts.h"
#include "runtime/Base/Json.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sinter {

/// Text as HTML shows it.
inline std::string escapeHtml(std::string_view text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

/// JSON that cannot end the script that it stands in.
inline std::string embedJson(const nlohmann::json &value) {
  std::string text;
  for (char c : writeJson(value))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

/// Puts `text` in the place of every `mark`.
inline void fillIn(std::string &page, std::string_view mark, std::string_view text) {
  for (size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + text.size()))
    page.replace(at, mark.size(), text);
}

/// A page with what all pages have: {{style}} and {{helpers}}.
inline std::string makePage(std::string_view text) {
  std::string page(text);
  fillIn(page, "{{style}}\n", kPageStyle);
  fillIn(page, "{{helpers}}\n", kPageHelpers);
  return page;
}

} // namespace sinter
