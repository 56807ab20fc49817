// nanochat: norms without weights, also of the embedding and behind the rotation of Q and K, which
// goes the other way round; squared ReLU, capped logits.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void nanoChatReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  deriveHeadDim(config, spec);
  readRotary(config, spec, std::nullopt);
  spec.rotaries.front().reversed = true;
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Relu2);
  spec.gatedMlp = false;
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.normWeights = false;
  spec.normsEmbedding = true;
  spec.queryKeyNorm = spec.normsRotatedHeads = true;
  spec.logitSoftCap = config.present("final_logit_softcapping")
                          ? config.positive("final_logit_softcapping", 0)
                          : 15;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
}

void nanoChatNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  spec.embeddingNorm = spec.finalNorm;
  for (LayerSpec &layer : spec.layers)
    namePlainMlp(spec, layer, "mlp.fc1", "mlp.fc2");
  dropNormWeights(spec);
}

} // namespace sinter
