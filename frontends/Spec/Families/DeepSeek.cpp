// DeepSeek-V2 and V3 (and R1, Kimi K2, which are V3): latent attention, experts in groups beside a
// shared one, the first layers without. V3 chooses by sigmoids and a bias; so does GLM-4.7-Flash.
// Youtu-LLM has no experts.

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {
namespace {

/// What the files of these families leave out.
struct DeepSeekDefaults {
  int64_t positions = 4096;
  bool tied = false;
  int64_t queryLatent = 1536;
  double eps = 1e-6;
};

void readDeepSeek(ConfigReader &config, ModelSpec &spec, const DeepSeekDefaults &defaults) {
  readCommon(config, spec, defaults.positions, defaults.tied);
  readPaddingId(config, spec);
  readLatentAttention(config, spec, defaults.queryLatent);
  config.ignore({"head_dim", "qk_head_dim"});
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", defaults.eps);
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
  readDeepSeek(config, spec, {.positions = 2048});
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
  readDeepSeek(config, spec, {});
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

void glm4MoeLiteReadConfig(ConfigReader &config, ModelSpec &spec) {
  readDeepSeek(config, spec, {.positions = 202752, .queryLatent = 768, .eps = 1e-5});
  spec.rotaries.front().interleaved = config.flag("rope_interleave", true);
  readDeepSeekExperts(
      config, spec,
      {.count = 64, .perToken = 4, .size = 1536, .dense = 1, .shared = 1, .scale = 1.8});
  useSigmoidRouting(config, spec, true);
}

void glm4MoeLiteNameTensors(ModelSpec &spec) { deepSeekV2NameTensors(spec); }

void youtuReadConfig(ConfigReader &config, ModelSpec &spec) {
  readDeepSeek(config, spec, {.positions = 131072, .tied = true});
  spec.rotaries.front().interleaved = config.flag("rope_interleave", true);
  spec.initializerRange =
      config.positive("initializer_range", 2 / std::sqrt(5 * double(spec.hiddenSize)));
  config.ignore({"embedding_initializer_range"}); // random weights have one deviation
}

void youtuNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    nameLatentAttention(spec, layer, layer.path + ".", latentNames);
}

} // namespace sinter
