#include "frontends/Spec/ModelSpec.h"
#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace sinter {
namespace {

/// Collects tensors, each once, in the order of first use.
class ParameterList {
public:
  explicit ParameterList(const ModelSpec &spec) : spec(spec) {}

  void add(const std::string &name, std::vector<int64_t> shape, Initializer initializer,
           bool isFixed = false) {
    if (seen.insert(name).second)
      parameters.push_back({name, std::move(shape), initializer, isFixed});
  }

  void addNorm(const std::optional<NormSpec> &norm) {
    if (!norm)
      return;
    Initializer one = {spec.normUnitOffset ? 0.0 : 1.0, 0};
    if (!norm->weight.empty() && norm->heads)
      add(norm->weight, {norm->heads, norm->size}, one);
    else if (!norm->weight.empty())
      add(norm->weight, {norm->size}, one);
    for (const std::string &weight : norm->weightsOfHeads)
      add(weight, {norm->size}, one);
    if (!norm->bias.empty())
      add(norm->bias, {norm->size}, {});
  }

  /// `intoResidual`: its result is added to the residual stream, once per block, so it starts
  /// smaller in deep models (as in GPT-2).
  void addLinear(const LinearSpec &linear, bool intoResidual = false) {
    if (linear.out == 0) // what the layer has not
      return;
    const WeightRef &weight = linear.weight;
    double deviation = spec.initializerRange;
    if (intoResidual)
      deviation /= std::sqrt(2.0 * double(spec.layers.size()));
    std::vector<int64_t> shape = {weight.tensorOut, linear.in};
    if (weight.matrices)
      shape = {weight.matrices, weight.tensorOut / weight.matrices, linear.in};
    if (weight.layout == WeightRef::Layout::InOut)
      std::swap(shape[shape.size() - 2], shape.back());
    add(weight.tensor, std::move(shape), {0, deviation});
    if (linear.bias)
      add(linear.bias->tensor, getBiasShape(*linear.bias), {});
  }

  std::vector<ParameterInfo> parameters;

private:
  static std::vector<int64_t> getBiasShape(const WeightRef &bias) {
    if (bias.matrices)
      return {bias.matrices, bias.tensorOut / bias.matrices};
    return {bias.tensorOut};
  }

  const ModelSpec &spec;
  std::unordered_set<std::string> seen;
};

void addLinearAttention(ParameterList &list, const ModelSpec &spec,
                        const LinearAttentionSpec &linear) {
  for (const LinearSpec *part :
       {&linear.query, &linear.key, &linear.value, &linear.gate, &linear.beta, &linear.decay})
    list.addLinear(*part);
  int64_t channels = linear.query.out + linear.key.out + linear.value.out;
  list.add(linear.convolution, {channels, 1, spec.convolutionWidth}, {0, spec.initializerRange});
  list.add(linear.logDecay, {spec.linearValueHeads}, {});
  list.add(linear.decayBias, {spec.linearValueHeads}, {1, 0});
  list.add(linear.norm.weight, {linear.norm.size}, {1, 0});
}

void addStateSpace(ParameterList &list, const ModelSpec &spec, const StateSpaceSpec &space) {
  for (const LinearSpec *part : {&space.gate, &space.value, &space.key, &space.query, &space.step})
    list.addLinear(*part);
  list.addLinear(space.output, true);
  int64_t channels = space.value.out + space.key.out + space.query.out;
  list.add(space.convolution, {channels, 1, spec.convolutionWidth}, {0, spec.initializerRange});
  if (!space.convolutionBias.empty())
    list.add(space.convolutionBias, {channels}, {});
  list.add(space.logDecay, {spec.linearValueHeads}, {});
  for (const std::string &name : {space.stepBias, space.skip})
    list.add(name, {spec.linearValueHeads}, {1, 0});
  list.addNorm(space.norm);
}

void addConvolution(ParameterList &list, const ModelSpec &spec,
                    const ConvolutionSpec &convolution) {
  for (const LinearSpec *part : {&convolution.input, &convolution.gate, &convolution.value})
    list.addLinear(*part);
  list.add(convolution.weight, {convolution.input.out, 1, spec.convolutionWidth},
           {0, spec.initializerRange});
  if (!convolution.bias.empty())
    list.add(convolution.bias, {convolution.input.out}, {});
}

} // namespace

std::vector<ParameterInfo> ModelSpec::getParameters() const {
  ParameterList list(*this);
  list.add(embedding, {vocabSize, getEmbeddingSize()}, {0, initializerRange});
  if (embeddingProjection)
    list.addLinear(*embeddingProjection);
  if (positions == PositionKind::Learned)
    list.add(positionEmbedding, {maxPositions + positionOffset, hiddenSize}, {0, initializerRange});
  list.addNorm(embeddingNorm);
  if (layerInputs) {
    list.add(layerInputs->embedding, {layerInputs->rows, layerInputs->projection.out},
             {0, initializerRange});
    list.addLinear(layerInputs->projection);
    list.addNorm(layerInputs->norm);
  }
  for (const LayerSpec &layer : layers) {
    list.addNorm(layer.attentionNorm);
    if (layer.stateSpace)
      addStateSpace(list, *this, *layer.stateSpace);
    if (layer.linear) {
      addLinearAttention(list, *this, *layer.linear);
    } else if (layer.convolution) {
      addConvolution(list, *this, *layer.convolution);
    } else if (layer.latent) {
      if (layer.latent->queryDown)
        list.addLinear(*layer.latent->queryDown);
      list.addNorm(layer.latent->queryDownNorm);
      list.addLinear(layer.query);
      list.addLinear(layer.latent->down);
      list.addNorm(layer.latent->latentNorm);
      list.addLinear(layer.latent->up);
    } else {
      list.addLinear(layer.query);
      if (layer.attentionGate)
        list.addLinear(*layer.attentionGate);
      list.addLinear(layer.key);
      list.addLinear(layer.value);
    }
    if (!layer.sinks.empty())
      list.add(layer.sinks, {heads}, {0, initializerRange});
    list.addNorm(layer.queryNorm);
    list.addNorm(layer.keyNorm);
    list.addNorm(layer.valueNorm);
    list.addLinear(layer.output, true);
    list.addNorm(layer.attentionPostNorm);
    list.addNorm(layer.mlpNorm);
    if (layer.experts) {
      list.addNorm(layer.experts->routerNorm);
      list.addLinear(layer.experts->router);
      if (!layer.experts->scales.empty())
        list.add(layer.experts->scales, {expertCount}, {1, 0});
      if (!layer.experts->routerBias.empty())
        list.add(layer.experts->routerBias, layer.experts->getBiasShape(expertCount), {},
                 /*isFixed=*/true);
      for (const ExpertsSpec::Expert &expert : layer.experts->experts) {
        list.addLinear(expert.gate);
        list.addLinear(expert.up);
        list.addLinear(expert.down, true);
      }
      if (layer.experts->sharedGate)
        list.addLinear(*layer.experts->sharedGate);
      if (layer.experts->input) {
        list.addLinear(*layer.experts->input);
        list.addLinear(*layer.experts->output, true);
      }
      for (const auto *norm :
           {&layer.experts->norm, &layer.experts->postNorm, &layer.experts->sharedPostNorm})
        list.addNorm(*norm);
    }
    if (layer.gate)
      list.addLinear(*layer.gate);
    if (layer.hasMlp()) {
      list.addLinear(layer.up);
      if (layer.xielu)
        for (const std::string &number : {layer.xielu->positive, layer.xielu->negative})
          list.add(number, {1}, {});
      list.addLinear(layer.down, true);
    }
    list.addNorm(layer.mlpPostNorm);
    if (layer.input) {
      list.addLinear(layer.input->gate);
      list.addLinear(layer.input->projection, true);
      list.addNorm(layer.input->norm);
    }
    if (!layer.scale.empty())
      list.add(layer.scale, {1}, {1, 0}, /*isFixed=*/true);
  }
  list.addNorm(finalNorm);
  if (headProjection)
    list.addLinear(*headProjection);
  list.addLinear(head);
  return std::move(list.parameters);
}

uint64_t countElements(const std::vector<ParameterInfo> &parameters) {
  uint64_t count = 0;
  for (const ParameterInfo &parameter : parameters) {
    uint64_t elements = 1;
    for (int64_t size : parameter.shape)
      elements *= static_cast<uint64_t>(size);
    count += elements;
  }
  return count;
}

int64_t ModelSpec::getParameterCount() const {
  return static_cast<int64_t>(countElements(getParameters()));
}

std::vector<const LinearSpec *> ExpertsSpec::Expert::getLinears() const {
  if (gate.out == 0)
    return {&up, &down};
  return {&gate, &up, &down};
}

std::vector<const LinearSpec *> LayerSpec::getLinears() const {
  std::vector<const LinearSpec *> linears;
  auto add = [&](const LinearSpec &linear) {
    if (linear.out != 0)
      linears.push_back(&linear);
  };
  if (latent && latent->queryDown)
    add(*latent->queryDown);
  add(query);
  if (linear)
    for (const LinearSpec *part : {&linear->query, &linear->key, &linear->value, &linear->gate,
                                   &linear->beta, &linear->decay})
      add(*part);
  if (stateSpace)
    for (const LinearSpec *part : {&stateSpace->gate, &stateSpace->value, &stateSpace->key,
                                   &stateSpace->query, &stateSpace->step, &stateSpace->output})
      add(*part);
  if (convolution)
    for (const LinearSpec *part : {&convolution->input, &convolution->gate, &convolution->value})
      add(*part);
  if (attentionGate)
    add(*attentionGate);
  if (latent) {
    add(latent->down);
    add(latent->up);
  }
  add(key);
  add(value);
  add(output);
  if (gate)
    add(*gate);
  add(up);
  add(down);
  if (experts && experts->input) {
    add(*experts->input);
    add(*experts->output);
  }
  if (input) {
    add(input->gate);
    add(input->projection);
  }
  return linears;
}

bool ModelSpec::isKnownSurplus(std::string_view name) const {
  return std::any_of(surplusEndings.begin(), surplusEndings.end(),
                     [&](const std::string &ending) { return name.ends_with(ending); }) ||
         std::any_of(surplusBeginnings.begin(), surplusBeginnings.end(),
                     [&](const std::string &beginning) { return name.starts_with(beginning); });
}

bool ModelSpec::hasExperts() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec &layer) { return layer.experts.has_value(); });
}

bool ModelSpec::hasLinearAttention() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec &layer) { return layer.linear || layer.stateSpace; });
}

bool ModelSpec::hasSlidingWindow() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec &layer) { return layer.window != 0; });
}

const RotarySpec *ModelSpec::findStretchedRotary() const {
  auto found = std::find_if(rotaries.begin(), rotaries.end(),
                            [](const RotarySpec &rotary) { return rotary.dependsOnLength(); });
  return found == rotaries.end() ? nullptr : &*found;
}

std::vector<float> getAlibiSlopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads)
    power *= 2;
  std::vector<float> slopes;
  for (int64_t i = 1; i <= power; ++i)
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * double(i) / double(power))));
  for (int64_t i = 1; static_cast<int64_t>(slopes.size()) < heads; i += 2)
    slopes.push_back(static_cast<float>(std::exp2(-4.0 * double(i) / double(power))));
  return slopes;
}

} // namespace sinter
