// Command R and R7B: parallel residuals of one layer norm without a bias, rotary positions of
// neighbouring components, scaled logits; R+ has norms of Q and K with a weight a head; R7B has a
// window in three of four layers, and positions in these alone.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void cohereReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 8192, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, 5e5);
  spec.rotaries.front().interleaved = true;
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.logitScale = config.positive("logit_scale", 0.0625);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.queryKeyNorm = spec.headNormWeights = config.flag("use_qk_norm", false);
  spec.headNormKind = NormKind::LayerNorm;
  config.ignore({"model_max_length"}); // of the tokenizer
}

void cohereNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm->bias.clear();
  for (LayerSpec &layer : spec.layers) {
    layer.attentionNorm->bias.clear();
    layer.mlpNorm = std::nullopt;
  }
  if (spec.queryKeyNorm)
    nameHeadNorms(spec);
}

void cohere2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  cohereReadConfig(config, spec);
  config.requireFlag("use_qk_norm", false);
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  readLayerTypes(
      config, spec, window,
      [](const ModelSpec &, int64_t layer, int64_t every) { return (layer + 1) % every != 0; },
      config.size("sliding_window_pattern", config.size("layer_switch", 4)));
  dropFullRotaries(spec);
  // What the first files say beside what transformers reads.
  config.requireFlag("use_gated_activation", true);
  config.requireFlag("use_parallel_block", true);
  config.requireFlag("use_embedding_sharing", true);
  config.ignore({"order_of_interleaved_layers", "position_embedding_type", "rotary_pct",
                 "use_parallel_embedding"}); // the last: how a table lies on several devices
}

void cohere2NameTensors(ModelSpec &spec) { cohereNameTensors(spec); }

} // namespace sinter
