#include "frontends/Graph/LinearAttention.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace {
/// What is added to the sum of squares of a query or a key before its root divides them.
constexpr double kNormEps = 1e-6;

/// e to its negative is below the smallest number of f32.
constexpr double kForgets = 104;

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
    Value decay = forgetOthers(buildDecay());
    parts.setLocation(layer, getPath());
    Value state;
    if (place.start)
      state = graph.getState("recurrent" + suffix,
                             {batch, heads, spec.linearKeySize, spec.linearValueSize},
                             graph.getF32(), Role::Recurrent);
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

  /// A product's channels, each a weighted sum of its last few tokens, and the activation of that.
  /// @param begin the first channel's among those of the convolution's tensor
  Value convolve(const LinearSpec &part, int64_t begin, const std::string &window) {
    Value rows = multiply(part);
    parts.setLocation(layer, getPath() + ".conv1d");
    int64_t width = spec.convolutionWidth;
    int64_t all = linear.query.out + linear.key.out + linear.value.out;
    Value weights = getConvolutionWeights(parts, linear.convolution, all, width);
    weights = graph.slice(weights, {0, begin}, {width, part.out});
    return parts.buildActivation(buildConvolution(graph, rows, weights, window + suffix, place));
  }

  /// -exp(logDecay) * softplus(decay(x) + decayBias)
  Value buildDecay() {
    SmallVector<int64_t> shape = {batch, tokens, spec.linearValueHeads};
    auto getNumbers = [&](const std::string &name) {
      return graph.cast(parts.getParameter(name, {spec.linearValueHeads}), graph.getF32());
    };
    Value softplus =
        graph.softplus(graph.addToRows(multiply(linear.decay), getNumbers(linear.decayBias)));
    Value factor = graph.unary<NegOp>(graph.unary<ExpOp>(getNumbers(linear.logDecay)));
    return graph.mul(softplus, graph.broadcast(factor, shape, {2}));
  }

  /// The decay, by which the state is nothing any more where a document begins.
  Value forgetOthers(Value decay) {
    if (!place.first)
      return decay;
    SmallVector<int64_t> shape = {batch, tokens, spec.linearValueHeads};
    Value begins = graph.unary<StepOp>(
        graph.binary<SubOp>(graph.splat({batch, tokens}, 0.5), place.getAge(graph)));
    return graph.add(decay, graph.broadcast(graph.scale(begins, -kForgets), shape, {0, 1}));
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
