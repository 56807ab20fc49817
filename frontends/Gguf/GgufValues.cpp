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

Json gguf::keyHeads(GgufKeys &keys) {
  bool isGiven = keys.find("attention.head_count_kv");
  return isGiven ? keys.sizeInLayers("attention.head_count_kv") : keys.size("attention.head_count");
}

Json gguf::layersByKeyHeads(GgufKeys &keys, const char *other) {
  Json kinds = Json::array();
  const Json *heads = keys.find("attention.head_count_kv");
  if (!heads || !heads->is_array()) {
    keys.mistake("its " + keys.nameOf("attention.head_count_kv") + " is no list");
    return kinds;
  }
  for (const Json &count : *heads)
    kinds.push_back(count == 0 ? other : "full_attention");
  return kinds;
}

Json gguf::expertScale(GgufKeys &keys) {
  double scale = keys.number("expert_weights_scale", 1);
  return scale == 0 ? 1 : scale;
}

} // namespace sinter
