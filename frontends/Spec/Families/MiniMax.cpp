// MiniMax-M2: norms over all heads of Q and of K, partial rotary positions, experts that are chosen
// by sigmoids and a bias.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void miniMaxM2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  double fraction = 1;
  // The first files say how many components are rotated.
  if (std::optional<int64_t> rotated = config.optionalSize("rotary_dim"))
    fraction = double(*rotated) / double(config.size("head_dim", 128));
  readLlama(config, spec,
            {.positions = 196608,
             .kvHeads = 8,
             .headDim = 128,
             .partial = fraction,
             .theta = 5e6,
             .eps = 1e-6});
  spec.queryKeyNorm = spec.wholeQueryKeyNorm = true;
  readExperts(config, spec, {"num_local_experts", "num_experts"}, 256, 8);
  // What the first files say beside what transformers reads.
  config.requireFlag("use_qk_norm", true);
  config.requireFlag("use_routing_bias", true);
  config.choice("qk_norm_type", {"per_layer"}, 0);
  config.choice("scoring_func", {"sigmoid"}, 0);
  if (config.sizeOfLayers("attn_type_list", 1) != 1)
    config.mistake("attn_type_list", "linear attention is not supported", "");
  if (config.number("shared_intermediate_size", 0) != 0)
    config.mistake("shared_intermediate_size", "a shared expert is not supported", "");
  config.ignore({"mtp_transformer_layers", "num_mtp_modules", "use_mtp"});
  spec.routing.usesSigmoid = spec.routing.hasBias = spec.routing.normalizes = true;
  if (config.number("router_jitter_noise", 0) != 0)
    config.mistake("router_jitter_noise", "noise before the router is not supported",
                   "set it to 0");
}

void miniMaxM2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  for (LayerSpec &layer : spec.layers) {
    nameExperts(spec, layer, layer.path + ".", "block_sparse_moe.gate", "block_sparse_moe.experts",
                {"w1", "w3", "w2"});
    layer.experts->routerBias = layer.path + ".block_sparse_moe.e_score_correction_bias";
  }
}

} // namespace sinter
