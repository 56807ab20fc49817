#include "runtime/Base/Json.h"

namespace sinter {

nlohmann::json parseJson(std::string_view text) {
  return nlohmann::json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
}

} // namespace sinter
