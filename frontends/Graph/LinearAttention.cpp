#include "frontends/Graph/LinearAttention.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace {
/// What is added to the sum of squares of a query or a key before its root divides them.
constexpr double kNormEps = 1e-6;

/// e to its negative is below the smallest number of f32.
constexpr double kForgets = 104;

/// What both kinds of layers are put together from.
class MatrixStateBuilder {
protected:
  MatrixStateBuilder(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                     const ChunkPlace &place)
      : parts(parts), graph(parts.graph), spec(parts.spec), layer(layer),
        suffix("." + std::to_string(index)), place(place), x(x),
        batch(cast<RankedTensorType>(x.getType()).getDimSize(0)),
        tokens(cast<RankedTensorType>(x.getType()).getDimSize(1)) {}

  Value multiply(const LinearSpec &part) {
    parts.setLocation(layer, part.name);
    return parts.buildLinear(x, part);
  }

  Value toHeads(Value rows, int64_t heads) {
    int64_t width = cast<RankedTensorType>(rows.getType()).getDimSize(2) / heads;
    return graph.reshape(rows, {batch, tokens, heads, width});
  }

  /// Numbers of the value heads.
  Value getNumbers(const std::string &name) {
    return graph.cast(parts.getParameter(name, {spec.linearValueHeads}), graph.getF32());
  }

  /// A product's channels, each a weighted sum of its last few tokens.
  /// @param begin the first channel's among the `all` of the convolution's tensors
  /// @param bias a tensor, or empty
  Value convolve(const LinearSpec &part, int64_t begin, int64_t all, const std::string &path,
                 const std::string &convolution, const std::string &bias,
                 const std::string &window) {
    Value rows = multiply(part);
    parts.setLocation(layer, path + ".conv1d");
    int64_t width = spec.convolutionWidth;
    Value weights = getConvolutionWeights(parts, convolution, all, width);
    weights = graph.slice(weights, {0, begin}, {width, part.out});
    Value sums = buildConvolution(graph, rows, weights, window + suffix, place);
    if (bias.empty())
      return sums;
    Value numbers = graph.cast(parts.getParameter(bias, {all}), graph.getF32());
    return graph.addToRows(sums, graph.slice(numbers, {begin}, {part.out}));
  }

  /// -exp(logDecay) times a positive number a head.
  Value buildDecay(const std::string &logDecay, Value step) {
    Value factor = graph.unary<NegOp>(graph.unary<ExpOp>(getNumbers(logDecay)));
    return graph.mul(step, graph.broadcast(factor, getGates(), {2}));
  }

  /// What the heads' states, which are kept, say of queries.
  Value attend(Value query, Value key, Value value, Value decay, Value beta, double scale,
               bool additive) {
    Value state;
    if (place.start)
      state =
          graph.getState("recurrent" + suffix,
                         {batch, spec.linearValueHeads, spec.linearKeySize, spec.linearValueSize},
                         graph.getF32(), Role::Recurrent);
    LinearAttentionOp attention =
        graph.linearAttention(query, key, value, forgetOthers(decay), beta, scale, state,
                              place.start, place.count, additive);
    if (state)
      graph.setState("recurrent" + suffix, attention.getNext());
    return attention.getResult();
  }

  SmallVector<int64_t> getGates() const { return {batch, tokens, spec.linearValueHeads}; }

  ModelParts &parts;
  GraphBuilder &graph;
  const ModelSpec &spec;
  const LayerSpec &layer;
  const std::string suffix; ///< of the names of states
  const ChunkPlace &place;
  Value x;
  int64_t batch, tokens;

private:
  /// The decay, by which the state is nothing any more where a document begins.
  Value forgetOthers(Value decay) {
    if (!place.first)
      return decay;
    Value begins = graph.unary<StepOp>(
        graph.binary<SubOp>(graph.splat({batch, tokens}, 0.5), place.getAge(graph)));
    return graph.add(decay, graph.broadcast(graph.scale(begins, -kForgets), getGates(), {0, 1}));
  }
};

class LinearAttentionBuilder : MatrixStateBuilder {
public:
  LinearAttentionBuilder(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                         const ChunkPlace &place)
      : MatrixStateBuilder(parts, x, layer, index, place), linear(*layer.linear) {}

  Value build() {
    int64_t keyHeads = spec.linearKeyHeads, heads = spec.linearValueHeads;
    Value query = normalize(toHeads(convolve(linear.query, 0, "q_window"), keyHeads));
    Value key = normalize(toHeads(convolve(linear.key, linear.query.out, "k_window"), keyHeads));
    Value value =
        toHeads(convolve(linear.value, linear.query.out + linear.key.out, "v_window"), heads);
    Value beta = graph.unary<SigmoidOp>(multiply(linear.beta));
    Value step =
        graph.softplus(graph.addToRows(multiply(linear.decay), getNumbers(linear.decayBias)));
    Value decay = buildDecay(linear.logDecay, step);
    parts.setLocation(layer, getPath());
    double scale = 1 / std::sqrt(static_cast<double>(spec.linearKeySize));
    Value mixed = attend(query, key, value, decay, beta, scale, /*additive=*/false);
    Value gate = graph.unary<SiluOp>(toHeads(multiply(linear.gate), heads));
    parts.setLocation(layer, linear.norm.name);
    Value weight =
        graph.cast(parts.getParameter(linear.norm.weight, {linear.norm.size}), graph.getF32());
    return graph.mul(graph.rmsNorm(mixed, weight, spec.normEps), gate);
  }

private:
  /// "linear_attn" of "linear_attn.norm".
  std::string getPath() const { return linear.norm.name.substr(0, linear.norm.name.find('.')); }

  /// Each head over its length: an RMS norm whose factor takes the mean's division back.
  Value normalize(Value heads) {
    auto width = static_cast<double>(spec.linearKeySize);
    return graph.rmsNorm(heads, graph.splat({spec.linearKeySize}, 1 / std::sqrt(width)),
                         kNormEps / width);
  }

  Value convolve(const LinearSpec &part, int64_t begin, const std::string &window) {
    int64_t all = linear.query.out + linear.key.out + linear.value.out;
    return parts.buildActivation(
        MatrixStateBuilder::convolve(part, begin, all, getPath(), linear.convolution, "", window));
  }

  const LinearAttentionSpec &linear;
};

class StateSpaceBuilder : MatrixStateBuilder {
public:
  StateSpaceBuilder(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                    const ChunkPlace &place)
      : MatrixStateBuilder(parts, x, layer, index, place), space(*layer.stateSpace) {}

  Value build() {
    int64_t groups = spec.linearKeyHeads, heads = spec.linearValueHeads;
    Value rows = convolve(space.value, 0, "v_window"), value = toHeads(rows, heads);
    Value key = toHeads(convolve(space.key, space.value.out, "k_window"), groups);
    Value query =
        toHeads(convolve(space.query, space.value.out + space.key.out, "q_window"), groups);
    Value step = buildStep();
    Value decay = buildDecay(space.logDecay, step);
    parts.setLocation(layer, space.path);
    Value mixed = attend(query, key, value, decay, step, /*scale=*/1, /*additive=*/true);
    mixed = graph.reshape(mixed, getRows());
    mixed = graph.add(mixed, graph.mul(rows, graph.broadcast(buildSkip(), getRows(), {2})));
    Value gate = graph.unary<SiluOp>(multiply(space.gate));
    parts.setLocation(layer, space.path + ".norm");
    if (space.normsBeforeGate)
      return graph.mul(normalize(mixed), gate);
    return normalize(graph.mul(mixed, gate));
  }

private:
  Value convolve(const LinearSpec &part, int64_t begin, const std::string &window) {
    int64_t all = space.value.out + space.key.out + space.query.out;
    return graph.unary<SiluOp>(MatrixStateBuilder::convolve(
        part, begin, all, space.path, space.convolution, space.convolutionBias, window));
  }

  Value buildStep() {
    Value step = graph.softplus(graph.addToRows(multiply(space.step), getNumbers(space.stepBias)));
    if (spec.leastStep > 0)
      step = graph.binary<MaximumOp>(step, graph.splat(getGates(), spec.leastStep));
    if (std::isfinite(spec.mostStep))
      step = graph.binary<MinimumOp>(step, graph.splat(getGates(), spec.mostStep));
    return step;
  }

  SmallVector<int64_t> getRows() const { return {batch, tokens, space.value.out}; }

  /// A head's number for each of its values: what goes over rows stays in whole ones.
  Value buildSkip() {
    SmallVector<int64_t> shape = {spec.linearValueHeads, spec.linearValueSize};
    return graph.reshape(graph.broadcast(getNumbers(space.skip), shape, {0}), {space.value.out});
  }

  /// Each group's values over their length, if there is a norm.
  Value normalize(Value rows) {
    if (!space.norm)
      return rows;
    Value weight =
        graph.cast(parts.getParameter(space.norm->weight, {space.norm->size}), graph.getF32());
    int64_t groups = spec.linearKeyHeads, width = space.norm->size / groups;
    if (groups == 1)
      return graph.rmsNorm(rows, weight, spec.normEps);
    Value norms = graph.rmsNorm(toHeads(rows, groups), graph.splat({width}, 1), spec.normEps);
    return graph.mul(graph.reshape(norms, getRows()), graph.broadcast(weight, getRows(), {2}));
  }

  const StateSpaceSpec &space;
};
} // namespace

Value sinter::buildLinearAttention(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                                   const ChunkPlace &place) {
  return LinearAttentionBuilder(parts, x, layer, index, place).build();
}

Value sinter::buildStateSpace(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                              const ChunkPlace &place) {
  return StateSpaceBuilder(parts, x, layer, index, place).build();
}
