#include "frontends/Spec/Families/Family.h"

namespace sinter {

LinearSpec linear(std::string name, const std::string &stem, int64_t in, int64_t out, bool bias) {
  WeightRef whole;
  whole.tensorOut = whole.count = out;
  return linearPart(std::move(name), stem, in, whole, bias);
}

LinearSpec linearPart(std::string name, const std::string &stem, int64_t in, const WeightRef &part,
                      bool bias) {
  LinearSpec result;
  result.name = std::move(name);
  result.in = in;
  result.out = part.groups * part.count;
  result.weight = part;
  result.weight.tensor = stem + ".weight";
  if (bias) {
    result.bias = part;
    result.bias->tensor = stem + ".bias";
    result.bias->layout = WeightRef::Layout::OutIn;
  }
  return result;
}

NormSpec norm(const ModelSpec &spec, std::string name, const std::string &stem, int64_t size) {
  return {std::move(name), stem + ".weight",
          spec.normKind == NormKind::LayerNorm ? stem + ".bias" : "", size};
}

void nameGptTensors(ModelSpec &spec) {
  spec.embedding = "transformer.wte.weight";
  spec.embeddingName = "transformer.wte";
  if (spec.positions == PositionKind::Learned) {
    spec.positionEmbedding = "transformer.wpe.weight";
    spec.positionEmbeddingName = "transformer.wpe";
  }
  spec.finalNorm = norm(spec, "transformer.ln_f", "transformer.ln_f", spec.hiddenSize);
  nameHead(spec, "lm_head", spec.headBias);
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.h." + std::to_string(&layer - spec.layers.data());
    layer.attentionNorm = norm(spec, "ln_1", layer.path + ".ln_1", spec.hiddenSize);
  }
}

void nameStateSpace(const ModelSpec &spec, LayerSpec &layer, const std::string &name,
                    const std::string &stem) {
  int64_t values = spec.linearValueHeads * spec.linearValueSize,
          keys = spec.linearKeyHeads * spec.linearKeySize, heads = spec.linearValueHeads;
  int64_t begin = 0;
  auto next = [&](const char *part, int64_t count, double scale) {
    WeightRef ref{.tensorOut = 2 * (values + keys) + heads, .begin = begin, .count = count};
    begin += count;
    LinearSpec linear = linearPart(name + ".in_proj." + part, stem + ".in_proj", spec.hiddenSize,
                                   ref, spec.stateSpaceBias);
    linear.scale = scale;
    return linear;
  };
  const ProductScales &scales = spec.productScales;
  StateSpaceSpec &space = layer.stateSpace.emplace();
  space.path = name;
  space.gate = next("gate", values, scales.gate);
  space.value = next("x", values, scales.states);
  space.key = next("b", keys, scales.keys);
  space.query = next("c", keys, scales.queries);
  space.step = next("dt", heads, scales.steps);
  space.convolution = stem + ".conv1d.weight";
  space.convolutionBias = spec.convolutionBias ? stem + ".conv1d.bias" : "";
  space.logDecay = stem + ".A_log";
  space.stepBias = stem + ".dt_bias";
  space.skip = stem + ".D";
  if (spec.stateSpaceNorm)
    space.norm = {name + ".norm", stem + ".norm.weight", "", values};
  space.normsBeforeGate = spec.normsBeforeGate;
  space.output =
      linear(name + ".out_proj", stem + ".out_proj", values, spec.hiddenSize, spec.stateSpaceBias);
  space.output.scale = scales.stateSpace;
  if (layer.isStateSpace())
    layer.query = layer.key = layer.value = layer.output = {};
}

void nameHeadNorms(ModelSpec &spec, const char *query, const char *key) {
  for (LayerSpec &layer : spec.layers) {
    if (layer.mixer != MixerKind::Attention)
      continue;
    auto named = [&](const std::string &name, int64_t heads) {
      return NormSpec{name, layer.path + "." + name + ".weight", "",
                      (spec.wholeQueryKeyNorm ? heads : 1) * spec.getHeadDim(layer),
                      spec.headNormWeights ? heads : 0};
    };
    layer.queryNorm = named(query, spec.heads);
    if (!layer.cacheOf)
      layer.keyNorm = named(key, spec.getKvHeads(layer));
  }
}

void moveNormsBehindBlocks(ModelSpec &spec) {
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionNorm = layer.mlpNorm = std::nullopt;
    layer.attentionPostNorm = named("post_attention_layernorm");
    layer.mlpPostNorm = named("post_feedforward_layernorm");
  }
}

void dropNormWeights(ModelSpec &spec) {
  auto drop = [](std::optional<NormSpec> &norm) {
    if (norm) {
      norm->weight.clear();
      norm->bias.clear();
    }
  };
  drop(spec.embeddingNorm);
  drop(spec.finalNorm);
  if (spec.layerInputs)
    spec.layerInputs->norm.weight.clear();
  for (LayerSpec &layer : spec.layers) {
    for (std::optional<NormSpec> *norm :
         {&layer.attentionNorm, &layer.attentionPostNorm, &layer.queryNorm, &layer.keyNorm,
          &layer.mlpNorm, &layer.mlpPostNorm})
      drop(*norm);
    if (layer.experts)
      for (std::optional<NormSpec> *norm :
           {&layer.experts->routerNorm, &layer.experts->norm, &layer.experts->postNorm,
            &layer.experts->sharedPostNorm})
        drop(*norm);
    if (layer.input)
      layer.input->norm.weight.clear();
  }
}

/// Heads of Q, K and V as parts of one tensor, `name`.
static void nameHeads(const ModelSpec &spec, LayerSpec &layer, const std::string &name,
                      const WeightRef &query, const WeightRef &key, const WeightRef &value) {
  auto part = [&](const char *suffix, WeightRef weight) {
    weight.tensorOut = (spec.heads + 2 * spec.kvHeads) * spec.headDim;
    return linearPart(name + suffix, layer.path + "." + name, spec.hiddenSize, weight,
                      spec.qkvBias);
  };
  layer.query = part(".q", query);
  layer.key = part(".k", key);
  layer.value = part(".v", value);
}

void nameGroupedHeads(const ModelSpec &spec, LayerSpec &layer, const std::string &name) {
  int64_t width = spec.headDim, queries = spec.heads / spec.kvHeads;
  auto heads = [&](int64_t begin, int64_t count) {
    return WeightRef{.begin = begin * width,
                     .count = count * width,
                     .groups = spec.kvHeads,
                     .stride = (queries + 2) * width};
  };
  nameHeads(spec, layer, name, heads(0, queries), heads(queries, 1), heads(queries + 1, 1));
}

void nameConcatenatedHeads(const ModelSpec &spec, LayerSpec &layer, const std::string &name) {
  auto heads = [&](int64_t begin, int64_t count) {
    return WeightRef{.begin = begin * spec.headDim, .count = count * spec.headDim};
  };
  nameHeads(spec, layer, name, heads(0, spec.heads), heads(spec.heads, spec.kvHeads),
            heads(spec.heads + spec.kvHeads, spec.kvHeads));
}

void namePlainMlp(const ModelSpec &spec, LayerSpec &layer, const std::string &up,
                  const std::string &down) {
  auto named = [&](const std::string &name, int64_t in, int64_t out) {
    return linear(name, layer.path + "." + name, in, out, spec.mlpBias);
  };
  layer.gate = std::nullopt;
  layer.up = named(up, spec.hiddenSize, spec.mlpSize);
  layer.down = named(down, spec.mlpSize, spec.hiddenSize);
}

void nameFusedGate(ModelSpec &spec, LayerSpec &layer) {
  auto half = [&](const char *name, int64_t begin) {
    WeightRef weight{.tensorOut = 2 * spec.mlpSize, .begin = begin, .count = spec.mlpSize};
    return linearPart(name, layer.path + ".mlp.gate_up_proj", spec.hiddenSize, weight, false);
  };
  layer.gate = half("mlp.gate_up_proj.gate", 0);
  layer.up = half("mlp.gate_up_proj.up", spec.mlpSize);
}

void nameExperts(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                 const std::string &router, const std::string &experts,
                 std::array<const char *, 3> names) {
  int64_t width = spec.expertWidth ? spec.expertWidth : spec.hiddenSize, size = spec.expertSize;
  auto named = [&](const std::string &name, int64_t in, int64_t out) {
    return linear(name, stem + name, in, out, false);
  };
  layer.gate = std::nullopt;
  layer.up = layer.down = {};
  layer.experts.emplace();
  layer.experts->router = named(router, spec.hiddenSize, spec.expertCount);
  int64_t count = spec.expertCount;
  for (int64_t i = 0; i < count; ++i) {
    auto ofExpert = [&](const char *name, int64_t in, int64_t out) {
      std::string ofOne = experts + "." + std::to_string(i) + "." + name;
      if (!spec.stacksExperts)
        return named(ofOne, in, out);
      WeightRef weight{.tensorOut = count * out, .begin = i * out, .count = out, .matrices = count};
      return linearPart(ofOne, stem + experts + "." + name, in, weight, false);
    };
    layer.experts->experts.push_back(
        {spec.gatedMlp ? ofExpert(names[0], width, size) : LinearSpec(),
         ofExpert(names[1], width, size), ofExpert(names[2], size, width)});
  }
}

void nameMlpExperts(ModelSpec &spec) {
  for (LayerSpec &layer : spec.layers)
    if (layer.isSparse)
      nameExperts(spec, layer, layer.path + ".", "mlp.gate", "mlp.experts",
                  {"gate_proj", "up_proj", "down_proj"});
}

void nameSharedExpert(const ModelSpec &spec, LayerSpec &layer, const std::string &name) {
  auto named = [&](const std::string &part, int64_t in, int64_t out) {
    return linear(name + part, layer.path + "." + name + part, in, out, false);
  };
  int64_t hidden = spec.hiddenSize, size = spec.sharedExpertSize;
  layer.gate = named(".gate_proj", hidden, size);
  layer.up = named(".up_proj", hidden, size);
  layer.down = named(".down_proj", size, hidden);
}

void nameGatedSharedExperts(ModelSpec &spec) {
  nameMlpExperts(spec);
  for (LayerSpec &layer : spec.layers) {
    if (!layer.isSparse)
      continue;
    nameSharedExpert(spec, layer, "mlp.shared_expert");
    layer.experts->sharedGate =
        linear("mlp.shared_expert_gate", layer.path + ".mlp.shared_expert_gate", spec.hiddenSize, 1,
               false);
  }
}

void nameDeepSeekExperts(ModelSpec &spec) {
  nameMlpExperts(spec);
  spec.surplusBeginnings.push_back("model.layers." + std::to_string(spec.layers.size()) + ".");
  for (LayerSpec &layer : spec.layers) {
    if (!layer.isSparse)
      continue;
    if (spec.routing.hasBias)
      layer.experts->routerBias = layer.path + ".mlp.gate.e_score_correction_bias";
    if (spec.sharedExpertSize)
      nameSharedExpert(spec, layer, "mlp.shared_experts");
  }
}

void nameLayerInputs(ModelSpec &spec, const std::string &table, const std::string &projection,
                     const std::string &normName) {
  LayerInputsSpec &inputs = *spec.layerInputs;
  int64_t width = static_cast<int64_t>(spec.layers.size()) * inputs.size;
  inputs.embedding = table + ".weight";
  inputs.embeddingName = table;
  inputs.projection = linear(projection, projection, spec.hiddenSize, width, false);
  inputs.norm = norm(spec, normName, normName, inputs.size);
}

void nameLayerInput(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                    const std::string &gate, const std::string &projection,
                    const std::string &normName) {
  int64_t hidden = spec.hiddenSize, size = spec.layerInputs->size;
  layer.input.emplace();
  layer.input->gate = linear(gate, stem + gate, hidden, size, false);
  layer.input->projection = linear(projection, stem + projection, size, hidden, false);
  layer.input->norm = norm(spec, normName, stem + normName, hidden);
}

void nameHead(ModelSpec &spec, const std::string &stem, bool bias) {
  spec.head = linear(stem, stem, spec.getEmbeddingSize(), spec.vocabSize, bias);
  if (spec.tiedEmbeddings) {
    spec.head.weight.tensor = spec.embedding;
    spec.surplusEndings.push_back(stem + ".weight");
  }
}

void nameLlamaTensors(ModelSpec &spec) {
  spec.embedding = "model.embed_tokens.weight";
  spec.embeddingName = "model.embed_tokens";
  spec.finalNorm = norm(spec, "model.norm", "model.norm", spec.hiddenSize);
  nameHead(spec, "lm_head");
  spec.surplusEndings.push_back(".rotary_emb.inv_freq");
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    int64_t width = spec.getHeadDim(layer), mlpSize = spec.getMlpSize(layer);
    int64_t queries = spec.heads * width, keys = spec.getKvHeads(layer) * width;
    layer.path = "model.layers." + std::to_string(&layer - spec.layers.data());
    auto named = [&](const char *name, int64_t in, int64_t out, bool bias) {
      return linear(name, layer.path + "." + name, in, out, bias);
    };
    auto normNamed = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, hidden);
    };
    layer.attentionNorm = normNamed("input_layernorm");
    layer.query = named("self_attn.q_proj", hidden, queries, spec.qkvBias);
    if (!layer.cacheOf)
      layer.key = named("self_attn.k_proj", hidden, keys, spec.qkvBias);
    if (!layer.cacheOf && !layer.valuesAreKeys)
      layer.value = named("self_attn.v_proj", hidden, keys, spec.qkvBias);
    layer.output = named("self_attn.o_proj", queries, hidden, spec.outputBias);
    layer.mlpNorm = normNamed("post_attention_layernorm");
    if (spec.gatedMlp)
      layer.gate = named("mlp.gate_proj", hidden, mlpSize, spec.mlpBias);
    layer.up = named("mlp.up_proj", hidden, mlpSize, spec.mlpBias);
    layer.down = named("mlp.down_proj", mlpSize, hidden, spec.mlpBias);
  }
}

} // namespace sinter
