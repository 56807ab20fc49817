// Qwen3-Next and Qwen3.5, dense or with experts: linear attention by the gated delta rule in three
// of four layers; in the others attention whose heads are scaled by a gate, with norms of Q and K
// and a quarter of each head rotated. Norms' factors are 1 + weight. Qwen3-Next has experts and a
// shared one with a gate, as one of the Qwen3.5 has, and its linear attention's projections side by
// side in two tensors.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {
namespace {

/// layer_types, or full_attention_interval: every how many layers there is full attention.
void readLinearLayers(ConfigReader &config, ModelSpec &spec) {
  auto interval = static_cast<size_t>(config.size("full_attention_interval", 4));
  readLayerMixers(config, spec, "linear_attention", MixerKind::LinearAttention,
                  [&](size_t layer) { return (layer + 1) % interval != 0; });
}

void readHybrid(ConfigReader &config, ModelSpec &spec, int64_t kvHeads,
                std::optional<int64_t> mlpSize = {}) {
  readLlama(config, spec,
            {.positions = 32768,
             .kvHeads = kvHeads,
             .headDim = 256,
             .partial = 0.25,
             .eps = 1e-6,
             .mlpSize = mlpSize});
  readLinearLayers(config, spec);
  spec.normUnitOffset = spec.queryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  config.requireFlag("attn_output_gate", true);
  readLinearHeads(config, spec,
                  {.keyHeads = 16, .valueHeads = 32, .keySize = 128, .valueSize = 128});
  // The type that a state is kept in, f32 here.
  config.ignore({"mamba_ssm_dtype", "mtp_use_dedicated_embeddings"});
  // Layers that guess further tokens are not read; in GGUF files they stand behind the others.
  int64_t layers = static_cast<int64_t>(spec.layers.size()),
          further = std::min<int64_t>(config.count("mtp_num_hidden_layers", 0), 16);
  for (int64_t i = layers; i < layers + further; ++i)
    spec.surplusBeginnings.push_back("model.layers." + std::to_string(i) + ".");
}

/// All tensors but those of experts; `nameProjections` gives a layer its linear attention's
/// projections.
void nameHybrid(ModelSpec &spec, void (*nameProjections)(const ModelSpec &, const std::string &,
                                                         LinearAttentionSpec &)) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  spec.surplusBeginnings.push_back("mtp.");
  int64_t hidden = spec.hiddenSize, heads = spec.heads, width = spec.headDim;
  for (LayerSpec &layer : spec.layers) {
    if (!layer.isLinear()) {
      auto part = [&](const char *name, int64_t begin) {
        WeightRef ref{.tensorOut = 2 * heads * width,
                      .begin = begin,
                      .count = width,
                      .groups = heads,
                      .stride = 2 * width};
        return linearPart(name, layer.path + ".self_attn.q_proj", hidden, ref, spec.qkvBias);
      };
      layer.query = part("self_attn.q_proj.q", 0);
      layer.attentionGate = part("self_attn.q_proj.gate", width);
      continue;
    }
    std::string stem = layer.path + ".linear_attn";
    layer.query = layer.key = layer.value = {};
    layer.output = linear("linear_attn.out_proj", stem + ".out_proj",
                          spec.linearValueHeads * spec.linearValueSize, hidden, false);
    LinearAttentionSpec &linear = layer.linear.emplace();
    nameProjections(spec, stem, linear);
    linear.convolution = stem + ".conv1d.weight";
    linear.logDecay = stem + ".A_log";
    linear.decayBias = stem + ".dt_bias";
    linear.norm = {"linear_attn.norm", stem + ".norm.weight", "", spec.linearValueSize};
  }
}

/// in_proj_qkv, with all of Q, then K, then V; in_proj_z.
void nameSplitHeads(const ModelSpec &spec, const std::string &stem, LinearAttentionSpec &linear) {
  int64_t keys = spec.linearKeyHeads * spec.linearKeySize,
          values = spec.linearValueHeads * spec.linearValueSize;
  auto part = [&](const char *name, int64_t begin, int64_t count) {
    WeightRef ref{.tensorOut = 2 * keys + values, .begin = begin, .count = count};
    return linearPart(name, stem + ".in_proj_qkv", spec.hiddenSize, ref, false);
  };
  linear.query = part("linear_attn.in_proj_qkv.q", 0, keys);
  linear.key = part("linear_attn.in_proj_qkv.k", keys, keys);
  linear.value = part("linear_attn.in_proj_qkv.v", 2 * keys, values);
  linear.gate =
      sinter::linear("linear_attn.in_proj_z", stem + ".in_proj_z", spec.hiddenSize, values, false);
}

/// The same, in_proj_b and in_proj_a.
void nameSplitProjections(const ModelSpec &spec, const std::string &stem,
                          LinearAttentionSpec &linear) {
  nameSplitHeads(spec, stem, linear);
  auto whole = [&](const std::string &name) {
    return sinter::linear("linear_attn." + name, stem + "." + name, spec.hiddenSize,
                          spec.linearValueHeads, false);
  };
  linear.beta = whole("in_proj_b");
  linear.decay = whole("in_proj_a");
}

/// in_proj_qkvz and in_proj_ba, with what belongs to a key head side by side.
void nameGroupedProjections(const ModelSpec &spec, const std::string &stem,
                            LinearAttentionSpec &linear) {
  int64_t groups = spec.linearKeyHeads, heads = spec.linearValueHeads / groups;
  int64_t keys = spec.linearKeySize, values = heads * spec.linearValueSize;
  auto part = [&](const std::string &tensor, const char *suffix, int64_t stride, int64_t begin,
                  int64_t count) {
    WeightRef ref{.tensorOut = groups * stride,
                  .begin = begin,
                  .count = count,
                  .groups = groups,
                  .stride = stride};
    return linearPart("linear_attn." + tensor + suffix, stem + "." + tensor, spec.hiddenSize, ref,
                      false);
  };
  linear.beta = part("in_proj_ba", ".b", 2 * heads, 0, heads);
  linear.decay = part("in_proj_ba", ".a", 2 * heads, heads, heads);
  if (spec.splitsProjections)
    return nameSplitHeads(spec, stem, linear);
  int64_t stride = 2 * (keys + values);
  linear.query = part("in_proj_qkvz", ".q", stride, 0, keys);
  linear.key = part("in_proj_qkvz", ".k", stride, keys, keys);
  linear.value = part("in_proj_qkvz", ".v", stride, 2 * keys, values);
  linear.gate = part("in_proj_qkvz", ".z", stride, 2 * keys + values, values);
}

} // namespace

void qwen35ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readHybrid(config, spec, 4);
  if (!config.numbers("mlp_only_layers").empty())
    config.mistake("mlp_only_layers", "models of this type have no experts", "remove it");
}

void qwen35NameTensors(ModelSpec &spec) { nameHybrid(spec, nameSplitProjections); }

void qwen35MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readHybrid(config, spec, 2, /*mlpSize=*/512);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 256, 8);
  spec.expertSize = config.size("moe_intermediate_size", 512);
  spec.routing.normalizes = true;
  for (LayerSpec &layer : spec.layers)
    layer.isSparse = true;
  spec.sharedExpertSize = config.size("shared_expert_intermediate_size", 512);
  spec.sharedExpertGate = true;
}

void qwen35MoeNameTensors(ModelSpec &spec) {
  nameHybrid(spec, nameSplitProjections);
  nameGatedSharedExperts(spec);
}

void qwen3NextReadConfig(ConfigReader &config, ModelSpec &spec) {
  readHybrid(config, spec, 2);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 512, 10);
  readSparseLayers(config, spec, 512);
  // Of GGUF files.
  spec.splitsProjections = config.flag("split_qkvz", false);
  spec.routing.normalizes = config.flag("norm_topk_prob", true);
  spec.sharedExpertSize = config.size("shared_expert_intermediate_size", 512);
  spec.sharedExpertGate = true;
}

void qwen3NextNameTensors(ModelSpec &spec) {
  nameHybrid(spec, nameGroupedProjections);
  nameGatedSharedExperts(spec);
}

} // namespace sinter
