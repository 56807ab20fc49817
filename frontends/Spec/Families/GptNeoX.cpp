// GPT-NeoX and Pythia: parallel residuals, partial rotary positions, Q, K and V of each head side
// by side in one tensor.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void gptNeoXReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  spec.kvHeads = spec.heads;
  deriveHeadDim(config, spec);
  double fraction = config.positive("rotary_pct", 0.25);
  double base = config.positive("rotary_emb_base", 10000);
  // Older files repeat the base under the name that other families have; transformers reads it here
  // under its own name alone.
  if (config.positive("rope_theta", base) != base)
    config.mistake("rope_theta", "models of this type have rotary_emb_base", "rename it");
  if (config.positive("partial_rotary_factor", fraction) != fraction)
    config.mistake("partial_rotary_factor", "models of this type have rotary_pct", "rename it");
  readRotary(config, spec, fraction, base);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Gelu);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.parallelResidual = config.flag("use_parallel_residual", true);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", true);
  spec.mlpBias = true;
}

void gptNeoXNameTensors(ModelSpec &spec) {
  spec.embedding = "gpt_neox.embed_in.weight";
  spec.embeddingName = "gpt_neox.embed_in";
  spec.finalNorm =
      norm(spec, "gpt_neox.final_layer_norm", "gpt_neox.final_layer_norm", spec.hiddenSize);
  nameHead(spec, "embed_out");
  spec.surplusEndings.insert(spec.surplusEndings.end(),
                             {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "gpt_neox.layers." + std::to_string(&layer - spec.layers.data());
    layer.attentionNorm = norm(spec, "input_layernorm", layer.path + ".input_layernorm", hidden);
    nameGroupedHeads(spec, layer, "attention.query_key_value");
    layer.output =
        linear("attention.dense", layer.path + ".attention.dense", hidden, hidden, spec.outputBias);
    layer.mlpNorm =
        norm(spec, "post_attention_layernorm", layer.path + ".post_attention_layernorm", hidden);
    namePlainMlp(spec, layer, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  }
}

} // namespace sinter
