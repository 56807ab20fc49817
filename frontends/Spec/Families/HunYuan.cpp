// Hunyuan: Llama with norms on the heads of Q and K behind their rotation.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void hunYuanReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {});
  spec.queryKeyNorm = spec.normsRotatedHeads = true;
  config.requireFlag("use_qk_norm", true);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  config.ignore({"eod_token_id"});
}

void hunYuanNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec, "self_attn.query_layernorm", "self_attn.key_layernorm");
}

} // namespace sinter
