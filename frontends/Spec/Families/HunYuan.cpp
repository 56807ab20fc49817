// Hunyuan: Llama with norms on the heads of Q and K behind their rotation; with experts beside a
// shared one of their size.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void hunYuanReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {});
  spec.queryKeyNorm = spec.normsRotatedHeads = true;
  config.requireFlag("use_qk_norm", true);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  config.requireFlag("use_rotary_pos_emb", true);
  for (const char *key :
       {"add_classification_head", "mlp_bias", "position_embedding_xdrope", "use_cla"})
    config.requireFlag(key, false);
  config.choice("norm_type", {"rms"}, 0);
  // Of other models that share the files' layout.
  config.ignore({"attention_head_dim", "cla_share_factor", "class_num", "dense_list",
                 "eod_token_id", "im_end_id", "im_newline_id", "im_start_id", "mask_init_id",
                 "num_media_embeds", "org_vocab_size", "pad_id", "pool_type", "skip_cls_token",
                 "text_end_id", "text_start_id", "video_end_id", "video_start_id"});
}

void hunYuanNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec, "self_attn.query_layernorm", "self_attn.key_layernorm");
}

void hunYuanMoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  hunYuanReadConfig(config, spec);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 1,
              config.sizeOfLayers("moe_topk", 1));
  spec.routing.normalizes = true;
  spec.sharedExpertSize = spec.mlpSize;
  if (config.sizeOfLayers("moe_intermediate_size", spec.mlpSize) != spec.mlpSize)
    config.mistake("moe_intermediate_size", "experts have the size 'intermediate_size'", "");
  if (config.sizeOfLayers("num_shared_expert", 1) != 1)
    config.mistake("num_shared_expert", "models of this type have one", "");
  if (config.number("moe_layer_num_skipped", 0) != 0)
    config.mistake("moe_layer_num_skipped", "layers without experts are not supported", "");
  config.requireFlag("norm_topk_prob", true);
  config.requireFlag("use_mixed_mlp_moe", true);
  for (const char *key : {"group_limited_greedy", "use_mla"})
    config.requireFlag(key, false);
  config.ignore({"moe_drop_tokens", "moe_random_routing_dropped_token"}); // of training
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
