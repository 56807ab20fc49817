#include "frontends/Gguf/GgufConfig.h"
#include "frontends/Gguf/GgufTensors.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace sinter {
namespace {

using Json = nlohmann::json;

/// Collects the keys; the first mistake stays.
class ConfigMaker {
public:
  ConfigMaker(const GgufFile &file, std::string_view source, const GgufArchitecture &architecture)
      : file(file), source(source), architecture(architecture) {}

  Expected<std::string> make() {
    std::string_view name = architecture.name;
    config["model_type"] = architecture.modelType;
    vocabulary();
    if (name == "gpt2")
      gpt2();
    else
      others(name);
    ids("bos_token_id", {"bos_token_id"});
    ids("eos_token_id", {"eos_token_id", "eot_token_id"});
    if (error)
      return tl::unexpected(*error);
    return config.dump(2);
  }

private:
  const GgufFile &file;
  std::string_view source;
  const GgufArchitecture &architecture;
  Json config = Json::object();
  std::optional<Error> error;

  void bad(const std::string &why, const char *remedy = "convert the model again") {
    if (!error)
      error = Error{std::string(source), why, remedy};
  }

  std::string keyOf(const std::string &key) const { return architecture.name + ("." + key); }
  const Json *find(const std::string &key) const {
    auto found = file.metadata.find(keyOf(key));
    return found == file.metadata.end() ? nullptr : &*found;
  }
  const GgufTensor *findTensor(const std::string &name) const {
    auto found = std::ranges::find(file.tensors, name, &GgufTensor::name);
    return found == file.tensors.end() ? nullptr : &*found;
  }

  int64_t size(const std::string &key) {
    Expected<int64_t> size = readGgufSize(file, source, key);
    if (!size && !error)
      error = size.error();
    return size.value_or(1);
  }
  int64_t size(const std::string &key, int64_t absent) { return find(key) ? size(key) : absent; }

  double number(const std::string &key, double absent) {
    const Json *value = find(key);
    if (!value)
      return absent;
    if (!value->is_number() || !std::isfinite(value->get<double>()))
      bad("its " + keyOf(key) + " is no number");
    return value->is_number() ? value->get<double>() : absent;
  }

  void vocabulary() {
    const GgufTensor *table = findTensor("token_embd.weight");
    if (!table || table->shape.size() != 2)
      return bad("it has no matrix token_embd.weight");
    config["vocab_size"] = table->shape[0];
    config["tie_word_embeddings"] = !findTensor("output.weight");
  }

  void ids(const char *key, std::initializer_list<const char *> from) {
    std::vector<int64_t> all;
    for (const char *name : from) {
      auto id = file.metadata.find(std::string("tokenizer.ggml.") + name);
      if (id == file.metadata.end())
        continue;
      if (!id->is_number_unsigned() || id->get<uint64_t>() > INT32_MAX)
        return bad("its tokenizer.ggml." + std::string(name) + " is no token's id");
      if (std::ranges::find(all, id->get<int64_t>()) == all.end())
        all.push_back(id->get<int64_t>());
    }
    if (all.size() == 1)
      config[key] = all.front();
    else if (!all.empty())
      config[key] = all;
  }

  void gpt2() {
    config["n_embd"] = size("embedding_length");
    config["n_inner"] = size("feed_forward_length");
    config["n_layer"] = size("block_count");
    config["n_head"] = size("attention.head_count");
    config["n_positions"] = size("context_length");
    config["layer_norm_epsilon"] = number("attention.layer_norm_epsilon", 1e-5);
    config["activation_function"] = "gelu_new";
  }

  void others(std::string_view name) {
    int64_t hidden = size("embedding_length"), heads = size("attention.head_count");
    config["hidden_size"] = hidden;
    config["intermediate_size"] = size("feed_forward_length");
    config["num_hidden_layers"] = size("block_count");
    config["num_attention_heads"] = heads;
    config["max_position_embeddings"] = size("context_length");
    int64_t headSize = size("attention.key_length", hidden / heads);
    if (size("attention.value_length", headSize) != headSize)
      bad("its values have another size than its keys");
    if (name == "gptneox") {
      config["layer_norm_eps"] = number("attention.layer_norm_epsilon", 1e-5);
      config["rotary_pct"] = double(size("rope.dimension_count", headSize)) / double(headSize);
      config["rotary_emb_base"] = number("rope.freq_base", 10000);
      config["hidden_act"] = "gelu";
      config["attention_bias"] = findTensor("blk.0.attn_qkv.bias") != nullptr;
      const Json *parallel = find("use_parallel_residual");
      config["use_parallel_residual"] = !parallel || *parallel == true;
      return scaling();
    }
    config["num_key_value_heads"] = size("attention.head_count_kv", heads);
    config["head_dim"] = headSize;
    config["rope_theta"] = number("rope.freq_base", 10000);
    rotatedPart(name, headSize);
    if (name == "starcoder2" || name == "stablelm" || name == "phi2" || name == "nemotron" ||
        name == "command-r")
      withLayerNorms(name);
    else
      withRmsNorms(name, hidden, heads, headSize);
    scaling();
  }

  void rotatedPart(std::string_view name, int64_t headSize) {
    int64_t rotated = size("rope.dimension_count", headSize);
    if (name == "phi3" || name == "phi2" || name == "stablelm" || name == "nemotron")
      config["partial_rotary_factor"] = double(rotated) / double(headSize);
    else if (rotated != headSize)
      bad("it rotates " + std::to_string(rotated) + " of a head's " + std::to_string(headSize) +
          " components");
  }

  void withLayerNorms(std::string_view name) {
    bool isBiased = findTensor("blk.0.attn_q.bias") != nullptr;
    double eps = number("attention.layer_norm_epsilon", 1e-5);
    if (name == "starcoder2") {
      config["norm_epsilon"] = eps;
      config["hidden_act"] = "gelu_pytorch_tanh";
      config["use_bias"] = isBiased;
    } else if (name == "stablelm") {
      config["layer_norm_eps"] = eps;
      config["hidden_act"] = "silu";
      config["use_qkv_bias"] = isBiased;
      config["use_parallel_residual"] = !findTensor("blk.0.ffn_norm.weight");
    } else if (name == "phi2") {
      config["layer_norm_eps"] = eps;
      config["hidden_act"] = "gelu_new";
    } else if (name == "nemotron") {
      config["norm_eps"] = eps;
      config["hidden_act"] = "relu2";
      config["attention_bias"] = isBiased;
      config["mlp_bias"] = findTensor("blk.0.ffn_up.bias") != nullptr;
    } else {
      config["layer_norm_eps"] = eps;
      config["hidden_act"] = "silu";
      config["attention_bias"] = isBiased;
      config["logit_scale"] = number("logit_scale", 0.0625);
    }
  }

  void withRmsNorms(std::string_view name, int64_t hidden, int64_t heads, int64_t headSize) {
    bool isBiased = findTensor("blk.0.attn_q.bias") != nullptr;
    config["rms_norm_eps"] = number("attention.layer_norm_rms_epsilon", 1e-5);
    // Not in the file: the largest Gemma scales scores as llama.cpp knows by its layers.
    auto scoresOf = [&](int64_t layersOf27B) {
      bool isLarge = config["num_hidden_layers"] == layersOf27B;
      config["query_pre_attn_scalar"] = isLarge ? hidden / heads : headSize;
      config["hidden_activation"] = "gelu_pytorch_tanh";
    };
    const Json *window = find("attention.sliding_window");
    bool slides = window && *window != 0;
    if (name == "gemma") {
      config["hidden_act"] = "gelu_pytorch_tanh";
      return;
    }
    if (name == "gemma2") {
      scoresOf(46);
      config["attn_logit_softcapping"] = cap("attn_logit_softcapping", 50);
      config["final_logit_softcapping"] = cap("final_logit_softcapping", 30);
      config["sliding_window"] = size("attention.sliding_window", 4096);
      return;
    }
    if (name == "gemma3") {
      scoresOf(62);
      config["sliding_window"] = size("attention.sliding_window", 1024);
      config["rope_local_base_freq"] = number("rope.freq_base_swa", 10000);
      return;
    }
    config["hidden_act"] = "silu";
    if (name == "granite") {
      config["attention_multiplier"] = number("attention.scale", 1 / std::sqrt(double(headSize)));
      config["embedding_multiplier"] = number("embedding_scale", 1);
      config["residual_multiplier"] = number("residual_scale", 1);
      config["logits_scaling"] = number("logit_scale", 1);
    }
    if (slides && name == "llama")
      config["model_type"] = "mistral"; // which alone of the two has a window
    if (slides && name == "olmo2") { // likewise
      config["model_type"] = "olmo3";
      config["rope_parameters"]["sliding_attention"] = {{"rope_theta", config["rope_theta"]}};
    }
    if (slides && name != "qwen3" && name != "qwen2")
      config["sliding_window"] = size("attention.sliding_window");
    if (name == "granite" || name == "smollm3" || name == "olmo2" || (name == "llama" && !slides))
      config["attention_bias"] = isBiased;
    if (name == "granite" || name == "smollm3" || (name == "llama" && !slides))
      config["mlp_bias"] = findTensor("blk.0.ffn_up.bias") != nullptr;
  }

  Json cap(const std::string &key, double absent) {
    double value = number(key, absent);
    return value == 0 ? Json() : Json(value); // null is none
  }

  Json factors(const GgufTensor &tensor) {
    Json list = Json::array();
    if (tensor.type->plain != DType::F32) {
      bad("its tensor '" + tensor.name + "' is not F32");
      return list;
    }
    for (size_t i = 0; i + sizeof(float) <= tensor.data.size(); i += sizeof(float)) {
      float factor;
      std::memcpy(&factor, tensor.data.data() + i, sizeof factor);
      if (!(factor > 0) || !std::isfinite(factor))
        bad("its tensor '" + tensor.name + "' holds numbers that divide no frequency");
      list.push_back(double(factor));
    }
    return list;
  }

  /// How rotary positions are stretched. Factors in tensors are what longrope has.
  void scaling() {
    const GgufTensor *all = findTensor("rope_freqs.weight");
    const GgufTensor *brief = findTensor("rope_factors_short.weight");
    const GgufTensor *extended = findTensor("rope_factors_long.weight");
    int64_t context = size("context_length");
    int64_t original = size("rope.scaling.original_context_length", context);
    if (all || (brief && extended)) {
      Json &scaling = config["rope_scaling"];
      scaling["rope_type"] = "longrope";
      scaling["short_factor"] = factors(all ? *all : *brief);
      scaling["long_factor"] = factors(all ? *all : *extended);
      scaling["attention_factor"] = all ? 1.0 : number("rope.scaling.attn_factor", 1);
      config["original_max_position_embeddings"] = original;
      return;
    }
    const Json *type = find("rope.scaling.type");
    if (!type || *type == "none")
      return;
    if (*type != "linear" && *type != "yarn")
      return bad("its " + keyOf("rope.scaling.type") + " is " + type->dump() +
                     ", which is not known",
                 "take another model, or its Hugging Face directory");
    Json &scaling = config["rope_scaling"];
    scaling["rope_type"] = *type;
    scaling["factor"] = number("rope.scaling.factor", 1);
    if (*type == "yarn")
      scaling["original_max_position_embeddings"] = original;
  }
};

} // namespace

Expected<std::string> makeGgufConfig(const GgufFile &file, std::string_view source) {
  SINTER_TRY(GgufArchitecture architecture, findGgufArchitecture(file, source));
  return ConfigMaker(file, source, architecture).make();
}

} // namespace sinter
