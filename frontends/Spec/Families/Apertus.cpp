// Apertus: Llama with norms of Q and K and a plain MLP, whose activation has numbers that are
// trained.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void apertusReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 65536, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, 12e6);
  if (!config.has("rope_parameters") && !config.has("rope_scaling")) {
    RotarySpec &rotary = spec.rotaries.front();
    rotary.type = RopeType::Llama3;
    rotary.factor = 8;
    rotary.originalMaxPositions = 8192;
  }
  setUsualQueryScale(spec);
  if (config.text("hidden_act", "xielu") == "xielu")
    spec.activation = Activation::Xielu;
  else
    spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.gatedMlp = false;
  spec.normEps = config.positive("rms_norm_eps", 1e-5);
  spec.queryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  config.requireFlag("mlp_bias", false);
  config.requireFlag("post_norm", false);
  if (config.has("qk_norm"))
    config.requireFlag("qk_norm", true);
}

void apertusNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  // Numbers that no model changes, XieluSpec's.
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".act_fn.beta", ".act_fn.eps"});
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionNorm = named("attention_layernorm");
    layer.mlpNorm = named("feedforward_layernorm");
    if (spec.activation == Activation::Xielu)
      layer.xielu = {layer.path + ".mlp.act_fn.alpha_p", layer.path + ".mlp.act_fn.alpha_n"};
  }
}

} // namespace sinter
