// GPT-BigCode (SantaCoder, StarCoder): GPT-2 whose query heads share one key and value head, with
// matrices as torch's Linear has them.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void gptBigCodeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGpt(config, spec, 1024, true);
  spec.kvHeads = config.flag("multi_query", true) ? 1 : spec.heads;
  if (config.has("num_key_value_heads") && config.size("num_key_value_heads") != spec.kvHeads)
    config.mistake("num_key_value_heads", "it is not what multi_query says", "remove it");
  if (config.flag("scale_attn_weights", true))
    setUsualQueryScale(spec);
  spec.positions = PositionKind::Learned;
  spec.qkvBias = spec.outputBias = spec.mlpBias = true;
  // Which only move roundings, or say how a server runs it.
  config.ignore({"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner",
                 "max_batch_size", "max_sequence_length", "pad_key_length", "pre_allocate_kv_cache",
                 "validate_runner_input", "num_key_value_heads"});
}

void gptBigCodeNameTensors(ModelSpec &spec) {
  nameGptTensors(spec);
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".attn.bias", ".attn.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.mlpNorm = norm(spec, "ln_2", layer.path + ".ln_2", hidden);
    // With a head of keys for each of queries, the three of a head are side by side.
    if (spec.kvHeads == 1)
      nameConcatenatedHeads(spec, layer, "attn.c_attn");
    else
      nameGroupedHeads(spec, layer, "attn.c_attn");
    layer.output = linear("attn.c_proj", layer.path + ".attn.c_proj", hidden, hidden, true);
    namePlainMlp(spec, layer, "mlp.c_fc", "mlp.c_proj");
  }
}

} // namespace sinter
