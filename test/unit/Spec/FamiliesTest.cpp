#include "frontends/Spec/ModelSpec.h"
#include <cmath>
#include <gtest/gtest.h>
#include <tuple>

using namespace sinter;

namespace {

/// A config of small sizes with `extra` keys ("\"a\": 1, ...") added.
std::string config(const std::string &type, const std::string &extra = "") {
  return R"({"model_type": ")" + type +
         R"(", "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
            "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2)" +
         (extra.empty() ? "" : ", " + extra) + "}";
}

ModelSpec parse(const std::string &text) {
  Expected<ModelSpec> spec = parseModelSpec(text, "config.json");
  EXPECT_TRUE(spec) << spec.error().message();
  return spec ? *spec : ModelSpec();
}

bool needs(const ModelSpec &spec, const std::string &name, std::vector<int64_t> shape) {
  for (const ParameterInfo &parameter : spec.getParameters())
    if (parameter.name == name)
      return parameter.shape == shape;
  return false;
}

TEST(Families, Llama) {
  ModelSpec spec = parse(config("llama", R"("rope_theta": 5e5, "rope_scaling": {"type": "linear",
                                            "factor": 2}, "eos_token_id": [3, 4])"));
  EXPECT_EQ(spec.headDim, 8);
  EXPECT_EQ(spec.kvHeads, 2);
  EXPECT_EQ(spec.rotaries.front().type, RopeType::Linear);
  EXPECT_EQ(spec.rotaries.front().theta, 5e5);
  EXPECT_EQ(spec.eosIds, (std::vector<int64_t>{3, 4}));
  EXPECT_FALSE(spec.tiedEmbeddings);
  EXPECT_TRUE(needs(spec, "model.layers.3.self_attn.k_proj.weight", {16, 32}));
  EXPECT_TRUE(needs(spec, "lm_head.weight", {50, 32}));
  EXPECT_TRUE(spec.isKnownSurplus("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(spec.isKnownSurplus("lm_head.weight"));
}

TEST(Families, ListsTheKeysThatSayWhatIsComputed) {
  auto keys = listModelKeys(config(
      "llama", R"("rope_theta": 5e5, "use_cache": false, "hidden_act": null, "_note": "none")"));
  EXPECT_EQ(keys.at("model_type"), "\"llama\"");
  EXPECT_EQ(keys.at("num_key_value_heads"), "2");
  EXPECT_EQ(keys.at("rope_theta"), "500000.0");
  for (const char *other : {"use_cache", "hidden_act", "_note", "rms_norm_eps"})
    EXPECT_FALSE(keys.contains(other)) << other;
}

TEST(Families, ExpertsWithTensorsOfTheirOwn) {
  ModelSpec spec = parse(config("mixtral", R"("num_local_experts": 6)"));
  EXPECT_TRUE(spec.hasExperts());
  EXPECT_EQ(spec.expertsPerToken, 2);
  EXPECT_TRUE(spec.routing.normalizes);
  EXPECT_FALSE(spec.layers[0].hasMlp());
  std::string stem = "model.layers.3.block_sparse_moe.";
  EXPECT_TRUE(needs(spec, stem + "gate.weight", {6, 32}));
  EXPECT_TRUE(needs(spec, stem + "experts.5.w1.weight", {48, 32}));
  EXPECT_TRUE(needs(spec, stem + "experts.5.w2.weight", {32, 48}));
  EXPECT_FALSE(needs(spec, "model.layers.3.mlp.up_proj.weight", {48, 32}));
}

TEST(Families, LinearAttentionInThreeOfFourLayers) {
  std::string sizes = R"("linear_num_key_heads": 2, "linear_num_value_heads": 6, "head_dim": 20,
      "linear_key_head_dim": 5, "linear_value_head_dim": 7)";
  ModelSpec spec = parse(config("qwen3_5_text", sizes + R"(, "rope_parameters": {"rope_type":
      "default", "partial_rotary_factor": 0.5, "mrope_section": [2, 2, 1], "mrope_interleaved": true})"));
  ASSERT_EQ(spec.layers.size(), 4U);
  EXPECT_TRUE(spec.hasLinearAttention());
  EXPECT_EQ(spec.rotaries.front().getWidth(), 10);
  std::string stem = "model.layers.2.linear_attn.";
  EXPECT_TRUE(needs(spec, stem + "in_proj_qkv.weight", {62, 32}));
  EXPECT_TRUE(needs(spec, stem + "in_proj_a.weight", {6, 32}));
  EXPECT_TRUE(needs(spec, stem + "conv1d.weight", {62, 1, 4}));
  EXPECT_TRUE(needs(spec, stem + "A_log", {6}));
  EXPECT_TRUE(needs(spec, stem + "norm.weight", {7}));
  EXPECT_TRUE(needs(spec, stem + "out_proj.weight", {32, 42}));
  EXPECT_FALSE(needs(spec, "model.layers.2.self_attn.q_proj.weight", {160, 32}));
  // Queries, and a gate of each component.
  EXPECT_TRUE(needs(spec, "model.layers.3.self_attn.q_proj.weight", {160, 32}));
  EXPECT_FALSE(needs(spec, "model.layers.3.linear_attn.A_log", {6}));
  EXPECT_TRUE(spec.isKnownSurplus("mtp.layers.0.mlp.up_proj.weight"));

  spec = parse(config("qwen3_next", sizes + R"(, "num_experts": 5, "moe_intermediate_size": 20,
      "shared_expert_intermediate_size": 24, "num_experts_per_tok": 2)"));
  EXPECT_TRUE(needs(spec, stem + "in_proj_qkvz.weight", {104, 32}));
  EXPECT_TRUE(needs(spec, stem + "in_proj_ba.weight", {12, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.2.mlp.shared_expert_gate.weight", {1, 32}));
  EXPECT_TRUE(spec.routing.normalizes);

  spec = parse(config("qwen3_5_moe_text", sizes + R"(, "num_experts": 5,
      "moe_intermediate_size": 20, "shared_expert_intermediate_size": 24,
      "num_experts_per_tok": 2)"));
  EXPECT_TRUE(needs(spec, stem + "in_proj_qkv.weight", {62, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.2.mlp.experts.4.down_proj.weight", {32, 20}));
  EXPECT_TRUE(needs(spec, "model.layers.2.mlp.shared_expert_gate.weight", {1, 32}));
  EXPECT_TRUE(spec.routing.normalizes);
}

TEST(Families, StateSpacesInPlaceOfAttention) {
  std::string sizes = R"("mamba_n_heads": 4, "mamba_n_groups": 2, "mamba_d_state": 10)";
  ModelSpec spec = parse(config("bamba", sizes + R"(, "attn_layer_indices": [1],
      "time_step_limit": [0.1, Infinity])"));
  EXPECT_TRUE(spec.layers[0].isStateSpace());
  EXPECT_FALSE(spec.layers[1].isStateSpace());
  EXPECT_TRUE(spec.hasLinearAttention());
  EXPECT_EQ(spec.leastStep, 0.1);
  // 64 values of a gate and as many channels, keys and queries of 20, a step of each head.
  std::string stem = "model.layers.0.mamba.";
  EXPECT_TRUE(needs(spec, stem + "in_proj.weight", {172, 32}));
  EXPECT_TRUE(needs(spec, stem + "conv1d.weight", {104, 1, 4}));
  EXPECT_TRUE(needs(spec, stem + "conv1d.bias", {104}));
  EXPECT_TRUE(needs(spec, stem + "D", {4}));
  EXPECT_TRUE(needs(spec, stem + "norm.weight", {64}));
  EXPECT_FALSE(needs(spec, "model.layers.0.self_attn.q_proj.weight", {32, 32}));

  spec = parse(config("granitemoehybrid", sizes + R"(, "num_local_experts": 0,
      "shared_intermediate_size": 28, "layer_types": ["attention", "mamba", "mamba", "mamba"])"));
  EXPECT_TRUE(spec.layers[1].isStateSpace());
  EXPECT_EQ(spec.positions, PositionKind::None);
  EXPECT_TRUE(needs(spec, "model.layers.0.shared_mlp.input_linear.weight", {56, 32}));
}

TEST(Families, StateSpacesBesideAttention) {
  ModelSpec spec = parse(config("falcon_h1", R"("mamba_n_heads": 4, "mamba_d_ssm": 24,
      "mamba_d_state": 10, "ssm_in_multiplier": 2, "ssm_multipliers": [1, 3, 1, 1, 1],
      "attention_in_multiplier": 5, "key_multiplier": 0.5)"));
  const LayerSpec &layer = spec.layers[0];
  EXPECT_FALSE(layer.isStateSpace());
  ASSERT_TRUE(layer.stateSpace);
  EXPECT_EQ(layer.stateSpace->value.scale, 6);
  EXPECT_EQ(layer.stateSpace->gate.scale, 2);
  EXPECT_EQ(layer.key.scale, 2.5);
  std::string stem = "model.layers.0.";
  EXPECT_TRUE(needs(spec, stem + "mamba.in_proj.weight", {72, 32}));
  EXPECT_TRUE(needs(spec, stem + "mamba.out_proj.weight", {32, 24}));
  EXPECT_FALSE(needs(spec, stem + "mamba.norm.weight", {24}));
  EXPECT_TRUE(needs(spec, stem + "self_attn.o_proj.weight", {32, 32}));
}

TEST(Families, BlocksOfNemotronH) {
  ModelSpec spec = parse(R"({"model_type": "nemotron_h", "vocab_size": 9, "hidden_size": 16,
      "intermediate_size": 20, "hybrid_override_pattern": "MM-*E", "num_attention_heads": 4,
      "head_dim": 8, "num_key_value_heads": 2, "mamba_num_heads": 4, "mamba_head_dim": 6,
      "n_groups": 2, "ssm_state_size": 5, "n_routed_experts": 3, "moe_intermediate_size": 7,
      "moe_shared_expert_intermediate_size": 11})");
  ASSERT_EQ(spec.layers.size(), 3u);
  EXPECT_TRUE(spec.layers[0].endsWithMixer);
  EXPECT_EQ(spec.layers[1].path, "backbone.layers.1");
  EXPECT_TRUE(needs(spec, "backbone.layers.2.norm.weight", {16}));
  EXPECT_TRUE(needs(spec, "backbone.layers.2.mixer.up_proj.weight", {20, 16}));
  EXPECT_TRUE(needs(spec, "backbone.layers.3.mixer.k_proj.weight", {16, 16}));
  EXPECT_TRUE(needs(spec, "backbone.layers.4.mixer.experts.2.down_proj.weight", {16, 7}));
  EXPECT_TRUE(needs(spec, "backbone.layers.4.mixer.shared_experts.up_proj.weight", {11, 16}));
  EXPECT_FALSE(spec.layers[2].gate);
  EXPECT_EQ(spec.layers[2].experts->experts[0].getLinears().size(), 2u);
  EXPECT_FALSE(spec.layers[2].experts->input);
}

TEST(Families, ExpertsOfTheirOwnWidth) {
  ModelSpec spec = parse(R"({"model_type": "nemotron_h", "vocab_size": 9, "hidden_size": 16,
      "hybrid_override_pattern": "ME", "num_attention_heads": 4, "num_key_value_heads": 2,
      "mamba_num_heads": 8, "n_routed_experts": 3, "moe_intermediate_size": 7,
      "moe_shared_expert_intermediate_size": 11, "moe_latent_size": 6})");
  std::string stem = "backbone.layers.1.mixer.";
  EXPECT_TRUE(needs(spec, stem + "gate.weight", {3, 16}));
  EXPECT_TRUE(needs(spec, stem + "fc1_latent_proj.weight", {6, 16}));
  EXPECT_TRUE(needs(spec, stem + "experts.1.up_proj.weight", {7, 6}));
  EXPECT_TRUE(needs(spec, stem + "experts.1.down_proj.weight", {6, 7}));
  EXPECT_TRUE(needs(spec, stem + "fc2_latent_proj.weight", {16, 6}));
  EXPECT_TRUE(needs(spec, stem + "shared_experts.up_proj.weight", {11, 16}));
}

TEST(Families, LinearAttentionOfSintersOwnModels) {
  ModelSpec spec = parse(R"({"model_type": "sinter", "vocab_size": 9, "hidden_size": 24,
      "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
      "layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 8,
      "linear_value_head_dim": 5, "attn_output_gate": true, "use_qk_norm": true,
      "attention_sinks": true})");
  std::string stem = "layers.0.attn.";
  EXPECT_TRUE(needs(spec, stem + "q_proj.weight", {24, 24}));
  EXPECT_TRUE(needs(spec, stem + "v_proj.weight", {40, 24}));
  EXPECT_TRUE(needs(spec, stem + "conv1d.weight", {88, 1, 4}));
  EXPECT_TRUE(needs(spec, stem + "log_decay", {8}));
  EXPECT_TRUE(needs(spec, stem + "norm.weight", {5}));
  EXPECT_FALSE(needs(spec, stem + "q_norm.weight", {6}));
  EXPECT_FALSE(needs(spec, stem + "sinks", {4}));
  EXPECT_TRUE(needs(spec, "layers.1.attn.gate_proj.weight", {24, 24}));
  EXPECT_TRUE(needs(spec, "layers.1.attn.sinks", {4}));
}

TEST(Families, ConvolutionsInPlaceOfAttention) {
  // Of 48, two thirds rounded up to 10 are 40.
  ModelSpec spec = parse(config("lfm2", R"("full_attn_idxs": [1], "block_ff_dim": 48,
      "block_multiple_of": 10, "conv_bias": true)"));
  EXPECT_TRUE(spec.layers[0].isConvolution());
  EXPECT_FALSE(spec.hasLinearAttention());
  std::string stem = "model.layers.0.";
  EXPECT_TRUE(needs(spec, stem + "conv.in_proj.weight", {96, 32}));
  EXPECT_TRUE(needs(spec, stem + "conv.in_proj.bias", {96}));
  EXPECT_TRUE(needs(spec, stem + "conv.conv.weight", {32, 1, 3}));
  EXPECT_TRUE(needs(spec, stem + "conv.conv.bias", {32}));
  EXPECT_TRUE(needs(spec, stem + "feed_forward.w1.weight", {40, 32}));
  EXPECT_FALSE(needs(spec, stem + "self_attn.q_layernorm.weight", {8}));
  EXPECT_TRUE(needs(spec, "model.layers.1.self_attn.q_layernorm.weight", {8}));
  EXPECT_FALSE(needs(spec, "model.layers.1.conv.conv.weight", {32, 1, 3}));

  spec = parse(R"({"model_type": "sinter", "vocab_size": 9, "hidden_size": 24,
      "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
      "layer_types": ["convolution", "full_attention"], "embedding_size": 10})");
  EXPECT_TRUE(needs(spec, "layers.0.conv.conv1d.weight", {24, 1, 4}));
  EXPECT_FALSE(needs(spec, "layers.0.attn.q_proj.weight", {24, 24}));
  EXPECT_TRUE(needs(spec, "embed_tokens.weight", {9, 10}));
  EXPECT_TRUE(needs(spec, "embed_proj.weight", {24, 10}));
  EXPECT_TRUE(needs(spec, "head_proj.weight", {10, 24}));
}

TEST(Families, NormsWithAWeightAHead) {
  ModelSpec spec = parse(config("stablelm", R"("qk_layernorm": true, "num_key_value_heads": 2)"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_layernorm.norms.3.weight", {8}));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.k_layernorm.norms.1.weight", {8}));
  EXPECT_FALSE(needs(spec, "model.layers.0.self_attn.k_layernorm.norms.2.weight", {8}));
  spec = parse(config("cohere", R"("use_qk_norm": true, "num_key_value_heads": 2)"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_norm.weight", {4, 8}));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.k_norm.weight", {2, 8}));
  spec = parse(config("phi", R"("qk_layernorm": true)"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_layernorm.bias", {8}));
}

TEST(Families, ExpertsInSomeLayers) {
  ModelSpec spec = parse(config("qwen2_moe", R"("num_experts": 5, "moe_intermediate_size": 20,
      "shared_expert_intermediate_size": 24, "decoder_sparse_step": 2, "mlp_only_layers": [3],
      "router_aux_loss_coef": 0.1, "output_router_logits": true)"));
  EXPECT_EQ(spec.routerLoss, 0.1);
  EXPECT_TRUE(needs(spec, "model.layers.0.mlp.up_proj.weight", {48, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.1.mlp.experts.4.up_proj.weight", {20, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.1.mlp.shared_expert.up_proj.weight", {24, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.1.mlp.shared_expert_gate.weight", {1, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.3.mlp.up_proj.weight", {48, 32}));
}

TEST(Families, ExpertsInOneTensor) {
  ModelSpec spec = parse(config("granitemoe", R"("num_local_experts": 4)"));
  std::string stem = "model.layers.0.block_sparse_moe.";
  EXPECT_TRUE(needs(spec, stem + "input_linear.weight", {4, 96, 32}));
  EXPECT_TRUE(needs(spec, stem + "output_linear.weight", {4, 32, 48}));
  EXPECT_EQ(spec.layers[0].experts->experts[2].up.weight.begin, 2 * 96 + 48);
}

TEST(Families, StackedExperts) {
  std::string keys = R"("num_local_experts": 4, "stacked_experts": true)";
  ModelSpec mixtral = parse(config("mixtral", keys)), granite = parse(config("granitemoe", keys));
  std::string stem = "model.layers.0.block_sparse_moe.experts.";
  EXPECT_TRUE(needs(mixtral, stem + "w3.weight", {4, 48, 32}));
  EXPECT_TRUE(needs(mixtral, stem + "w2.weight", {4, 32, 48}));
  EXPECT_EQ(mixtral.layers[0].experts->experts[2].up.weight.begin, 2 * 48);
  EXPECT_TRUE(needs(granite, stem + "gate.weight", {4, 48, 32}));
  EXPECT_TRUE(needs(granite, stem + "down.weight", {4, 32, 48}));
}

TEST(Families, LlamaBiasesAndTiedHead) {
  ModelSpec spec = parse(
      config("llama", R"("attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true)"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.o_proj.bias", {32}));
  EXPECT_TRUE(needs(spec, "model.layers.0.mlp.gate_proj.bias", {48}));
  EXPECT_EQ(spec.head.weight.tensor, "model.embed_tokens.weight");
  EXPECT_TRUE(spec.isKnownSurplus("lm_head.weight"));
}

TEST(Families, TopLevelOriginalLengthHasPriority) {
  ModelSpec spec =
      parse(config("llama", R"("original_max_position_embeddings": 99, "rope_parameters":
        {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 77})"));
  EXPECT_EQ(spec.rotaries.front().originalMaxPositions, 99);
}

TEST(Families, Gpt2) {
  ModelSpec spec = parse(R"({"model_type": "gpt2", "vocab_size": 50, "n_embd": 12, "n_layer": 2,
                             "n_head": 3, "scale_attn_by_inverse_layer_idx": true})");
  EXPECT_EQ(spec.positions, PositionKind::Learned);
  EXPECT_EQ(spec.mlpSize, 48);
  EXPECT_TRUE(spec.tiedEmbeddings);
  EXPECT_TRUE(needs(spec, "transformer.h.1.attn.c_attn.weight", {12, 36}));
  EXPECT_TRUE(needs(spec, "transformer.h.1.attn.c_attn.bias", {36}));
  EXPECT_EQ(spec.layers[1].value.weight.begin, 24);
  EXPECT_EQ(spec.layers[1].value.weight.layout, WeightRef::Layout::InOut);
  EXPECT_DOUBLE_EQ(spec.layers[1].queryScale, 0.25);
  EXPECT_TRUE(spec.isKnownSurplus("h.0.attn.masked_bias"));
}

TEST(Families, MistralSlidesEverywhere) {
  ModelSpec spec = parse(config("mistral", R"("sliding_window": 9)"));
  for (const LayerSpec &layer : spec.layers)
    EXPECT_EQ(layer.window, 9);
  EXPECT_FALSE(parse(config("mistral", R"("sliding_window": null)")).hasSlidingWindow());
}

TEST(Families, Qwen2SlidesFromALayerOn) {
  ModelSpec spec = parse(config("qwen2", R"("use_sliding_window": true, "sliding_window": 9,
                                            "max_window_layers": 3)"));
  EXPECT_EQ(spec.layers[2].window, 0);
  EXPECT_EQ(spec.layers[3].window, 9);
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_proj.bias", {32}));
  EXPECT_FALSE(
      parse(config("qwen2", R"("sliding_window": 9, "max_window_layers": 0)")).hasSlidingWindow());
}

TEST(Families, Qwen3NormsItsHeads) {
  ModelSpec spec = parse(config("qwen3", R"("head_dim": 20)"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_norm.weight", {20}));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.o_proj.weight", {32, 80}));
  EXPECT_EQ(parse(config("qwen3")).headDim, 128);
}

TEST(Families, Gemma2) {
  ModelSpec spec = parse(config("gemma2", R"("head_dim": 16, "query_pre_attn_scalar": 64,
                                             "attn_logit_softcapping": null)"));
  EXPECT_EQ(spec.attentionSoftCap, 0);
  EXPECT_EQ(spec.logitSoftCap, 30);
  EXPECT_EQ(spec.layers[0].window, 4096);
  EXPECT_EQ(spec.layers[1].window, 0);
  EXPECT_DOUBLE_EQ(spec.layers[0].queryScale, 0.125);
  EXPECT_DOUBLE_EQ(spec.embeddingScale, std::sqrt(32.0));
  EXPECT_TRUE(spec.normUnitOffset);
  EXPECT_EQ(spec.layers[0].attentionPostNorm->weight,
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(spec.layers[0].mlpNorm->weight, "model.layers.0.pre_feedforward_layernorm.weight");
}

TEST(Families, Gemma3HasTwoKindsOfPositions) {
  ModelSpec spec = parse(config("gemma3_text", R"("head_dim": 16, "sliding_window": 9,
      "sliding_window_pattern": 2, "rope_theta": 5e5, "rope_local_base_freq": 77,
      "rope_scaling": {"rope_type": "linear", "factor": 8})"));
  ASSERT_EQ(spec.rotaries.size(), 2u);
  EXPECT_EQ(spec.rotaries[0].type, RopeType::Linear);
  EXPECT_EQ(spec.rotaries[0].theta, 5e5);
  EXPECT_EQ(spec.rotaries[1].type, RopeType::Default);
  EXPECT_EQ(spec.rotaries[1].theta, 77);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(spec.layers[i].window, i % 2 == 0 ? 9 : 0);
    EXPECT_EQ(spec.layers[i].rotary, i % 2 == 0 ? 1u : 0u);
  }
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_norm.weight", {16}));
  // The same in the newer keys.
  ModelSpec newer = parse(config("gemma3_text", R"("head_dim": 16, "rope_parameters":
      {"full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 5e5},
       "sliding_attention": {"rope_theta": 77}})"));
  EXPECT_EQ(newer.rotaries[0].theta, 5e5);
  EXPECT_EQ(newer.rotaries[0].factor, 8);
  EXPECT_EQ(newer.rotaries[1].theta, 77);
}

TEST(Families, Gemma4HasTwoKindsOfHeads) {
  ModelSpec spec = parse(config("gemma4_text", R"("head_dim": 16, "global_head_dim": 24,
      "attention_k_eq_v": true, "num_global_key_value_heads": 1, "sliding_window": 9,
      "hidden_size_per_layer_input": 0, "layer_types": ["sliding_attention", "full_attention",
      "sliding_attention", "sliding_attention"])"));
  std::string stem = "model.layers.1.self_attn.";
  EXPECT_TRUE(needs(spec, stem + "q_proj.weight", {96, 32}));
  EXPECT_TRUE(needs(spec, stem + "k_proj.weight", {24, 32}));
  EXPECT_TRUE(needs(spec, stem + "k_norm.weight", {24}));
  EXPECT_FALSE(needs(spec, stem + "v_proj.weight", {24, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.2.self_attn.v_proj.weight", {32, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.2.layer_scalar", {1}));
  // The last layer sees everything, whatever its type.
  EXPECT_EQ(spec.layers[3].window, 0);
  EXPECT_EQ(spec.getHeadDim(spec.layers[3]), 24);
  EXPECT_EQ(spec.rotaries[0].type, RopeType::Proportional);
  EXPECT_EQ(spec.rotaries[0].dim, 24);
  EXPECT_EQ(spec.rotaries[0].turnedShare, 0.25);
  EXPECT_EQ(spec.rotaries[1].dim, 16);
  EXPECT_EQ(spec.layers[0].queryScale, 1);
}

TEST(Families, Gemma4SharesKeysAndValues) {
  ModelSpec spec = parse(config("gemma4_text", R"("head_dim": 16, "global_head_dim": 24,
      "sliding_window": 9, "num_kv_shared_layers": 2, "use_double_wide_mlp": true,
      "hidden_size_per_layer_input": 6, "vocab_size_per_layer_input": 60, "layer_types":
      ["full_attention", "sliding_attention", "sliding_attention", "full_attention"])"));
  EXPECT_EQ(spec.layers[2].cacheOf, 1u);
  EXPECT_EQ(spec.layers[3].cacheOf, 0u);
  EXPECT_FALSE(spec.layers[1].cacheOf);
  EXPECT_FALSE(needs(spec, "model.layers.2.self_attn.k_proj.weight", {32, 32}));
  EXPECT_TRUE(spec.isKnownSurplus("model.layers.2.self_attn.k_proj.weight"));
  EXPECT_FALSE(spec.isKnownSurplus("model.layers.1.self_attn.k_proj.weight"));
  EXPECT_TRUE(needs(spec, "model.layers.1.mlp.up_proj.weight", {48, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.2.mlp.up_proj.weight", {96, 32}));
  EXPECT_TRUE(needs(spec, "model.embed_tokens_per_layer.weight", {60, 24}));
  EXPECT_TRUE(needs(spec, "model.per_layer_model_projection.weight", {24, 32}));
  EXPECT_TRUE(needs(spec, "model.per_layer_projection_norm.weight", {6}));
  EXPECT_TRUE(needs(spec, "model.layers.0.per_layer_input_gate.weight", {6, 32}));
}

TEST(Families, SmolLm3HasLayersWithoutPositions) {
  ModelSpec spec = parse(config("smollm3"));
  EXPECT_TRUE(spec.layers[2].rotary);
  EXPECT_FALSE(spec.layers[3].rotary);
  EXPECT_FALSE(parse(config("smollm3", R"("no_rope_layers": [0, 1, 1, 1])")).layers[0].rotary);
}

TEST(Families, Olmo2NormsAllHeads) {
  ModelSpec spec = parse(config("olmo2"));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.q_norm.weight", {32}));
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.k_norm.weight", {16}));
  EXPECT_FALSE(spec.layers[0].attentionNorm);
  EXPECT_EQ(spec.layers[0].mlpPostNorm->weight, "model.layers.0.post_feedforward_layernorm.weight");
}

TEST(Families, GraniteScales) {
  ModelSpec spec = parse(config("granite", R"("attention_multiplier": 0.5, "logits_scaling": 4,
      "residual_multiplier": 0.25, "embedding_multiplier": 3)"));
  EXPECT_EQ(spec.layers[3].queryScale, 0.5);
  EXPECT_EQ(spec.logitScale, 0.25);
  EXPECT_EQ(spec.residualScale, 0.25);
  EXPECT_EQ(spec.embeddingScale, 3);
}

TEST(Families, GptNeoXInterleavesHeads) {
  ModelSpec spec = parse(R"({"model_type": "gpt_neox", "vocab_size": 50, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4,
      "rotary_pct": 0.5, "rotary_emb_base": 99})");
  const WeightRef &key = spec.layers[0].key.weight;
  EXPECT_EQ(key.tensorOut, 96);
  EXPECT_EQ(key.begin, 8);
  EXPECT_EQ(key.count, 8);
  EXPECT_EQ(key.groups, 4);
  EXPECT_EQ(key.stride, 24);
  EXPECT_EQ(spec.rotaries.front().dim, 4);
  EXPECT_EQ(spec.rotaries.front().theta, 99);
  EXPECT_TRUE(spec.parallelResidual);
}

TEST(Families, Phi3FusesWeights) {
  ModelSpec spec = parse(config("phi3", R"("partial_rotary_factor": 0.75)"));
  EXPECT_EQ(spec.rotaries.front().dim, 6);
  EXPECT_TRUE(needs(spec, "model.layers.0.self_attn.qkv_proj.weight", {64, 32}));
  EXPECT_TRUE(needs(spec, "model.layers.0.mlp.gate_up_proj.weight", {96, 32}));
  EXPECT_EQ(spec.layers[0].up.weight.begin, 48);
}

TEST(Families, FalconGroupsHeads) {
  std::string sizes = R"("vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2,
                         "num_attention_heads": 4)";
  ModelSpec spec = parse(R"({"model_type": "falcon", )" + sizes + "}");
  EXPECT_EQ(spec.kvHeads, 1);
  EXPECT_TRUE(spec.sharedParallelNorm);
  EXPECT_TRUE(needs(spec, "transformer.h.1.self_attention.query_key_value.weight", {48, 32}));
  EXPECT_EQ(spec.layers[1].key.weight.begin, 32);
  spec = parse(R"({"model_type": "falcon", "new_decoder_architecture": true, "num_kv_heads": 2, )" +
               sizes + "}");
  EXPECT_TRUE(needs(spec, "transformer.h.0.ln_mlp.bias", {32}));
  const WeightRef &value = spec.layers[0].value.weight;
  EXPECT_EQ(std::tuple(value.begin, value.count, value.groups, value.stride),
            std::tuple(24, 8, 2, 32));
  for (const char *wrong : {R"("num_kv_heads": 3, "new_decoder_architecture": true, )",
                            R"("num_ln_in_parallel_attn": 2, )",
                            R"("parallel_attn": false, "new_decoder_architecture": true, )"}) {
    auto read = parseModelSpec(std::string(R"({"model_type": "falcon", )") + wrong + sizes + "}",
                               "config.json");
    EXPECT_FALSE(read) << wrong;
  }
}

TEST(Families, MptReadsItsAttention) {
  std::string sizes = R"("vocab_size": 50, "d_model": 24, "n_layers": 2, "n_heads": 6)";
  auto read = [&](const std::string &attention) {
    return parseModelSpec(
        R"({"model_type": "mpt", "attn_config": )" + attention + ", " + sizes + "}", "config.json");
  };
  ModelSpec spec = read(R"({"clip_qkv": 6, "alibi_bias_max": 4})").value();
  EXPECT_EQ(spec.clipQkv, 6);
  // Of eight slopes, every second one first.
  EXPECT_EQ(spec.alibiSlopes,
            (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, std::exp2(-0.5f), std::exp2(-1.5f)}));
  for (const char *wrong : {"3", R"({"qk_ln": true})", R"({"alibi": false})",
                            R"({"attn_type": "multiquery_attention"})", R"({"unknown": 1})"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

TEST(Families, NormsWithoutWeights) {
  ModelSpec spec = parse(config("nanochat"));
  EXPECT_TRUE(spec.rotaries.front().reversed);
  EXPECT_EQ(spec.logitSoftCap, 15);
  for (const ParameterInfo &parameter : spec.getParameters())
    EXPECT_EQ(parameter.shape.size(), 2u) << parameter.name;
}

TEST(Families, FullLayersWithoutPositions) {
  for (const char *type : {"cohere2", "exaone4"}) {
    ModelSpec spec = parse(config(type, R"("sliding_window": 5)"));
    EXPECT_EQ(spec.layers[2].window, 5);
    EXPECT_TRUE(spec.layers[2].rotary);
    EXPECT_FALSE(spec.layers[3].rotary);
  }
  EXPECT_TRUE(parse(config("exaone4", R"("sliding_window": null)")).layers[3].rotary);
}

TEST(Families, DeepSeekCachesALatentVector) {
  ModelSpec spec = parse(R"({"model_type": "deepseek_v3", "vocab_size": 50, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4,
      "kv_lora_rank": 14, "q_lora_rank": 18, "qk_nope_head_dim": 10, "qk_rope_head_dim": 6,
      "v_head_dim": 12, "n_routed_experts": 16, "moe_intermediate_size": 20, "rope_scaling":
      {"type": "yarn", "factor": 40, "mscale": 1, "mscale_all_dim": 1}})");
  std::string stem = "model.layers.3.self_attn.";
  EXPECT_TRUE(needs(spec, stem + "q_b_proj.weight", {64, 18}));
  EXPECT_TRUE(needs(spec, stem + "kv_a_proj_with_mqa.weight", {20, 32}));
  EXPECT_TRUE(needs(spec, stem + "kv_b_proj.weight", {88, 14}));
  // What experts are chosen by beside their scores is not trained, nor does it decay.
  const std::string bias = "model.layers.3.mlp.gate.e_score_correction_bias";
  for (const ParameterInfo &parameter : spec.getParameters())
    EXPECT_EQ(parameter.isFixed, parameter.name == bias) << parameter.name;
  EXPECT_TRUE(needs(spec, stem + "o_proj.weight", {32, 48}));
  EXPECT_FALSE(needs(spec, stem + "k_proj.weight", {64, 32}));
  EXPECT_EQ(spec.rotaries.front().dim, 6);
  double stretch = 0.1 * std::log(40) + 1;
  EXPECT_DOUBLE_EQ(spec.layers[0].queryScale, stretch * stretch / 4);
  // Three layers have no experts; what is behind the last predicts further tokens.
  EXPECT_FALSE(spec.layers[2].experts);
  EXPECT_TRUE(needs(spec, "model.layers.3.mlp.gate.e_score_correction_bias", {16}));
  EXPECT_TRUE(needs(spec, "model.layers.3.mlp.shared_experts.up_proj.weight", {20, 32}));
  EXPECT_TRUE(spec.isKnownSurplus("model.layers.4.eh_proj.weight"));
  EXPECT_FALSE(spec.isKnownSurplus("model.layers.3.eh_proj.weight"));
}

TEST(Families, GptOssTakesColumnsInTurns) {
  std::string rope = R"("num_local_experts": 4, "rope_scaling": {"type": "yarn", "factor": 4})";
  ModelSpec spec = parse(config("gpt_oss", rope));
  std::string stem = "model.layers.1.mlp.";
  EXPECT_TRUE(needs(spec, stem + "experts.gate_up_proj", {4, 32, 96}));
  EXPECT_TRUE(needs(spec, stem + "experts.gate_up_proj_bias", {4, 96}));
  EXPECT_TRUE(needs(spec, stem + "experts.down_proj", {4, 48, 32}));
  EXPECT_TRUE(needs(spec, stem + "router.bias", {4}));
  EXPECT_TRUE(needs(spec, "model.layers.1.self_attn.sinks", {4}));
  const WeightRef &up = spec.layers[1].experts->experts[2].up.weight;
  EXPECT_EQ(std::tuple(up.begin, up.groups, up.stride), std::tuple(2 * 96 + 1, 48, 2));
  EXPECT_EQ(spec.layers[0].window, 128);
  EXPECT_EQ(spec.layers[1].window, 0);
  EXPECT_FALSE(parseModelSpec(config("gpt_oss"), "config.json"));
}

TEST(Families, SinterSharesLayers) {
  ModelSpec runs = parse(config("sinter", R"("share_layers": 3)"));
  EXPECT_EQ(runs.layers[2].parameterGroup, 0);
  EXPECT_EQ(runs.layers[3].query.weight.tensor, "layers.1.attn.q_proj.weight");
  EXPECT_EQ(runs.layers[3].path, "layers.3");
  ModelSpec listed = parse(config("sinter", R"("share_layers": [0, 1, 1, 0])"));
  EXPECT_EQ(listed.layers[3].parameterGroup, 0);
  EXPECT_EQ(listed.getParameters().size(), 20u); // embedding, norm, 2 sets of 9
}

TEST(Families, SinterChoices) {
  ModelSpec spec = parse(
      config("sinter", R"("mlp_type": "relu2", "norm_type": "layer_norm", "norm_placement": "post",
                   "position_embedding_type": "alibi", "use_qk_norm": true, "sliding_window": 3,
                   "layer_types": ["full_attention", "sliding_attention", "full_attention",
                                   "sliding_attention"], "tie_word_embeddings": false)"));
  EXPECT_EQ(spec.activation, Activation::Relu2);
  EXPECT_FALSE(spec.layers[0].gate);
  EXPECT_FALSE(spec.finalNorm);
  EXPECT_FALSE(spec.layers[0].attentionNorm);
  EXPECT_TRUE(needs(spec, "layers.0.attn_post_norm.bias", {32}));
  EXPECT_EQ(spec.positions, PositionKind::Alibi);
  EXPECT_EQ(spec.layers[1].window, 3);
  EXPECT_TRUE(needs(spec, "lm_head.weight", {50, 32}));
}

TEST(Families, SinterSharedParallelNorm) {
  ModelSpec spec = parse(config("sinter", R"("use_parallel_residual": true,
                                             "parallel_residual_shared_norm": true)"));
  EXPECT_TRUE(spec.layers[0].attentionNorm);
  EXPECT_FALSE(spec.layers[0].mlpNorm);
}

TEST(Families, NotesAndNullsAreHarmless) {
  parse(config("llama", R"("_name_or_path": "x", "future_key": null, "torch_dtype": "bfloat16")"));
}

} // namespace
