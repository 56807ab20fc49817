#include "frontends/Spec/Decoder.h"
#include <algorithm>

namespace sinter {
namespace {

/// A model of several parts: its type, and that of its decoder where `text_config` does not say.
struct Composite {
  const char *modelType, *decoderType;
};

constexpr Composite composites[] = {{"gemma3", "gemma3_text"},
                                    {"gemma4", "gemma4_text"},
                                    {"gemma4_unified", "gemma4_unified_text"},
                                    {"llama4", "llama4_text"},
                                    {"llava", "llama"},
                                    {"llava_next", "llama"},
                                    {"mistral3", "mistral"},
                                    {"qwen3_5", "qwen3_5_text"},
                                    {"qwen3_5_moe", "qwen3_5_moe_text"}};

/// What `text_config` leaves out where it is the default of transformers' class.
struct DecoderSizes {
  const char *modelType;
  int64_t vocabulary, hidden, intermediate, layers, heads;
};

constexpr DecoderSizes defaultSizes[] = {{"gemma3_text", 262208, 2304, 9216, 26, 8},
                                         {"gemma4_text", 262144, 2304, 9216, 30, 8},
                                         {"gemma4_unified_text", 262144, 2304, 9216, 30, 8},
                                         {"llama", 32000, 4096, 11008, 32, 32},
                                         {"mistral", 32000, 4096, 14336, 32, 32},
                                         {"qwen3_5_moe_text", 248320, 2048, 512, 40, 16},
                                         {"qwen3_5_text", 248320, 4096, 12288, 32, 16}};

} // namespace

Expected<bool> takeDecoder(nlohmann::json &config, const std::string &source) {
  if (!config.is_object() || !config.contains("model_type"))
    return false;
  const Composite *composite = std::ranges::find_if(
      composites, [&](const Composite &each) { return config["model_type"] == each.modelType; });
  if (composite == std::end(composites))
    return false;
  auto text = config.find("text_config");
  if (text == config.end() || !text->is_object())
    return fail(source + ": key 'text_config'", "it is missing or no object",
                "it describes the decoder of a '" + std::string(composite->modelType) + "'");
  nlohmann::json decoder = *text;
  if (!decoder.contains("model_type"))
    decoder["model_type"] = composite->decoderType;
  for (const DecoderSizes &sizes : defaultSizes)
    if (decoder["model_type"] == sizes.modelType)
      for (const auto &[key, size] : {std::pair("vocab_size", sizes.vocabulary),
                                      {"hidden_size", sizes.hidden},
                                      {"intermediate_size", sizes.intermediate},
                                      {"num_hidden_layers", sizes.layers},
                                      {"num_attention_heads", sizes.heads}})
        if (!decoder.contains(key))
          decoder[key] = size;
  for (const char *key : {"tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id",
                          "quantization_config", "dtype", "torch_dtype"})
    if (auto outer = config.find(key); outer != config.end() && !outer->is_null())
      decoder[key] = *outer;
  config = std::move(decoder);
  return true;
}

} // namespace sinter
