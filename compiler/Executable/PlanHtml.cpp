#include "compiler/Executable/PlanHtml.h"
#include "compiler/Executable/HtmlTemplate.h"
#include "compiler/Executable/PlanPage.h"
#include "runtime/Base/Json.h"

using namespace sinter;
using nlohmann::json;

Expected<std::string> sinter::renderPlanHtml(std::string_view report, std::string_view title) {
  json parsed = parseJson(report);
  auto has = [&](const char *key, auto is) { return parsed.contains(key) && (parsed[key].*is)(); };
  if (!parsed.is_object() || !has("programs", &json::is_array) ||
      !has("spaces", &json::is_object) || !has("largest", &json::is_array))
    return fail("the memory report", "it has not the form of one",
                "make it again with sinter plan");
  std::string page = makePage(kPlanPage);
  fillIn(page, "{{title}}", escapeHtml(title));
  fillIn(page, "{{report}}", embedJson(parsed));
  return page;
}
