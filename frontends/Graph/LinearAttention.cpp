#include "frontends/Graph/LinearAttention.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace {
/// What is added to the sum of squares of a query or a key before its root divides them.
constexpr double kNormEps = 1e-6;

class LinearAttentionBuilder {
public:
  LinearAttentionBuilder(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                         const ChunkPlace &place)
      : parts(parts), graph(parts.graph), spec(parts.spec), layer(layer), linear(*layer.linear),
        suffix("." + std::to_string(index)), place(place), x(x),
        batch(cast<RankedTensorType>(x.getType()).getDimSize(0)),
        tokens(cast<RankedTensorType>(x.getType()).getDimSize(1)) {}

  Value build() {
    int64_t keyHeads = spec.linearKeyHeads, heads = spec.linearValueHeads;
    Value query = normalize(toHeads(convolve(linear.query, 0, "q_window"), keyHeads));
    Value key = normalize(toHeads(convolve(linear.key, linear.query.out, "k_window"), keyHeads));
    Value value =
        toHeads(convolve(linear.value, linear.query.out + linear.key.out, "v_window"), heads);
    Value beta = graph.unary<SigmoidOp>(multiply(linear.beta));
    Value decay = buildDecay();
    parts.setLocation(layer, getPath());
    Value state;
    if (place.start)
      state = getState("recurrent", {batch, heads, spec.linearKeySize, spec.linearValueSize});
    double scale = 1 / std::sqrt(static_cast<double>(spec.linearKeySize));
    LinearAttentionOp attention = graph.linearAttention(query, key, value, decay, beta, scale,
                                                        state, place.start, place.count);
    if (state)
      graph.setState("recurrent" + suffix, attention.getNext());
    Value gate = graph.unary<SiluOp>(toHeads(multiply(linear.gate), heads));
    parts.setLocation(layer, linear.norm.name);
    Value weight =
        graph.cast(parts.getParameter(linear.norm.weight, {linear.norm.size}), graph.getF32());
    return graph.mul(graph.rmsNorm(attention.getResult(), weight, spec.normEps), gate);
  }

private:
  /// "linear_attn" of "linear_attn.norm".
  std::string getPath() const { return linear.norm.name.substr(0, linear.norm.name.find('.')); }

  Value multiply(const LinearSpec &part) {
    parts.setLocation(layer, part.name);
    return parts.buildLinear(x, part);
  }

  Value toHeads(Value rows, int64_t heads) {
    int64_t width = cast<RankedTensorType>(rows.getType()).getDimSize(2) / heads;
    return graph.reshape(rows, {batch, tokens, heads, width});
  }

  /// Each head over its length: an RMS norm whose factor takes the mean's division back.
  Value normalize(Value heads) {
    auto width = static_cast<double>(spec.linearKeySize);
    return graph.rmsNorm(heads, graph.splat({spec.linearKeySize}, 1 / std::sqrt(width)),
                         kNormEps / width);
  }

  Value getState(const std::string &name, Shape shape) {
    return graph.getState(name + suffix, shape, graph.getF32(), Role::Recurrent);
  }

  /// A product's channels, each a weighted sum of its last few tokens, and the activation of that.
  /// @param begin the first channel's among those of the convolution's tensor
  Value convolve(const LinearSpec &part, int64_t begin, const std::string &window) {
    Value rows = multiply(part);
    parts.setLocation(layer, getPath() + ".conv1d");
    int64_t width = spec.convolutionWidth, channels = part.out;
    int64_t all = linear.query.out + linear.key.out + linear.value.out;
    Value weights = parts.getParameter(linear.convolution, {all, 1, width});
    weights = graph.slice(graph.reshape(graph.cast(weights, graph.getF32()), {all, width}),
                          {begin, 0}, {channels, width});
    weights = graph.transpose(weights, {1, 0});
    if (width > 1)
      rows = graph.concat({getWindow(window, {batch, width - 1, channels}), rows}, 1);
    Value sum;
    for (int64_t i = 0; i < width; ++i) {
      Value weight = graph.reshape(graph.slice(weights, {i, 0}, {1, channels}), {channels});
      Value term = graph.mul(graph.slice(rows, {0, i, 0}, {batch, tokens, channels}),
                             graph.broadcast(weight, {batch, tokens, channels}, {2}));
      sum = sum ? graph.add(sum, term) : term;
    }
    if (place.start && width > 1)
      keepWindow(window, rows);
    return parts.buildActivation(sum);
  }

  /// The tokens before the chunk that a convolution sees: zeros where a sequence begins, whatever
  /// the state has from another.
  Value getWindow(const std::string &name, Shape shape) {
    Value zeros = graph.splat(shape, 0.0);
    if (!place.start)
      return zeros;
    // One over the start is infinite there.
    Value start = graph.cast(place.start, graph.getF32());
    Value inverse = graph.binary<DivOp>(graph.splat({batch}, 1.0), start);
    return graph.whereFinite(graph.broadcast(inverse, shape, {0}), getState(name, shape), zeros);
  }

  /// Of the window and a chunk's rows behind it, those that the next chunk's convolution sees: as
  /// many rows from row `count` on.
  void keepWindow(const std::string &name, Value rows) {
    int64_t channels = cast<RankedTensorType>(rows.getType()).getDimSize(2);
    int64_t kept = spec.convolutionWidth - 1;
    Value counts = graph.positions(place.count, kept + 1);
    SmallVector<Value> next;
    for (int64_t i = 1; i <= kept; ++i) {
      Value count = graph.reshape(graph.slice(counts, {0, i}, {batch, 1}), {batch});
      next.push_back(graph.reshape(graph.lastRow(rows, count), {batch, 1, channels}));
    }
    graph.setState(name + suffix, kept == 1 ? next.front() : graph.concat(next, 1));
  }

  /// -exp(logDecay) * softplus(decay(x) + decayBias), with softplus(x) written so that nothing
  /// overflows: relu(x) + log(1 + exp(-|x|)).
  Value buildDecay() {
    SmallVector<int64_t> shape = {batch, tokens, spec.linearValueHeads};
    auto getNumbers = [&](const std::string &name) {
      return graph.cast(parts.getParameter(name, {spec.linearValueHeads}), graph.getF32());
    };
    Value rate = graph.addToRows(multiply(linear.decay), getNumbers(linear.decayBias));
    Value size = graph.binary<MaximumOp>(rate, graph.unary<NegOp>(rate));
    Value tail = graph.unary<ExpOp>(graph.unary<NegOp>(size));
    Value softplus = graph.add(graph.unary<ReluOp>(rate),
                               graph.unary<LogOp>(graph.add(tail, graph.splat(shape, 1.0))));
    Value factor = graph.unary<NegOp>(graph.unary<ExpOp>(getNumbers(linear.logDecay)));
    return graph.mul(softplus, graph.broadcast(factor, shape, {2}));
  }

  ModelParts &parts;
  GraphBuilder &graph;
  const ModelSpec &spec;
  const LayerSpec &layer;
  const LinearAttentionSpec &linear;
  const std::string suffix; ///< of the names of states
  const ChunkPlace &place;
  Value x;
  int64_t batch, tokens;
};
} // namespace

Value sinter::buildLinearAttention(ModelParts &parts, Value x, const LayerSpec &layer, size_t index,
                                   const ChunkPlace &place) {
  return LinearAttentionBuilder(parts, x, layer, index, place).build();
}
