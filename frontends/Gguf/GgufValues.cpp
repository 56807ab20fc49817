#include "frontends/Gguf/GgufValues.h"

namespace sinter {
using namespace gguf;

Json gguf::inLayers(GgufKeys &keys, const std::string &key, bool windowed) {
  const Json *value = keys.find(key), *pattern = keys.find("attention.sliding_window_pattern");
  if (!value || !value->is_array())
    return value ? *value : Json();
  for (size_t i = 0; pattern && pattern->is_array() && i < pattern->size(); ++i)
    if (i < value->size() && ((*pattern)[i] == true) == windowed)
      return (*value)[i];
  return value->empty() ? Json() : value->front();
}

Json gguf::layerTypes(GgufKeys &keys) {
  const Json *pattern = keys.find("attention.sliding_window_pattern");
  if (!pattern || !pattern->is_array())
    return {};
  Json types = Json::array();
  for (const Json &windowed : *pattern)
    types.push_back(windowed == true ? "sliding_attention" : "full_attention");
  return types;
}

} // namespace sinter
