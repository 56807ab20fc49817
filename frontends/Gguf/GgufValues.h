//===- GgufValues.h - What makes keys of config.json of a file's -*- C++ -*-===//
#pragma once

#include "frontends/Gguf/GgufArchitectures.h"

namespace sinter::gguf {

using Json = GgufKeys::Json;
using Names = std::vector<GgufTensorName>;
using Keys = std::vector<GgufConfigKey>;
using Value = std::function<Json(GgufKeys &)>;

template <typename T> std::vector<T> operator+(std::vector<T> a, const std::vector<T> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A whole number from 1 on (GgufKeys::size); with `absent` where the file has none.
inline Value size(const char *key) {
  return [key](GgufKeys &keys) { return Json(keys.size(key)); };
}
inline Value size(const char *key, int64_t absent) {
  return [=](GgufKeys &keys) { return Json(keys.size(key, absent)); };
}
/// A finite number, or `absent`.
inline Value number(const char *key, double absent) {
  return [=](GgufKeys &keys) { return Json(keys.number(key, absent)); };
}
/// A whole number from 0 on, or `absent`.
inline Value count(const char *key, int64_t absent) {
  return [=](GgufKeys &keys) { return Json(keys.count(key, absent)); };
}
/// Whether the file says true, or `absent`.
inline Value flag(const char *key, bool absent) {
  return [=](GgufKeys &keys) {
    const Json *value = keys.find(key);
    return Json(value ? *value == true : absent);
  };
}
/// What the file need not say.
inline Value text(const char *value) {
  return [value](GgufKeys &) { return Json(value); };
}
inline Json isTrue(GgufKeys &) { return true; }
/// Whether there is a tensor of this name.
inline Value holds(const char *tensor) {
  return [tensor](GgufKeys &keys) { return Json(keys.findTensor(tensor) != nullptr); };
}
inline Value lacks(const char *tensor) {
  return [tensor](GgufKeys &keys) { return Json(keys.findTensor(tensor) == nullptr); };
}
/// Of scores or logits; 0 is none.
inline Value cap(const char *key, double absent) {
  return [=](GgufKeys &keys) {
    double value = keys.number(key, absent);
    return value == 0 ? Json() : Json(value);
  };
}

/// A number that 0 means none of.
inline Value orNone(const char *key) { return cap(key, 0); }

/// Key-value heads of each layer that has some.
Json keyHeads(GgufKeys &keys);

/// Of a list with a number of key-value heads a layer: "full_attention", or `other` where it is 0.
Json layersByKeyHeads(GgufKeys &keys, const char *other);

/// A factor of what experts give; 0 is none.
Json expertScale(GgufKeys &keys);

/// Whether the file's models have experts.
inline bool hasExperts(const GgufKeys &keys) {
  const Json *count = keys.find("expert_count");
  return count && *count != 0;
}

/// Of a key with a number for each layer, that of the layers with a window, or of those without; a
/// key's one number. Null where there is none.
Json inLayers(GgufKeys &keys, const std::string &key, bool windowed);

/// layer_types, where the file says of each layer whether it has a window; else null.
Json layerTypes(GgufKeys &keys);

/// "gemma4" (GgufGemma4.cpp).
GgufArchitecture describeGemma4();
/// "qwen35", "qwen35moe" and "qwen3next" (GgufQwen35.cpp).
GgufArchitecture describeQwen35();
GgufArchitecture describeQwen35Moe();
GgufArchitecture describeQwen3Next();
/// "mamba2", "nemotron_h" and "nemotron_h_moe" (GgufStateSpaces.cpp).
GgufArchitecture describeMamba2();
GgufArchitecture describeNemotronH();
GgufArchitecture describeNemotronHMoe();
/// What layers with state spaces have of "granitehybrid" and "falcon-h1", and what the file says of
/// them.
Names listMambaTensors();
Keys listGraniteHybridKeys();
Keys listBambaKeys();
Keys listFalconH1Keys();

} // namespace sinter::gguf
