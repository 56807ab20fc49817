#include "frontends/Graph/BuildGraph.h"
#include "frontends/Graph/Experts.h"
#include "frontends/Graph/LinearAttention.h"
#include "frontends/Spec/Rotary.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

/// Rows of logits of a chunk of the loss, however large the vocabulary: of fewer, products with the
/// table wait for it, and each chunk adds to the table's gradient again.
static constexpr int64_t kFewestLogitRows = 128;

/// Whether an entry ends in a loss instead of logits.
static bool isLossEntry(StringRef entry) { return entry == "train_step" || entry == "evaluate"; }

/// The layer whose inputs an entry `gram_<layer>` multiplies; none for other entries.
static std::optional<size_t> getGramLayer(StringRef entry) {
  size_t layer = 0;
  return entry.consume_front("gram_") && !entry.getAsInteger(10, layer) ? std::optional(layer)
                                                                        : std::nullopt;
}

namespace {
/// Builds one entry of a decoder.
class DecoderBuilder : ModelParts {
public:
  DecoderBuilder(GraphBuilder &graph, StringRef entry, const ModelSpec &spec,
                 const GraphOptions &options)
      : ModelParts(graph, spec, options, isLossEntry(entry)), entry(entry), batch(options.batch),
        chunk(entry == "decode" ? 1 : options.chunk), hasLoss(isLossEntry(entry)) {}

  void build() {
    tokens = graph.getInput("tokens", {batch, chunk});
    if (hasLoss) {
      targets = graph.getInput("targets", {batch, chunk});
      if (options.training.documentMask)
        first = graph.getInput("first", {batch, chunk});
      if (entry == "train_step" && options.training.dropout > 0)
        seed = graph.getInput("seed", {2});
      if (entry == "train_step" && options.training.routerLoss > 0)
        routerLoss.emplace();
    } else {
      start = firstRow = graph.getInput("start", {batch});
      count = graph.getInput("count", {batch});
    }
    Value hidden = buildEmbedding();
    buildLayerInputs(hidden);
    if (spec.embeddingNorm) {
      graph.setLocation(spec.embeddingNorm->name);
      hidden = buildNorm(hidden, *spec.embeddingNorm);
    }
    hidden = buildDropout(hidden);
    buildPositionTables();
    std::optional<size_t> gramLayer = getGramLayer(entry);
    for (auto [i, layer] : llvm::enumerate(spec.layers)) {
      addsGrams = gramLayer == i;
      if (i == findFirstShared())
        takeLastRows(hidden);
      hidden = buildLayer(hidden, layer, i);
      if (addsGrams)
        break;
    }
    if (hasLoss)
      buildLoss(hidden);
    else if (!gramLayer)
      buildHead(hidden);
    graph.finish();
    if (entry == "train_step")
      graph.getFunction()->setAttr(SinterDialect::kDifferentiate,
                                   UnitAttr::get(graph.getContext()));
  }

private:
  /// The layer from which on none has keys and values of its own; none where the last has them.
  std::optional<size_t> findFirstShared() const {
    auto last = std::find_if(spec.layers.rbegin(), spec.layers.rend(),
                             [](const LayerSpec &layer) { return !layer.cacheOf; });
    auto own = static_cast<size_t>(spec.layers.rend() - last);
    return own < spec.layers.size() ? std::optional(own) : std::nullopt;
  }

  /// Where one token of a chunk is asked for, goes on with the last row of each slot: layers that
  /// have no keys and values of their own have nothing to tell of the rows before it.
  void takeLastRows(Value &hidden) {
    if (entry != "prefill" || chunk == 1)
      return;
    graph.setLocation("last_row");
    auto take = [&](Value rows) {
      int64_t width = cast<RankedTensorType>(rows.getType()).getDimSize(2);
      return graph.reshape(graph.lastRow(rows, count), {batch, 1, width});
    };
    hidden = take(hidden);
    if (layerInputs) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(layerInputs.getType()).getShape();
      int64_t layers = shape[2], size = shape[3];
      Value rows = take(graph.reshape(layerInputs, {batch, chunk, layers * size}));
      layerInputs = graph.reshape(rows, {batch, 1, layers, size});
    }
    Value positions = graph.reshape(graph.positions(start, chunk), {batch, chunk, 1});
    firstRow = graph.reshape(take(positions), {batch});
    chunk = 1;
    isLastRow = true;
  }

  /// Adds x^T x of the rows that go into a product, where the entry is for that.
  void addGram(Value x, const LinearSpec &linear) {
    if (!addsGrams)
      return;
    Value rows = graph.reshape(x, {batch * chunk, linear.in});
    graph.addOutput("gram." + linear.weight.tensor,
                    graph.matmul(rows, rows, /*transposeRhs=*/false, /*transposeLhs=*/true));
  }

  /// Norms over heads, each or all of them.
  Value buildHeadNorm(Value heads, const std::optional<NormSpec> &norm, const LayerSpec &layer) {
    if (!norm)
      return heads;
    setLocation(layer, norm->name);
    auto shape = llvm::to_vector(cast<RankedTensorType>(heads.getType()).getShape());
    Value rows = graph.reshape(heads, {batch, chunk, shape[2] * shape[3] / norm->size, norm->size});
    return graph.reshape(buildNorm(rows, *norm, spec.headNormKind), shape);
  }

  //===--------------------------------------------------------------------===//
  // Parts of the model
  //===--------------------------------------------------------------------===//

  /// Drops elements, where the entry has a seed for it.
  Value buildDropout(Value x) {
    return seed ? graph.dropout(x, seed, options.training.dropout, dropouts++) : x;
  }

  Value buildEmbedding() {
    graph.setLocation(spec.embeddingName);
    Value hidden = buildLookup(spec.embedding, spec.vocabSize, spec.getEmbeddingSize(), tokens, 0,
                               spec.paddingId);
    hidden = graph.scale(hidden, spec.embeddingScale);
    if (spec.embeddingProjection) {
      graph.setLocation(spec.embeddingProjection->name);
      hidden = buildLinear(hidden, *spec.embeddingProjection);
    }
    if (spec.positions != PositionKind::Learned)
      return hidden;
    graph.setLocation(spec.positionEmbeddingName);
    if (!hasLoss)
      return graph.add(hidden, buildLookup(spec.positionEmbedding, spec.maxPositions,
                                           spec.hiddenSize, graph.positions(start, chunk),
                                           spec.positionOffset, /*padding=*/std::nullopt));
    Value positions = getParameter(spec.positionEmbedding,
                                   {spec.maxPositions + spec.positionOffset, spec.hiddenSize});
    Value rows = graph.slice(positions, {spec.positionOffset, 0}, {chunk, spec.hiddenSize});
    return graph.add(hidden, graph.broadcast(rows, {batch, chunk, spec.hiddenSize}, {1, 2}));
  }

  /// Makes the inputs of all layers of an embedding.
  void buildLayerInputs(Value hidden) {
    if (!spec.layerInputs)
      return;
    const LayerInputsSpec &inputs = *spec.layerInputs;
    int64_t width = inputs.projection.out, size = inputs.size;
    SmallVector<int64_t> byLayer = {batch, chunk, width / size, size};
    graph.setLocation(inputs.projection.name);
    Value made = graph.scale(buildLinear(hidden, inputs.projection),
                             1 / std::sqrt(static_cast<double>(inputs.projection.in)));
    graph.setLocation(inputs.norm.name);
    made = buildNorm(graph.reshape(made, byLayer), inputs.norm);
    graph.setLocation(inputs.embeddingName);
    Value found = buildLookup(inputs.embedding, inputs.rows, width, tokens, 0, spec.paddingId);
    found = graph.reshape(graph.scale(found, std::sqrt(static_cast<double>(size))), byLayer);
    layerInputs = graph.scale(graph.add(made, found), std::sqrt(0.5));
  }

  /// Angles are rounded to f32 before their cosine is taken, as transformers does.
  void buildPositionTables() {
    graph.setLocation("positions");
    if (spec.positions == PositionKind::Alibi)
      alibiSlopes = graph.constant({spec.heads}, spec.alibiSlopes);
    for (const RotarySpec &rotary : spec.rotaries)
      rotaryTables.push_back(buildRotaryTables(rotary));
  }

  /// The cosines and sines of every position's angles: of keys, and of queries, which may be scaled
  /// by their position.
  struct RotaryTables {
    std::pair<Value, Value> keys, queries;
  };

  RotaryTables buildRotaryTables(const RotarySpec &rotary) {
    RotaryFrequencies frequencies =
        rotaryFrequencies(rotary, options.ropeLength ? options.ropeLength : options.maxSequence);
    std::vector<float> cosines, sines;
    for (int64_t position = 0; position < options.maxSequence; ++position)
      for (float inverse : frequencies.inverse) {
        float angle = static_cast<float>(position) * (rotary.reversed ? -inverse : inverse);
        cosines.push_back(static_cast<float>(std::cos(static_cast<double>(angle))) *
                          frequencies.attentionScaling);
        sines.push_back(static_cast<float>(std::sin(static_cast<double>(angle))) *
                        frequencies.attentionScaling);
      }
    auto pairs = static_cast<int64_t>(frequencies.inverse.size());
    auto build = [&] {
      return std::pair(graph.constant({options.maxSequence, pairs}, cosines),
                       graph.constant({options.maxSequence, pairs}, sines));
    };
    RotaryTables tables;
    tables.keys = tables.queries = build();
    if (rotary.getQueryScale(options.maxSequence - 1) == 1)
      return tables;
    for (size_t i = 0; i < cosines.size(); ++i) {
      auto scale = static_cast<float>(rotary.getQueryScale(static_cast<int64_t>(i) / pairs));
      cosines[i] *= scale;
      sines[i] *= scale;
    }
    tables.queries = build();
    return tables;
  }

  Value buildHeads(Value x, const LinearSpec &linear, const LayerSpec &layer, int64_t heads) {
    setLocation(layer, linear.name);
    return graph.reshape(buildLinear(x, linear), {batch, chunk, heads, linear.out / heads});
  }

  /// Keeps heads within what the model clips them to, if it does.
  Value clip(Value heads) {
    if (!spec.clipQkv)
      return heads;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(heads.getType()).getShape();
    heads = graph.binary<MinimumOp>(heads, graph.splat(shape, spec.clipQkv));
    return graph.binary<MaximumOp>(heads, graph.splat(shape, -spec.clipQkv));
  }

  Value buildRotary(Value heads, const LayerSpec &layer,
                    std::pair<Value, Value> RotaryTables::*of = &RotaryTables::keys) {
    if (spec.positions != PositionKind::Rotary || !layer.rotary)
      return heads;
    const RotaryTables &tables = rotaryTables[*layer.rotary];
    auto [cos, sin] = tables.*of;
    if (!spec.rotaries[*layer.rotary].turns && cos == tables.keys.first)
      return heads;
    return graph.rotary(heads, cos, sin, firstRow, spec.rotaries[*layer.rotary].interleaved);
  }

  /// @param rows [batch, chunk, heads, width]
  Value appendToCache(const std::string &name, Value rows) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(rows.getType()).getShape();
    Value cache = graph.getState(name, {batch, options.maxSequence, shape[2], shape[3]},
                                 graph.getF32(), Role::KvCache);
    Value next = graph.cacheAppend(cache, rows, start, count);
    graph.setState(name, next);
    return next;
  }

  Value buildAttention(Value x, const LayerSpec &layer, size_t index) {
    addGram(x, layer.query);
    Value query = buildHeads(x, layer.query, layer, spec.heads), key, value;
    if (!layer.cacheOf) {
      key = value = buildHeads(x, layer.key, layer, spec.getKvHeads(layer));
      if (!layer.valuesAreKeys)
        value = buildHeads(x, layer.value, layer, spec.getKvHeads(layer));
    }
    // "self_attn" of "self_attn.q_proj".
    std::string path = layer.query.name.substr(0, layer.query.name.find('.'));
    auto buildNorms = [&] {
      query = buildHeadNorm(query, layer.queryNorm, layer);
      if (key)
        key = buildHeadNorm(key, layer.keyNorm, layer);
      setLocation(layer, path);
    };
    if (!spec.normsRotatedHeads)
      buildNorms();
    // Behind the norms, as OLMoE has both.
    query = buildRotary(clip(query), layer, &RotaryTables::queries);
    if (key)
      key = buildRotary(clip(key), layer);
    if (spec.normsRotatedHeads)
      buildNorms();
    if (value)
      value = buildHeadNorm(clip(value), layer.valueNorm, layer);
    setLocation(layer, path);

    if (layer.cacheOf) {
      std::tie(key, value) = keysAndValues.at(*layer.cacheOf);
    } else if (!hasLoss) {
      // A loss is of whole sequences: there is nothing to remember from step to step.
      key = appendToCache("k_cache." + std::to_string(index), key);
      value = appendToCache("v_cache." + std::to_string(index), value);
    }
    keysAndValues[index] = {key, value};
    Value mixed = attend(query, key, value, layer);
    if (layer.attentionGate) {
      setLocation(layer, layer.attentionGate->name);
      Value gate = graph.unary<SigmoidOp>(buildLinear(x, *layer.attentionGate));
      mixed =
          graph.mul(mixed, graph.reshape(gate, cast<RankedTensorType>(mixed.getType()).getShape()));
    }
    return buildAttentionOutput(mixed, layer);
  }

  Value buildLinearAttention(Value x, const LayerSpec &layer, size_t index) {
    addGram(x, layer.linear->query);
    Value mixed = sinter::buildLinearAttention(*this, x, layer, index, {start, count, first});
    return buildAttentionOutput(mixed, layer);
  }

  Value buildStateSpace(Value x, const LayerSpec &layer, size_t index) {
    addGram(x, layer.stateSpace->gate);
    Value mixed = sinter::buildStateSpace(*this, x, layer, index, {start, count, first});
    return buildOutput(mixed, layer, layer.stateSpace->output);
  }

  Value buildConvolutionMixer(Value x, const LayerSpec &layer, size_t index) {
    addGram(x, layer.convolution->input);
    return buildAttentionOutput(
        buildGatedConvolution(*this, x, layer, index, {start, count, first}), layer);
  }

  Value attend(Value query, Value key, Value value, const LayerSpec &layer) {
    GraphBuilder::Attention attention;
    attention.scale = layer.queryScale;
    attention.window = layer.window;
    attention.softcap = spec.attentionSoftCap;
    attention.alibiSlopes = alibiSlopes;
    attention.first = first;
    if (!layer.sinks.empty())
      attention.sinks = graph.cast(getParameter(layer.sinks, {spec.heads}), graph.getF32());
    if (seed) {
      attention.dropout = options.training.dropout;
      attention.seed = seed;
      attention.stream = dropouts++;
    }
    return graph.attention(query, key, value, firstRow, attention);
  }

  /// @param mixed of every head, [batch, chunk, heads, width]
  Value buildAttentionOutput(Value mixed, const LayerSpec &layer) {
    return buildOutput(mixed, layer, layer.output);
  }
  Value buildOutput(Value mixed, const LayerSpec &layer, const LinearSpec &output) {
    mixed = graph.reshape(mixed, {batch, chunk, output.in});
    setLocation(layer, output.name);
    addGram(mixed, output);
    return buildDropout(buildLinear(mixed, output));
  }

  //===--------------------------------------------------------------------===//
  // Latent attention
  //===--------------------------------------------------------------------===//

  /// Components [begin, begin + count) of every head.
  Value takeComponents(Value heads, int64_t begin, int64_t count) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(heads.getType()).getShape());
    SmallVector<int64_t> offsets(shape.size(), 0);
    offsets.back() = begin;
    shape.back() = count;
    return graph.slice(heads, offsets, shape);
  }

  /// Heads with zeros behind their components, `width` in all.
  Value padComponents(Value heads, int64_t width) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(heads.getType()).getShape());
    if (shape.back() == width)
      return heads;
    shape.back() = width - shape.back();
    return graph.concat({heads, graph.splat(shape, 0.0)}, 3);
  }

  /// Each head of [batch, chunk, heads, width] by a matrix of its own.
  Value multiplyByHead(Value x, Value matrices, bool transposeRhs) {
    int64_t heads = spec.heads;
    int64_t width = cast<RankedTensorType>(x.getType()).getShape().back();
    Value rows = graph.reshape(graph.transpose(x, {2, 0, 1, 3}), {heads * batch * chunk, width});
    Value result = graph.batchMatmul(rows, matrices, transposeRhs);
    int64_t columns = cast<RankedTensorType>(result.getType()).getDimSize(1);
    return graph.transpose(graph.reshape(result, {heads, batch, chunk, columns}), {1, 2, 0, 3});
  }

  /// Rows by which a head makes its part of keys, or its values, of a latent vector:
  /// [heads, count, latent size].
  Value getLatentRows(const LinearSpec &up, int64_t begin, int64_t count) {
    Value all = graph.cast(getParameter(up.weight.tensor, {up.out, up.in}), graph.getF32());
    all = graph.reshape(all, {spec.heads, up.out / spec.heads, up.in});
    return graph.slice(all, {0, begin, 0}, {spec.heads, count, up.in});
  }

  Value buildLatentNorm(Value x, const NormSpec &norm, const LayerSpec &layer) {
    setLocation(layer, norm.name);
    return graph.rmsNorm(x, getNormWeight(norm), spec.latentNormEps);
  }

  Value buildLatentAttention(Value x, const LayerSpec &layer, size_t index) {
    const LatentAttentionSpec &latent = *layer.latent;
    int64_t rotated = spec.rotarySize, plain = spec.headDim - rotated;
    Value from = x;
    if (latent.queryDown) {
      addGram(x, *latent.queryDown);
      setLocation(layer, latent.queryDown->name);
      from = buildLatentNorm(buildLinear(x, *latent.queryDown), *latent.queryDownNorm, layer);
    }
    addGram(from, layer.query);
    Value query = clip(buildHeads(from, layer.query, layer, spec.heads));
    setLocation(layer, latent.down.name);
    Value both = buildLinear(x, latent.down);
    Value vector =
        buildLatentNorm(takeComponents(both, 0, spec.latentSize), latent.latentNorm, layer);
    setLocation(layer, latent.down.name);
    Value turnedKey =
        graph.reshape(takeComponents(both, spec.latentSize, rotated), {batch, chunk, 1, rotated});
    turnedKey = buildRotary(turnedKey, layer);
    Value turned = buildRotary(takeComponents(query, plain, rotated), layer);
    query = takeComponents(query, 0, plain);
    Value mixed = hasLoss ? attendExpanded(query, turned, vector, turnedKey, layer)
                          : attendLatent(query, turned, vector, turnedKey, layer, index);
    return buildAttentionOutput(mixed, layer);
  }

  /// Attention with keys and values of every head, as training needs them for a gradient.
  Value attendExpanded(Value query, Value turned, Value vector, Value turnedKey,
                       const LayerSpec &layer) {
    int64_t heads = spec.heads, rotated = spec.rotarySize, plain = spec.headDim - rotated;
    setLocation(layer, layer.latent->up.name);
    Value made = graph.reshape(buildLinear(vector, layer.latent->up),
                               {batch, chunk, heads, plain + spec.valueSize});
    Value spread = graph.broadcast(graph.reshape(turnedKey, {batch, chunk, rotated}),
                                   {batch, chunk, heads, rotated}, {0, 1, 3});
    Value key = graph.concat({takeComponents(made, 0, plain), spread}, 3);
    Value value = takeComponents(made, plain, spec.valueSize);
    // Heads of one width: what is added is zero.
    int64_t width = std::max(spec.headDim, spec.valueSize);
    Value mixed = attend(padComponents(graph.concat({query, turned}, 3), width),
                         padComponents(key, width), padComponents(value, width), layer);
    return takeComponents(mixed, 0, spec.valueSize);
  }

  /// Attention of all heads to the latent vectors themselves, which are keys and values both.
  Value attendLatent(Value query, Value turned, Value vector, Value turnedKey,
                     const LayerSpec &layer, size_t index) {
    const LinearSpec &up = layer.latent->up;
    int64_t plain = spec.headDim - spec.rotarySize;
    setLocation(layer, up.name);
    query = multiplyByHead(query, getLatentRows(up, 0, plain), /*transposeRhs=*/false);
    query = graph.concat({query, turned}, 3);
    Value row =
        graph.concat({graph.reshape(vector, {batch, chunk, 1, spec.latentSize}), turnedKey}, 3);
    Value cache = appendToCache("latent_cache." + std::to_string(index), row);
    Value mixed = takeComponents(attend(query, cache, cache, layer), 0, spec.latentSize);
    return multiplyByHead(mixed, getLatentRows(up, plain, spec.valueSize), /*transposeRhs=*/true);
  }

  //===--------------------------------------------------------------------===//
  // Experts
  //===--------------------------------------------------------------------===//

  /// The shared expert's MLP, times its gate.
  Value buildSharedExpert(Value x, const LayerSpec &layer) {
    Value shared = buildMlp(x, layer);
    if (!layer.experts->sharedGate)
      return shared;
    setLocation(layer, layer.experts->sharedGate->name);
    Value gate = graph.unary<SigmoidOp>(buildLinear(x, *layer.experts->sharedGate));
    gate = graph.reshape(gate, {batch, chunk});
    return graph.mul(shared, graph.broadcast(gate, {batch, chunk, spec.hiddenSize}, {0, 1}));
  }

  /// What a router takes of what its block begins with.
  Value buildRouterNorm(Value hidden, const NormSpec &norm, const LayerSpec &layer) {
    setLocation(layer, norm.name);
    Value weight = graph.scale(getNormWeight(norm), 1 / std::sqrt(double(norm.size)));
    return graph.rmsNorm(hidden, weight, spec.normEps);
  }

  Value buildMixture(Value x, Value hidden, const LayerSpec &layer) {
    const ExpertsSpec &experts = *layer.experts;
    Value taken = experts.norm ? buildNorm(hidden, experts.norm, layer) : x, routed = taken;
    if (experts.routerNorm)
      routed = buildRouterNorm(hidden, *experts.routerNorm, layer);
    auto flatten = [&](Value rows) {
      return graph.reshape(rows, {batch * chunk, spec.hiddenSize});
    };
    auto project = [&](Value rows, const std::optional<LinearSpec> &linear) {
      if (!linear)
        return rows;
      setLocation(layer, linear->name);
      addGram(rows, *linear);
      return buildLinear(rows, *linear);
    };
    Value rows = flatten(taken);
    routed = routed == taken ? rows : flatten(routed);
    Value result = buildExperts(*this, project(rows, experts.input), routed, layer);
    result = project(result, experts.output);
    result = graph.reshape(result, {batch, chunk, spec.hiddenSize});
    result = buildDropout(buildNorm(result, experts.postNorm, layer));
    if (!layer.hasMlp())
      return result;
    Value shared = buildNorm(buildSharedExpert(x, layer), experts.sharedPostNorm, layer);
    return graph.add(result, shared);
  }

  /// What a layer does to each token by itself.
  /// @param x what `hidden` is behind the norm of the block
  Value buildFeedForward(Value x, Value hidden, const LayerSpec &layer) {
    return layer.experts ? buildMixture(x, hidden, layer) : buildMlp(x, layer);
  }

  Value buildMlp(Value x, const LayerSpec &layer) {
    Value inner;
    addGram(x, layer.gate ? *layer.gate : layer.up);
    if (layer.gate) {
      setLocation(layer, layer.gate->name);
      Value gate = buildLinear(x, *layer.gate);
      setLocation(layer, layer.up.name);
      inner = buildGated(gate, buildLinear(x, layer.up));
    } else {
      setLocation(layer, layer.up.name);
      inner = buildLinear(x, layer.up);
      inner = layer.xielu ? buildXielu(inner, *layer.xielu) : buildActivation(inner);
    }
    setLocation(layer, layer.down.name);
    addGram(inner, layer.down);
    return buildDropout(buildLinear(inner, layer.down));
  }

  /// Where a block's output joins the residual stream.
  Value buildResidual(Value hidden, Value output, const std::optional<NormSpec> &postNorm,
                      const LayerSpec &layer) {
    if (spec.normPlace == NormPlace::Post)
      return buildNorm(addScaled(hidden, output), postNorm, layer);
    return addScaled(hidden, buildNorm(output, postNorm, layer));
  }

  Value addScaled(Value hidden, Value output) {
    return graph.add(hidden, graph.scale(output, spec.residualScale));
  }

  Value buildLayer(Value hidden, const LayerSpec &layer, size_t index) {
    return buildScale(buildInput(buildBlocks(hidden, layer, index), layer, index), layer);
  }

  /// What lets tokens see others.
  Value buildMixer(Value x, const LayerSpec &layer, size_t index) {
    if (layer.linear)
      return buildLinearAttention(x, layer, index);
    if (layer.convolution)
      return buildConvolutionMixer(x, layer, index);
    if (layer.isStateSpace())
      return buildStateSpace(x, layer, index);
    if (layer.latent)
      return buildLatentAttention(x, layer, index);
    Value mixed = buildAttention(x, layer, index);
    return layer.stateSpace ? graph.add(buildStateSpace(x, layer, index), mixed) : mixed;
  }

  Value buildBlocks(Value hidden, const LayerSpec &layer, size_t index) {
    Value normal = buildNorm(hidden, layer.attentionNorm, layer);
    Value mixed = buildMixer(normal, layer, index);
    if (spec.parallelResidual) {
      Value output = buildFeedForward(
          layer.mlpNorm ? buildNorm(hidden, layer.mlpNorm, layer) : normal, hidden, layer);
      return addScaled(addScaled(hidden, mixed), output);
    }
    hidden = buildResidual(hidden, mixed, layer.attentionPostNorm, layer);
    if (layer.endsWithMixer)
      return hidden;
    Value output = buildFeedForward(buildNorm(hidden, layer.mlpNorm, layer), hidden, layer);
    return buildResidual(hidden, output, layer.mlpPostNorm, layer);
  }

  /// Adds what a layer makes of its own input, where it has one.
  Value buildInput(Value hidden, const LayerSpec &layer, size_t index) {
    if (!layer.input)
      return hidden;
    setLocation(layer, layer.input->gate.name);
    addGram(hidden, layer.input->gate);
    Value open = buildActivation(buildLinear(hidden, layer.input->gate));
    auto layerIndex = static_cast<int64_t>(index), size = spec.layerInputs->size;
    Value input = graph.slice(layerInputs, {0, 0, layerIndex, 0}, {batch, chunk, 1, size});
    Value inner = graph.mul(open, graph.reshape(input, {batch, chunk, size}));
    setLocation(layer, layer.input->projection.name);
    addGram(inner, layer.input->projection);
    Value output = buildDropout(buildLinear(inner, layer.input->projection));
    setLocation(layer, layer.input->norm.name);
    return graph.add(hidden, buildNorm(output, layer.input->norm));
  }

  Value buildScale(Value hidden, const LayerSpec &layer) {
    if (layer.scale.empty())
      return hidden;
    setLocation(layer, "scale");
    Value scale = graph.reshape(graph.cast(getParameter(layer.scale, {1}), graph.getF32()), {});
    return graph.mul(hidden, graph.broadcast(scale, {batch, chunk, spec.hiddenSize}, {}));
  }

  /// What the head multiplies. Its rows are scaled instead of the logits, which are more.
  Value buildHeadInput(Value hidden) {
    if (spec.finalNorm) {
      graph.setLocation(spec.finalNorm->name);
      hidden = buildNorm(hidden, *spec.finalNorm);
    }
    if (spec.headProjection) {
      graph.setLocation(spec.headProjection->name);
      hidden = buildLinear(hidden, *spec.headProjection);
    }
    graph.setLocation(spec.head.name);
    return graph.scale(hidden, spec.logitScale);
  }

  /// The negative log-likelihood of the targets, weighted. The logits of a few rows at a time.
  void buildLoss(Value hidden) {
    hidden = buildHeadInput(hidden);
    const WeightRef &ref = spec.head.weight;
    bool transposed = ref.layout == WeightRef::Layout::OutIn;
    SmallVector<int64_t, 2> shape = {spec.head.in, ref.tensorOut};
    if (transposed)
      std::swap(shape[0], shape[1]);
    GraphBuilder::CrossEntropy loss;
    loss.transposeWeight = transposed;
    if (spec.head.bias)
      loss.bias = selectEntries(getParameter(spec.head.bias->tensor, {spec.head.bias->tensorOut}),
                                *spec.head.bias, 0);
    loss.softcap = spec.logitSoftCap;
    loss.zLoss = options.training.zLoss;
    int64_t rows = batch * chunk, held = options.training.heldLogits / spec.vocabSize;
    held = std::max(kFewestLogitRows, static_cast<int64_t>(llvm::bit_floor<uint64_t>(held)));
    loss.chunk = std::min(held, rows);
    Value weight = selectEntries(getParameter(ref.tensor, shape), ref, transposed ? 0 : 1);
    Value perToken = graph.linearCrossEntropy(graph.reshape(hidden, {rows, spec.head.in}), weight,
                                              graph.reshape(targets, {rows}), loss);
    graph.setLocation("loss");
    Value lossWeight = graph.getInput("loss_weight", {}, graph.getF32());
    Value weighted = graph.mul(graph.sum(perToken), lossWeight);
    if (Value ofRouters = routerLoss ? routerLoss->build(graph) : Value()) {
      Value factor = graph.scale(lossWeight, options.training.routerLoss * double(rows));
      weighted = graph.add(weighted, graph.mul(ofRouters, factor));
    }
    graph.addOutput("loss", weighted);
    if (entry == "train_step" && options.training.lossScale)
      graph.getInput("loss_scale", {}, graph.getF32());
  }

  /// Logits of all rows, or a token by those of each slot's last valid one.
  void buildHead(Value hidden) {
    graph.setLocation("last_row");
    if (isLastRow)
      hidden = graph.reshape(hidden, {batch, spec.hiddenSize});
    else if (entry != "logits")
      hidden = graph.lastRow(hidden, count);
    Value logits = buildLinear(buildHeadInput(hidden), spec.head);
    if (spec.logitSoftCap)
      logits = graph.softcap(logits, spec.logitSoftCap);
    if (entry == "logits")
      graph.addOutput("logits", logits);
    else
      buildToken(logits);
  }

  void buildToken(Value logits) {
    graph.setLocation("sample");
    GraphBuilder::Sampling sampling;
    sampling.temperature = graph.getInput("temperature", {batch}, graph.getF32());
    sampling.topK = graph.getInput("top_k", {batch});
    sampling.topP = graph.getInput("top_p", {batch}, graph.getF32());
    sampling.minP = graph.getInput("min_p", {batch}, graph.getF32());
    sampling.seed = graph.getInput("seed", {batch, 2});
    sampling.start = start;
    sampling.count = count;
    if (options.penalties)
      logits = penalize(logits);
    graph.addOutput("token", graph.sample(logits, sampling));
  }

  /// Keskar et al., "CTRL", 2019, section 4.1, with a factor for negative logits as transformers
  /// has it, and an offset.
  Value penalize(Value logits) {
    SmallVector<int64_t> shape = {batch, spec.vocabSize};
    Value factor = graph.getInput("penalty_factor", shape, graph.getF32());
    Value offset = graph.getInput("penalty_offset", shape, graph.getF32());
    Value zero = graph.splat(shape, 0.0);
    Value likely = graph.binary<DivOp>(graph.binary<MaximumOp>(logits, zero), factor);
    Value unlikely = graph.mul(graph.binary<MinimumOp>(logits, zero), factor);
    return graph.binary<SubOp>(graph.add(likely, unlikely), offset);
  }

  StringRef entry;
  int64_t batch, chunk;
  bool hasLoss;           ///< of whole sequences, for training
  bool isLastRow = false; ///< only the last row of each slot is left
  bool addsGrams = false; ///< in the layer that is being built
  Value tokens, start, count;
  Value firstRow; ///< the position of the first row of each slot; that is `start` but for last rows
  Value targets, first, seed;
  int64_t dropouts = 0; ///< so far; each has a stream of random numbers of its own
  Value alibiSlopes;
  std::vector<RotaryTables> rotaryTables; ///< of the model's rotaries
  Value layerInputs;                      ///< [batch, chunk, layers, size], where they have them
  /// Of the layers so far, of all positions that they see.
  std::map<size_t, std::pair<Value, Value>> keysAndValues;
};
} // namespace

static Expected<void> checkOptions(const ModelSpec &spec, const GraphOptions &options) {
  for (auto [name, value] : {std::pair("batch", options.batch), std::pair("chunk", options.chunk),
                             std::pair("`max_seq`", options.maxSequence)})
    if (value < 1 || value > INT32_MAX)
      return fail(name, "it is " + std::to_string(value) + ", expected 1 to 2147483647", "");
  if (options.chunk > options.maxSequence)
    return fail("chunk",
                std::to_string(options.chunk) + " tokens do not fit a cache of " +
                    std::to_string(options.maxSequence),
                "use a smaller chunk or a larger `max_seq`");
  if (spec.positions == PositionKind::Learned && options.maxSequence > spec.maxPositions)
    return fail("`max_seq`",
                "the model has embeddings for " + std::to_string(spec.maxPositions) +
                    " positions, not for " + std::to_string(options.maxSequence),
                "use a smaller `max_seq`");
  if (spec.attentionChunk && options.maxSequence > spec.attentionChunk)
    return fail("`max_seq`",
                "attention is in chunks of " + std::to_string(spec.attentionChunk) +
                    " tokens, of which one alone is supported, not " +
                    std::to_string(options.maxSequence) + " tokens",
                "use a smaller `max_seq`");
  for (const ParameterInfo &parameter : spec.getParameters()) {
    auto stored = options.parameterTypes.find(parameter.name);
    if (stored != options.parameterTypes.end() && stored->second != DType::F32 &&
        stored->second != DType::F16 && stored->second != DType::BF16)
      return fail("tensor '" + parameter.name + "'",
                  "dtype " + std::string(nameOf(stored->second)) +
                      " is not supported for parameters",
                  "store it as F32, F16 or BF16");
  }
  if (options.training.routerLoss > 0 && llvm::is_contained(options.entries, "train_step") &&
      llvm::none_of(spec.layers, [](const LayerSpec &layer) { return layer.experts.has_value(); }))
    return fail("`router_loss`", "the model has no experts", "leave it out");
  for (const std::string &entry : options.entries)
    if (entry != "prefill" && entry != "decode" && entry != "logits" && !isLossEntry(entry) &&
        getGramLayer(entry).value_or(spec.layers.size()) >= spec.layers.size())
      return fail("`entry` " + entry, "is not an entry of a decoder",
                  "entries are prefill, decode, logits, train_step and evaluate");
  return {};
}

Expected<OwningOpRef<ModuleOp>> sinter::buildGraph(MLIRContext &context, const ModelSpec &spec,
                                                   const GraphOptions &options) {
  SINTER_CHECK(checkOptions(spec, options));
  context.loadDialect<SinterDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (const std::string &entry : options.entries) {
    GraphBuilder graph(*module, entry);
    DecoderBuilder(graph, entry, spec, options).build();
  }
  return module;
}
