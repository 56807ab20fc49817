// gpt-oss: attention with sinks, a window in every second layer, experts whose gate and up are
// columns in turns of one tensor, with biases, of a clamped SwiGLU.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void gptOssReadConfig(ConfigReader &config, ModelSpec &spec) {
  if (!config.has("rope_parameters") && !config.has("rope_scaling"))
    config.mistake("rope_parameters", "it is missing", "add it");
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 64, .theta = 150000});
  std::optional<int64_t> window = config.present("sliding_window")
                                      ? config.optionalSize("sliding_window")
                                      : std::optional<int64_t>(128);
  readLayerTypes(config, spec, window,
                 [](const ModelSpec &, int64_t layer, int64_t) { return layer % 2 == 0; });
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", true);
  spec.attentionSinks = true;
  readExperts(config, spec, {"num_local_experts", "num_experts"}, 128, 4);
  if (config.has("experts_per_token") && config.size("experts_per_token") != spec.expertsPerToken)
    config.mistake("experts_per_token", "it is not num_experts_per_tok", "remove it");
  config.ignore({"experts_per_token", "initial_context_length"});
  spec.routing.normalizes = true; // a softmax of the chosen ones' logits
  spec.mlpLimit = config.positive("swiglu_limit", 7);
  spec.gateSlope = config.positive("swiglu_alpha", 1.702);
}

void gptOssNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  int64_t hidden = spec.hiddenSize, size = spec.expertSize, count = spec.expertCount;
  for (LayerSpec &layer : spec.layers) {
    layer.sinks = layer.path + ".self_attn.sinks";
    std::string stem = layer.path + ".mlp.experts.";
    // Of an expert's `columns` every `stride`-th from `begin` on.
    auto part = [&](const std::string &name, int64_t expert, int64_t in, int64_t columns,
                    int64_t begin, int64_t stride) {
      WeightRef weight{.tensor = stem + name,
                       .layout = WeightRef::Layout::InOut,
                       .tensorOut = count * columns,
                       .begin = expert * columns + begin,
                       .count = stride == 1 ? columns : 1,
                       .groups = stride == 1 ? 1 : columns / stride,
                       .stride = stride,
                       .matrices = count};
      LinearSpec linear{.name = "mlp.experts." + std::to_string(expert) + "." + name,
                        .in = in,
                        .out = columns / stride,
                        .weight = weight,
                        .bias = weight};
      linear.bias->tensor += "_bias";
      linear.bias->layout = WeightRef::Layout::OutIn;
      return linear;
    };
    // Of a GGUF file: gate and up apart, [out, in].
    auto stacked = [&](const std::string &name, int64_t expert, int64_t in, int64_t out) {
      WeightRef weight{
          .tensorOut = count * out, .begin = expert * out, .count = out, .matrices = count};
      return linearPart("mlp.experts." + std::to_string(expert) + "." + name, stem + name, in,
                        weight, true);
    };
    layer.gate = std::nullopt;
    layer.up = layer.down = {};
    layer.experts.emplace();
    layer.experts->router = linear("mlp.router", layer.path + ".mlp.router", hidden, count, true);
    for (int64_t i = 0; i < count; ++i)
      layer.experts->experts.push_back(
          spec.stacksExperts ? ExpertsSpec::Expert{stacked("gate_proj", i, hidden, size),
                                                   stacked("up_proj", i, hidden, size),
                                                   stacked("down_proj", i, size, hidden)}
                             : ExpertsSpec::Expert{part("gate_up_proj", i, hidden, 2 * size, 0, 2),
                                                   part("gate_up_proj", i, hidden, 2 * size, 1, 2),
                                                   part("down_proj", i, size, hidden, 0, 1)});
  }
}

} // namespace sinter
