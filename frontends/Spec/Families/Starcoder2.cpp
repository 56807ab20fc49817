// StarCoder2: layer norms, biases everywhere, a plain MLP, a window in every layer.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void starcoder2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 4096, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 2);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt);
  readUniformWindow(config, spec);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::GeluTanh);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("norm_epsilon", 1e-5);
  spec.qkvBias = spec.outputBias = spec.mlpBias = config.flag("use_bias", true);
  // Of training, and what the first files say beside what transformers reads.
  config.ignore({"embedding_dropout", "residual_dropout", "activation_function", "mlp_type",
                 "norm_type", "layer_norm_epsilon", "attention_softmax_in_fp32",
                 "scale_attention_softmax_in_fp32", "scale_attn_weights"});
}

void starcoder2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    namePlainMlp(spec, layer, "mlp.c_fc", "mlp.c_proj");
}

} // namespace sinter
