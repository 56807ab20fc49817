//===- Decoder.h - The decoder of a model of several parts ------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <nlohmann/json.hpp>
#include <string>

namespace sinter {

/// Where `config` is of a model that looks at images (Gemma 3 from 4B on, Mistral Small 3, LLaVA),
/// replaces it by the config of its decoder, which is under `text_config`: with the token ids, the
/// tying of its head and how its weights are quantized, which stand beside it. Returns whether it
/// is such a model. Fails where there is no `text_config`.
Expected<bool> takeDecoder(nlohmann::json &config, const std::string &source);

} // namespace sinter
