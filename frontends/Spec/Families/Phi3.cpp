// Phi-3: Llama with Q, K and V in one tensor, gate and up in one tensor, partial rotary positions
// and longrope.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void phi3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 4096, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, 1.0);
  RotarySpec &rotary = spec.rotaries.front();
  if (rotary.type != RopeType::Default && rotary.type != RopeType::LongRope)
    config.mistake("rope_parameters", "models of this type have rope_type default or longrope", "");
  // The family's default, which transformers puts before max_position_embeddings.
  if (!config.present("original_max_position_embeddings") && rotary.type == RopeType::LongRope)
    rotary.originalMaxPositions = 4096;
  setUsualQueryScale(spec);
  readUniformWindow(config, spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-5);
  config.requireFlag("attention_bias", false);
}

void phi3NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    nameConcatenatedHeads(spec, layer, "self_attn.qkv_proj");
    nameFusedGate(spec, layer);
  }
}

} // namespace sinter
