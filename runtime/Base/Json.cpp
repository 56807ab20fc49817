#include "runtime/Base/Json.h"
#include "runtime/Base/Nesting.h"

using namespace sinter;

template <class Json> static Json parse(std::string_view text) {
  if (measureNesting(text) > kMostNesting)
    return Json(Json::value_t::discarded);
  return Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
}
template <class Json> static std::string write(const Json &value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

nlohmann::json sinter::parseJson(std::string_view text) { return parse<nlohmann::json>(text); }
nlohmann::ordered_json sinter::parseOrderedJson(std::string_view text) {
  return parse<nlohmann::ordered_json>(text);
}

std::string sinter::writeJson(const nlohmann::json &value, int indent) {
  return write(value, indent);
}
std::string sinter::writeJson(const nlohmann::ordered_json &value, int indent) {
  return write(value, indent);
}
