// GLM-4: Llama with norms before and after each block, partial rotary positions of neighbouring
// components, gate and up in one tensor.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void glm4ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 131072, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 2);
  readHeadDim(config, spec, 128);
  readRotary(config, spec, 0.5);
  spec.rotaries.front().interleaved = true;
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1.5625e-7);
  spec.normPlace = NormPlace::PrePost;
  spec.qkvBias = config.flag("attention_bias", true);
}

void glm4NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionPostNorm = named("post_self_attn_layernorm");
    layer.mlpPostNorm = named("post_mlp_layernorm");
    nameFusedGate(spec, layer);
  }
}

} // namespace sinter
