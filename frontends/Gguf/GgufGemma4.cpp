// Gemma 4: heads of two sizes, of which the file has those of layers with a window apart, layers
// that use the keys and values of others, inputs of layers, experts beside the MLP.

#include "frontends/Gguf/GgufValues.h"
#include <cstring>

namespace sinter {
using namespace gguf;

namespace {

/// Layers that use the keys and values of others may have an MLP twice as wide.
Json doublesMlp(GgufKeys &keys) {
  const Json *sizes = keys.find("feed_forward_length");
  if (!sizes || !sizes->is_array())
    return false;
  int64_t shared = keys.count("attention.shared_kv_layers", 0);
  for (size_t i = 0; i < sizes->size(); ++i) {
    bool isShared = static_cast<int64_t>(i) >= static_cast<int64_t>(sizes->size()) - shared;
    const Json &least = sizes->front(), &size = (*sizes)[i];
    if (!least.is_number_integer() || !size.is_number_integer() ||
        size.get<int64_t>() != (isShared ? 2 : 1) * least.get<int64_t>()) {
      keys.mistake("its " + keys.nameOf("feed_forward_length") +
                       " is not the same in all layers, and twice that in those that share keys",
                   "take another model, or its Hugging Face directory");
      return false;
    }
  }
  return shared > 0;
}

Json leastMlp(GgufKeys &keys) {
  const Json *sizes = keys.find("feed_forward_length");
  bool isArray = sizes && sizes->is_array() && !sizes->empty();
  return isArray ? sizes->front() : Json(keys.size("feed_forward_length"));
}

Json windowedKeyHeads(GgufKeys &keys) {
  return inLayers(keys, "attention.head_count_kv", /*windowed=*/true);
}
Json windowedHeadSize(GgufKeys &keys) { return keys.size("attention.key_length_swa"); }

/// Of layers without a window.
Json ownSizes(GgufKeys &keys) {
  for (const char *kind : {"", "_swa"})
    if (keys.size(std::string("attention.key_length") + kind) !=
        keys.size(std::string("attention.value_length") + kind))
      keys.mistake("its values have another size than its keys");
  Json types = layerTypes(keys), layers = Json::object();
  Json sizes = {{"head_dim", keys.size("attention.key_length")},
                {"num_key_value_heads", inLayers(keys, "attention.head_count_kv", false)}};
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i] == "full_attention")
      layers[std::to_string(i)] = sizes;
  return layers;
}

/// Whether a layer without a window has no values beside its keys.
Json valuesAreKeys(GgufKeys &keys) {
  Json types = layerTypes(keys);
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i] == "full_attention")
      return !keys.findTensor("blk." + std::to_string(i) + ".attn_v.weight");
  return false;
}

/// The first pairs alone turn without a window: the others' frequencies are divided by 1e30.
Json rotariesOfGemma4(GgufKeys &keys) {
  if (keys.size("rope.dimension_count_swa") != keys.size("attention.key_length_swa"))
    keys.mistake("it rotates a part of a head in layers with a window");
  const GgufTensor *factors = keys.findTensor("rope_freqs.weight");
  int64_t pairs = keys.size("attention.key_length") / 2, turning = pairs;
  if (factors) {
    size_t count = factors->data.size() / sizeof(float);
    if (factors->type->plain != DType::F32 || static_cast<int64_t>(count) != pairs)
      keys.mistake("its tensor 'rope_freqs.weight' is not F32, one a pair");
    turning = 0;
    for (size_t i = 0; i < count; ++i) {
      float factor;
      std::memcpy(&factor, factors->data.data() + i * sizeof factor, sizeof factor);
      if (factor == 1 && turning == static_cast<int64_t>(i))
        ++turning;
      else if (!(factor > 1e29f))
        keys.mistake("its tensor 'rope_freqs.weight' is not of pairs that turn and then of others");
    }
  }
  return {{"full_attention",
           {{"rope_type", "proportional"},
            {"rope_theta", keys.number("rope.freq_base", 1e6)},
            {"partial_rotary_factor", double(turning) / double(pairs)}}},
          {"sliding_attention",
           {{"rope_type", "default"}, {"rope_theta", keys.number("rope.freq_base_swa", 1e4)}}}};
}

/// A number of models with experts.
Value ofExperts(const char *key) {
  return [key](GgufKeys &keys) { return hasExperts(keys) ? Json(keys.size(key)) : Json(); };
}

Json layerTable(GgufKeys &keys) {
  const GgufTensor *table = keys.findTensor("per_layer_token_embd.weight");
  return table && table->shape.size() == 2 ? Json(table->shape[0]) : Json();
}

} // namespace

GgufArchitecture gguf::describeGemma4() {
  const Names global = {{"token_embd", "model.embed_tokens"},
                        {"output_norm", "model.norm"},
                        {"output", "lm_head"},
                        {"per_layer_token_embd", "model.embed_tokens_per_layer"},
                        {"per_layer_model_proj", "model.per_layer_model_projection"},
                        {"per_layer_proj_norm", "model.per_layer_projection_norm"}};
  const Names ofLayer = {{"attn_q", "self_attn.q_proj"},
                         {"attn_k", "self_attn.k_proj"},
                         {"attn_v", "self_attn.v_proj"},
                         {"attn_output", "self_attn.o_proj"},
                         {"attn_q_norm", "self_attn.q_norm"},
                         {"attn_k_norm", "self_attn.k_norm"},
                         {"ffn_gate", "mlp.gate_proj"},
                         {"ffn_up", "mlp.up_proj"},
                         {"ffn_down", "mlp.down_proj"},
                         {"attn_norm", "input_layernorm"},
                         {"post_attention_norm", "post_attention_layernorm"},
                         {"ffn_norm", "pre_feedforward_layernorm"},
                         {"post_ffw_norm", "post_feedforward_layernorm"},
                         {"layer_output_scale.weight", "layer_scalar", GgufChange::Ending},
                         {"inp_gate", "per_layer_input_gate"},
                         {"proj", "per_layer_projection"},
                         {"post_norm", "post_per_layer_input_norm"},
                         {"ffn_gate_inp", "router.proj"},
                         {"ffn_gate_inp.scale", "router.scale", GgufChange::Ending},
                         {"ffn_down_exps.scale", "router.per_expert_scale", GgufChange::Ending},
                         {"ffn_gate_up_exps", "experts.gate_up_proj", GgufChange::Ending},
                         {"ffn_down_exps", "experts.down_proj", GgufChange::Ending},
                         {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
                         {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                         {"post_ffw_norm_2", "post_feedforward_layernorm_2"}};
  const Keys config = {
      {"hidden_size", size("embedding_length")},
      {"intermediate_size", leastMlp},
      {"use_double_wide_mlp", doublesMlp},
      {"num_hidden_layers", size("block_count")},
      {"num_attention_heads", size("attention.head_count")},
      {"max_position_embeddings", size("context_length")},
      {"rms_norm_eps", number("attention.layer_norm_rms_epsilon", 1e-6)},
      {"hidden_activation", text("gelu_pytorch_tanh")},
      {"final_logit_softcapping", orNone("final_logit_softcapping")},
      {"sliding_window", size("attention.sliding_window")},
      {"layer_types", layerTypes},
      {"head_dim", windowedHeadSize},
      {"num_key_value_heads", windowedKeyHeads},
      {"per_layer_config", ownSizes},
      {"attention_k_eq_v", valuesAreKeys},
      {"num_kv_shared_layers", count("attention.shared_kv_layers", 0)},
      {"rope_parameters", rotariesOfGemma4},
      {"hidden_size_per_layer_input", count("embedding_length_per_layer_input", 0)},
      {"vocab_size_per_layer_input", layerTable},
      {"enable_moe_block", [](GgufKeys &keys) { return Json(hasExperts(keys)); }},
      {"num_experts", ofExperts("expert_count")},
      {"top_k_experts", ofExperts("expert_used_count")},
      {"moe_intermediate_size", ofExperts("expert_feed_forward_length")},
      {"stacked_experts", [](GgufKeys &keys) { return hasExperts(keys) ? Json(true) : Json(); }}};

  return {"gemma4", "gemma4_text", "model.layers.", global, ofLayer, config};
}

} // namespace sinter
