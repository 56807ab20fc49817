// Hunyuan: Llama with norms on the heads of Q and K behind their rotation; with experts beside a
// shared one of their size.

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

void hunYuanMoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  hunYuanReadConfig(config, spec);
  for (const char *key : {"moe_topk", "num_experts"})
    if (const ConfigReader::Json *value = config.value(key); value && value->is_array()) {
      config.mistake(key, "a number for each layer is not supported", "give one number");
      return;
    }
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 1, config.size("moe_topk", 1));
  spec.routing.normalizes = true;
  spec.sharedExpertSize = spec.mlpSize;
}

void hunYuanMoeNameTensors(ModelSpec &spec) {
  hunYuanNameTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    nameExperts(spec, layer, layer.path + ".", "mlp.gate.wg", "mlp.experts",
                {"gate_proj", "up_proj", "down_proj"});
    nameSharedExpert(spec, layer, "mlp.shared_mlp");
  }
}

} // namespace sinter
