// DeepSeek-V2 and V3 (and R1, Kimi K2, which are V3): latent attention, experts in groups beside a
// shared one, the first layers without. V3 chooses by sigmoids and a bias.

#include "frontends/Spec/Families/Family.h"

namespace sinter {
namespace {

void readDeepSeek(ConfigReader &config, ModelSpec &spec, int64_t positions) {
  readCommon(config, spec, positions, false);
  readPaddingId(config, spec);
  readLatentAttention(config, spec, 1536);
  config.ignore({"head_dim", "qk_head_dim"});
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
}

constexpr LatentNames latentNames = {"self_attn.q_proj",
                                     "self_attn.q_a_proj",
                                     "self_attn.q_a_layernorm",
                                     "self_attn.q_b_proj",
                                     "self_attn.kv_a_proj_with_mqa",
                                     "self_attn.kv_a_layernorm",
                                     "self_attn.kv_b_proj",
                                     "self_attn.o_proj"};

} // namespace

void deepSeekV2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readDeepSeek(config, spec, 2048);
  spec.rotaries.front().interleaved = true;
  spec.mlpBias = config.flag("mlp_bias", false);
  if (spec.mlpBias)
    config.mistake("mlp_bias", "biases of experts are not supported", "");
  readDeepSeekExperts(config, spec, {.count = 64, .perToken = 6, .size = 1407, .shared = 2});
  spec.routing.groupScore = RoutingSpec::GroupScore::Largest;
  config.requireFlag("norm_topk_prob", false);
  // Greedy: whatever the groups are.
  if (config.choice("topk_method", {"greedy", "group_limited_greedy"}, 0) == 0)
    spec.routing.groups = spec.routing.groupsPerToken = 1;
  config.choice("scoring_func", {"softmax"}, 0);
}

void deepSeekV2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameDeepSeekExperts(spec);
  for (LayerSpec &layer : spec.layers)
    nameLatentAttention(spec, layer, layer.path + ".", latentNames);
}

void deepSeekV3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readDeepSeek(config, spec, 4096);
  spec.rotaries.front().interleaved = config.flag("rope_interleave", true);
  readDeepSeekExperts(config, spec,
                      {.count = 256,
                       .perToken = 8,
                       .size = 2048,
                       .dense = 3,
                       .shared = 1,
                       .scale = 2.5,
                       .groups = 8,
                       .groupsPerToken = 4});
  useSigmoidRouting(config, spec, true);
}

void deepSeekV3NameTensors(ModelSpec &spec) { deepSeekV2NameTensors(spec); }

} // namespace sinter
