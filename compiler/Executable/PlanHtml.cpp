#include "compiler/Executable/PlanHtml.h"
#include "compiler/Executable/PlanPage.h"
#include <nlohmann/json.hpp>

using namespace sinter;
using nlohmann::json;

/// Text as HTML shows it.
static std::string escape(std::string_view text) {
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
static std::string embed(const json &value) {
  std::string text;
  for (char c : value.dump(-1, ' ', false, json::error_handler_t::replace))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

static void replace(std::string &page, std::string_view mark, std::string_view text) {
  for (size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + text.size()))
    page.replace(at, mark.size(), text);
}

Expected<std::string> sinter::renderPlanHtml(std::string_view report, std::string_view title) {
  json parsed = json::parse(report, nullptr, /*allow_exceptions=*/false);
  auto has = [&](const char *key, auto is) { return parsed.contains(key) && (parsed[key].*is)(); };
  if (!parsed.is_object() || !has("programs", &json::is_array) ||
      !has("spaces", &json::is_object) || !has("largest", &json::is_array))
    return fail("the memory report", "it has not the form of one",
                "make it again with sinter plan");
  std::string page(kPlanPage);
  replace(page, "{{title}}", escape(title));
  replace(page, "{{report}}", embed(parsed));
  return page;
}
