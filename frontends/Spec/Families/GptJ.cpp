// GPT-J: parallel residuals of one layer norm, rotary positions of neighbouring components, biases
// in the MLP and the head.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {

void gptJReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGpt(config, spec, 2048, false);
  int64_t width = config.size("rotary_dim", 64);
  if (width > spec.headDim || width % 2 != 0)
    config.mistake("rotary_dim",
                   std::to_string(width) + " of " + std::to_string(spec.headDim) +
                       " components of a head would be rotated in pairs",
                   "");
  RotarySpec rotary;
  rotary.dim = std::min(width, spec.headDim);
  rotary.interleaved = true;
  rotary.maxPositions = rotary.originalMaxPositions = spec.maxPositions;
  spec.rotaries = {rotary};
  setUsualQueryScale(spec);
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.mlpBias = spec.headBias = true;
  config.requireFlag("rotary", true);
  config.requireFlag("scale_attn_weights", true);
}

void gptJNameTensors(ModelSpec &spec) {
  nameGptTensors(spec);
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".attn.bias", ".attn.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name, int64_t in, int64_t out, bool bias) {
      return linear(name, layer.path + "." + name, in, out, bias);
    };
    layer.query = named("attn.q_proj", hidden, hidden, false);
    layer.key = named("attn.k_proj", hidden, hidden, false);
    layer.value = named("attn.v_proj", hidden, hidden, false);
    layer.output = named("attn.out_proj", hidden, hidden, false);
    namePlainMlp(spec, layer, "mlp.fc_in", "mlp.fc_out");
  }
}

} // namespace sinter
