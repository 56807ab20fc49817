// ERNIE 4.5: Llama with rotary positions of neighbouring components; with experts that are chosen
// by a softmax and a bias, beside shared ones.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void ernie45ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec,
            {.positions = 131072, .tied = true, .kvHeads = 2, .headDim = 128, .theta = 5e5});
  spec.rotaries.front().interleaved = true;
  spec.qkvBias = spec.outputBias = spec.mlpBias = config.flag("use_bias", false);
}

void ernie45NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void ernie45MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .tied = true, .kvHeads = 4, .theta = 5e5});
  spec.rotaries.front().interleaved = true;
  if (config.flag("use_bias", false))
    config.mistake("use_bias", "biases of models with experts are not supported", "");
  readExperts(config, spec, {"moe_num_experts", "num_experts"}, 64, config.size("moe_k", 6));
  spec.expertSize = config.size("moe_intermediate_size", 1536);
  readSharedExperts(config, spec, "moe_num_shared_experts", 2);
  int64_t layers = static_cast<int64_t>(spec.layers.size());
  int64_t first = config.count("moe_layer_start_index", 1),
          step = config.size("moe_layer_interval", 1), last = layers - 1;
  if (config.number("moe_layer_end_index", -1) != -1)
    last = config.count("moe_layer_end_index", last);
  for (int64_t i = 0; i < layers; ++i)
    spec.layers[i].isSparse = (i + 1) % step == 0 && i >= first && i <= last;
  spec.routing.hasBias = spec.routing.normalizes = true;
  config.requireFlag("moe_use_aux_free", true);
  config.choice("moe_gate", {"topk"}, 0);
  // The weights of the chosen ones are divided by their sum, which is far larger.
  if (config.positive("moe_norm_min", 1e-12) > 1e-9)
    config.mistake("moe_norm_min", "more than 1e-9 is not supported", "");
  // Of training, and layers that predict further tokens, which are left out.
  config.ignore({"moe_capacity", "num_nextn_predict_layers"});
}

void ernie45MoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameMlpExperts(spec);
  spec.surplusBeginnings.insert(spec.surplusBeginnings.end(), {"model.mtp_", "mtp"});
  for (LayerSpec &layer : spec.layers) {
    if (!layer.isSparse)
      continue;
    layer.experts->routerBias = layer.path + ".mlp.moe_statics.e_score_correction_bias";
    layer.experts->biasIsRow = true;
    if (spec.sharedExpertSize)
      nameSharedExpert(spec, layer, "mlp.shared_experts");
  }
}

} // namespace sinter
