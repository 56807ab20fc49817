#include "frontends/Graph/Convolution.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

Value ChunkPlace::getAge(GraphBuilder &graph) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(first.getType()).getShape();
  std::vector<float> positions(static_cast<size_t>(shape[1]));
  std::iota(positions.begin(), positions.end(), 0.0f);
  Value all = graph.broadcast(graph.constant({shape[1]}, positions), shape, {1});
  return graph.binary<SubOp>(all, graph.cast(first, graph.getF32()));
}

/// The rows before a chunk that its convolution sees: zeros where a sequence begins, whatever the
/// state has from another.
static Value getWindow(GraphBuilder &graph, const std::string &name, Shape shape,
                       const ChunkPlace &place) {
  Value zeros = graph.splat(shape, 0.0);
  if (!place.start)
    return zeros;
  // One over the start is infinite there.
  Value start = graph.cast(place.start, graph.getF32());
  Value inverse = graph.binary<DivOp>(graph.splat({shape[0]}, 1.0), start);
  Value state = graph.getState(name, shape, graph.getF32(), Role::Recurrent);
  return graph.whereFinite(graph.broadcast(inverse, shape, {0}), state, zeros);
}

/// Of the window and a chunk's rows behind it, those that the next chunk's convolution sees: as
/// many rows, `kept`, from row `count` on.
static void keepWindow(GraphBuilder &graph, const std::string &name, Value rows, int64_t kept,
                       const ChunkPlace &place) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(rows.getType()).getShape();
  int64_t batch = shape[0], channels = shape[2];
  Value counts = graph.positions(place.count, kept + 1);
  SmallVector<Value> next;
  for (int64_t i = 1; i <= kept; ++i) {
    Value count = graph.reshape(graph.slice(counts, {0, i}, {batch, 1}), {batch});
    next.push_back(graph.reshape(graph.lastRow(rows, count), {batch, 1, channels}));
  }
  graph.setState(name, kept == 1 ? next.front() : graph.concat(next, 1));
}

Value sinter::buildConvolution(GraphBuilder &graph, Value rows, Value weights,
                               const std::string &window, const ChunkPlace &place) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  int64_t batch = shape[0], channels = shape[2];
  int64_t width = cast<RankedTensorType>(weights.getType()).getDimSize(0);
  if (width > 1)
    rows = graph.concat({getWindow(graph, window, {batch, width - 1, channels}, place), rows}, 1);
  Value sum;
  for (int64_t i = 0; i < width; ++i) {
    Value weight = graph.reshape(graph.slice(weights, {i, 0}, {1, channels}), {channels});
    Value term =
        graph.mul(graph.slice(rows, {0, i, 0}, shape), graph.broadcast(weight, shape, {2}));
    if (int64_t back = width - 1 - i; place.first && back > 0) {
      // 1 where the token that far back is of the same document.
      Value age = place.getAge(graph);
      Value same = graph.unary<StepOp>(graph.binary<SubOp>(
          age, graph.splat({batch, shape[1]}, static_cast<double>(back) - 0.5)));
      term = graph.mul(term, graph.broadcast(same, shape, {0, 1}));
    }
    sum = sum ? graph.add(sum, term) : term;
  }
  if (place.start && width > 1)
    keepWindow(graph, window, rows, width - 1, place);
  return sum;
}

Value sinter::getConvolutionWeights(ModelParts &parts, const std::string &name, int64_t channels,
                                    int64_t width) {
  GraphBuilder &graph = parts.graph;
  Value weights = graph.cast(parts.getParameter(name, {channels, 1, width}), graph.getF32());
  return graph.transpose(graph.reshape(weights, {channels, width}), {1, 0});
}

Value sinter::buildGatedConvolution(ModelParts &parts, Value x, const LayerSpec &layer,
                                    size_t index, const ChunkPlace &place) {
  GraphBuilder &graph = parts.graph;
  const ConvolutionSpec &convolution = *layer.convolution;
  auto multiply = [&](const LinearSpec &part) {
    parts.setLocation(layer, part.name);
    return parts.buildLinear(x, part);
  };
  Value rows = multiply(convolution.input), gate = multiply(convolution.gate);
  rows = graph.mul(rows, multiply(convolution.value));
  // "conv" of "conv.in_proj".
  std::string path = convolution.input.name.substr(0, convolution.input.name.find('.'));
  parts.setLocation(layer, path + ".conv1d");
  int64_t channels = convolution.input.out;
  Value weights =
      getConvolutionWeights(parts, convolution.weight, channels, parts.spec.convolutionWidth);
  Value sum = buildConvolution(graph, rows, weights, "conv_window." + std::to_string(index), place);
  if (!convolution.bias.empty()) {
    Value bias = parts.getParameter(convolution.bias, {channels});
    sum = graph.addToRows(sum, graph.cast(bias, graph.getF32()));
  }
  return graph.mul(gate, sum);
}
