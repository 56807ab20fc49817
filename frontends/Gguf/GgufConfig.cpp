#include "frontends/Gguf/GgufConfig.h"
#include "frontends/Gguf/GgufArchitectures.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace sinter {
namespace {

using Json = nlohmann::json;

/// What config.json has of every architecture.
class ConfigMaker {
public:
  ConfigMaker(const GgufFile &file, std::string_view source, const GgufArchitecture &architecture)
      : file(file), architecture(architecture), keys(file, source, architecture.name) {}

  Expected<std::string> make() {
    config["model_type"] = architecture.modelType;
    vocabulary();
    for (const GgufConfigKey &key : architecture.keys)
      config[key.name] = key.value(keys);
    if (const Json *experts = keys.find("expert_count");
        experts && *experts != 0 && !config.contains("stacked_experts"))
      keys.mistake("experts of its architecture are not supported",
                   "give the model's Hugging Face directory");
    scaling();
    ids("bos_token_id", {"bos_token_id"});
    ids("eos_token_id", {"eos_token_id", "eot_token_id"});
    SINTER_CHECK(keys.finish());
    return writeJson(config, 2);
  }

private:
  void vocabulary() {
    const GgufTensor *table = keys.findTensor("token_embd.weight");
    if (!table || table->shape.size() != 2)
      return keys.mistake("it has no matrix token_embd.weight");
    config["vocab_size"] = table->shape[0];
    config["tie_word_embeddings"] = !keys.findTensor("output.weight");
  }

  void ids(const char *key, std::initializer_list<const char *> from) {
    std::vector<int64_t> all;
    for (const char *name : from) {
      auto id = file.metadata.find(std::string("tokenizer.ggml.") + name);
      if (id == file.metadata.end())
        continue;
      if (!id->is_number_unsigned() || id->get<uint64_t>() > INT32_MAX)
        return keys.mistake("its tokenizer.ggml." + std::string(name) + " is no token's id");
      if (std::ranges::find(all, id->get<int64_t>()) == all.end())
        all.push_back(id->get<int64_t>());
    }
    if (all.size() == 1)
      config[key] = all.front();
    else if (!all.empty())
      config[key] = all;
  }

  Json factors(const GgufTensor &tensor) {
    Json list = Json::array();
    if (tensor.type->plain != DType::F32) {
      keys.mistake("its tensor '" + tensor.name + "' is not F32");
      return list;
    }
    for (size_t i = 0; i + sizeof(float) <= tensor.data.size(); i += sizeof(float)) {
      float factor;
      std::memcpy(&factor, tensor.data.data() + i, sizeof factor);
      if (!(factor > 0) || !std::isfinite(factor))
        keys.mistake("its tensor '" + tensor.name + "' holds numbers that divide no frequency");
      list.push_back(double(factor));
    }
    return list;
  }

  /// How rotary positions are stretched. Factors in tensors are what longrope has.
  void scaling() {
    if (config.contains("rope_parameters") && config["rope_parameters"].contains("full_attention"))
      return; // it says so of each kind of layer
    const GgufTensor *all = keys.findTensor("rope_freqs.weight");
    const GgufTensor *brief = keys.findTensor("rope_factors_short.weight");
    const GgufTensor *extended = keys.findTensor("rope_factors_long.weight");
    int64_t context = keys.size("context_length");
    int64_t original = keys.size("rope.scaling.original_context_length", context);
    if (all || (brief && extended)) {
      Json &scaling = config["rope_scaling"];
      scaling["rope_type"] = "longrope";
      scaling["short_factor"] = factors(all ? *all : *brief);
      scaling["long_factor"] = factors(all ? *all : *extended);
      scaling["attention_factor"] = all ? 1.0 : keys.number("rope.scaling.attn_factor", 1);
      config["original_max_position_embeddings"] = original;
      return;
    }
    const Json *type = keys.find("rope.scaling.type");
    if (!type || *type == "none")
      return;
    if (*type != "linear" && *type != "yarn")
      return keys.mistake("its " + keys.nameOf("rope.scaling.type") + " is " + type->dump() +
                              ", which is not known",
                          "take another model, or its Hugging Face directory");
    Json &scaling = config["rope_scaling"];
    scaling["rope_type"] = *type;
    scaling["factor"] = keys.number("rope.scaling.factor", 1);
    if (*type == "yarn")
      scaling["original_max_position_embeddings"] = original;
  }

  const GgufFile &file;
  const GgufArchitecture &architecture;
  GgufKeys keys;
  Json config = Json::object();
};

} // namespace

Expected<std::string> makeGgufConfig(const GgufFile &file, std::string_view source) {
  SINTER_TRY(const GgufArchitecture *architecture, findGgufArchitecture(file, source));
  return ConfigMaker(file, source, *architecture).make();
}

} // namespace sinter
