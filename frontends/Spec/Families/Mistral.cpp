// Mistral: Llama with a sliding window in every layer. Mixtral: Mistral with experts.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

namespace {

void readMistral(ConfigReader &config, ModelSpec &spec, double theta, double eps) {
  readCommon(config, spec, 4096 * 32, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 8);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, theta);
  setUsualQueryScale(spec);
  readUniformWindow(config, spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", eps);
}

} // namespace

void mistralReadConfig(ConfigReader &config, ModelSpec &spec) {
  readMistral(config, spec, 10000, 1e-6);
}

void mistralNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void mixtralReadConfig(ConfigReader &config, ModelSpec &spec) {
  readMistral(config, spec, 1e6, 1e-5);
  readExperts(config, spec, {"num_local_experts"}, 8, 2);
  spec.normalizesExperts = true;
  if (config.number("router_jitter_noise", 0) != 0)
    config.mistake("router_jitter_noise", "noise before the router is not supported",
                   "set it to 0");
}

void mixtralNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    nameExperts(spec, layer, layer.path + ".", "block_sparse_moe.gate", "block_sparse_moe.experts",
                {"w1", "w3", "w2"});
}

} // namespace sinter
