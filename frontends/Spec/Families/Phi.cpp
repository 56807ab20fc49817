// Phi-1 to Phi-2: parallel residuals of one layer norm, partial rotary positions, a plain MLP,
// biases everywhere. Persimmon: the same one after the other, with layer norms of Q and K, and Q, K
// and V of each head side by side.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

static void nameHeadLayerNorms(ModelSpec &spec) {
  spec.headNormKind = NormKind::LayerNorm;
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.headDim);
    };
    layer.queryNorm = named("self_attn.q_layernorm");
    layer.keyNorm = named("self_attn.k_layernorm");
  }
}

void phiReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, 0.5);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::GeluTanh);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.qkvBias = spec.outputBias = spec.mlpBias = spec.headBias = true;
  spec.queryKeyNorm = config.flag("qk_layernorm", false);
}

void phiNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm = norm(spec, "model.final_layernorm", "model.final_layernorm", spec.hiddenSize);
  spec.head.bias = linear("lm_head", "lm_head", spec.hiddenSize, spec.vocabSize, true).bias;
  for (LayerSpec &layer : spec.layers) {
    layer.output = linear("self_attn.dense", layer.path + ".self_attn.dense",
                          spec.heads * spec.headDim, spec.hiddenSize, true);
    layer.mlpNorm = std::nullopt;
    namePlainMlp(spec, layer, "mlp.fc1", "mlp.fc2");
  }
  if (spec.queryKeyNorm)
    nameHeadLayerNorms(spec);
}

void persimmonReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 16384, false);
  readPaddingId(config, spec);
  spec.kvHeads = spec.heads;
  deriveHeadDim(config, spec);
  readRotary(config, spec, 0.5);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Relu2);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.qkvBias = spec.outputBias = spec.mlpBias = true;
  spec.queryKeyNorm = config.flag("qk_layernorm", true);
}

void persimmonNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm = norm(spec, "model.final_layernorm", "model.final_layernorm", spec.hiddenSize);
  for (LayerSpec &layer : spec.layers) {
    nameGroupedHeads(spec, layer, "self_attn.query_key_value");
    layer.output = linear("self_attn.dense", layer.path + ".self_attn.dense", spec.hiddenSize,
                          spec.hiddenSize, true);
    namePlainMlp(spec, layer, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  }
  if (spec.queryKeyNorm)
    nameHeadLayerNorms(spec);
}

} // namespace sinter
