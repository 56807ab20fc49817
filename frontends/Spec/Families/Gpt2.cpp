// GPT-2: learned positions, layer norms before each block, Conv1D weights ([in, out]), Q, K and V
// concatenated in one tensor.

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

void gpt2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGpt(config, spec, 1024, true);
  bool scale = config.flag("scale_attn_weights", true);
  bool scaleByLayer = config.flag("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].queryScale =
        (scale ? 1 / std::sqrt(double(spec.headDim)) : 1.0) / (scaleByLayer ? double(i + 1) : 1.0);
  spec.positions = PositionKind::Learned;
  config.ignore({"reorder_and_upcast_attn"}); // which only moves roundings
}

void gpt2NameTensors(ModelSpec &spec) {
  nameGptTensors(spec);
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".attn.bias", ".attn.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    auto part = [&](const char *name, const char *tensor, int64_t in, int64_t out, int64_t index,
                    int64_t parts) {
      WeightRef weight{.layout = WeightRef::Layout::InOut,
                       .tensorOut = parts * out,
                       .begin = index * out,
                       .count = out};
      return linearPart(name, layer.path + "." + tensor, in, weight, true);
    };
    layer.query = part("attn.c_attn.q", "attn.c_attn", hidden, hidden, 0, 3);
    layer.key = part("attn.c_attn.k", "attn.c_attn", hidden, hidden, 1, 3);
    layer.value = part("attn.c_attn.v", "attn.c_attn", hidden, hidden, 2, 3);
    layer.output = part("attn.c_proj", "attn.c_proj", hidden, hidden, 0, 1);
    layer.mlpNorm = norm(spec, "ln_2", layer.path + ".ln_2", hidden);
    layer.up = part("mlp.c_fc", "mlp.c_fc", hidden, spec.mlpSize, 0, 1);
    layer.down = part("mlp.c_proj", "mlp.c_proj", spec.mlpSize, hidden, 0, 1);
  }
}

} // namespace sinter
