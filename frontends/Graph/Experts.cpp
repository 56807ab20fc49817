#include "frontends/Graph/Experts.h"
#include "frontends/Graph/Routing.h"

using namespace mlir;
using namespace sinter;

namespace {
class ExpertsBuilder {
public:
  ExpertsBuilder(ModelParts &parts, const LayerSpec &layer)
      : parts(parts), graph(parts.graph), spec(parts.spec), layer(layer), experts(*layer.experts) {}

  Value build(Value rows, Value routed) {
    parts.setLocation(layer, experts.router.name);
    Value logits = parts.buildLinear(routed, experts.router);
    if (parts.routerLoss)
      parts.routerLoss->add(graph, logits, spec.expertsPerToken);
    auto [weights, ids] = buildRouting(graph, spec, logits, getRouterBias());
    weights = scaleChoices(weights, ids);
    route = graph.route(ids, spec.expertCount);
    if (experts.experts.front().up.bias)
      expertOfRows = sort(ids);
    // "mlp.experts" of "mlp.experts.0.up_proj".
    StringRef path = experts.experts.front().up.name;
    parts.setLocation(layer, path.substr(0, path.find(".0.")).str());
    Value sent = graph.dispatch(rows, route);
    if (spec.routing.scalesInput) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(sent.getType()).getShape();
      sent = graph.mul(sent, graph.broadcast(sort(weights), shape, {0}));
      weights = graph.splat(cast<RankedTensorType>(weights.getType()).getShape(), 1);
    }
    SmallVector<const LinearSpec *> downs;
    for (const ExpertsSpec::Expert &expert : experts.experts)
      downs.push_back(&expert.down);
    return graph.combine(buildProduct(buildInner(sent), downs), route, weights);
  }

private:
  using ScaledMatrix = ModelParts::ScaledMatrix;

  /// Weights of each token's choices times the factors of the experts, where they have them.
  Value scaleChoices(Value weights, Value ids) {
    if (experts.scales.empty())
      return weights;
    Value factors =
        graph.cast(parts.getParameter(experts.scales, {spec.expertCount}), graph.getF32());
    factors = graph.embedding(graph.reshape(factors, {spec.expertCount, 1}), ids);
    return graph.mul(weights,
                     graph.reshape(factors, cast<RankedTensorType>(weights.getType()).getShape()));
  }

  /// What is of each token's choices, [tokens, chosen], in the order of the rows that have been
  /// sent, [assignments].
  Value sort(Value choices) {
    int64_t assignments = cast<RankedTensorType>(choices.getType()).getNumElements();
    Value sorted = graph.embedding(graph.reshape(choices, {assignments, 1}), route.getOrder());
    return graph.reshape(sorted, {assignments});
  }

  /// What experts make of rows before their last product, [assignments, expert size].
  Value buildInner(Value rows) {
    if (experts.experts.front().gate.out != 0) {
      auto [gate, up] = buildGateAndUp(rows);
      return parts.buildGated(gate, up);
    }
    SmallVector<const LinearSpec *> ups;
    for (const ExpertsSpec::Expert &expert : experts.experts)
      ups.push_back(&expert.up);
    return parts.buildActivation(buildProduct(rows, ups));
  }

  /// Both products of rows, each [assignments, expert size].
  std::pair<Value, Value> buildGateAndUp(Value rows) {
    SmallVector<const LinearSpec *> gates, ups, both;
    for (const ExpertsSpec::Expert &expert : experts.experts) {
      gates.push_back(&expert.gate);
      ups.push_back(&expert.up);
      both.append({&expert.gate, &expert.up});
    }
    // Of two tensors, or of integers of two formats, they are two products: nothing is stacked.
    const WeightRef &first = gates.front()->weight;
    bool areApart = first.matrices && first.tensor != ups.front()->weight.tensor;
    if (areApart || (!findCommonFormat(both) && (findCommonFormat(gates) || findCommonFormat(ups))))
      return {buildProduct(rows, gates), buildProduct(rows, ups)};
    Value made = buildProduct(rows, both);
    int64_t size = spec.expertSize;
    int64_t assignments = cast<RankedTensorType>(made.getType()).getDimSize(0);
    if (first.groups == 1)
      return {graph.slice(made, {0, 0}, {assignments, size}),
              graph.slice(made, {0, size}, {assignments, size})};
    // In turns.
    made = graph.reshape(made, {assignments, size, 2});
    auto take = [&](int64_t which) {
      return graph.reshape(graph.slice(made, {0, 0, which}, {assignments, size, 1}),
                           {assignments, size});
    };
    return {take(0), take(1)};
  }

  /// The format of integers that all of these matrices have; null where they are multiplied as
  /// numbers.
  const IntegerFormat *findCommonFormat(ArrayRef<const LinearSpec *> matrices) const {
    const IntegerFormat *first = parts.findIntegerFormat(matrices.front()->weight.tensor);
    bool isCommon = first && llvm::all_of(matrices, [&](const LinearSpec *matrix) {
                      const IntegerFormat *format = parts.findIntegerFormat(matrix->weight.tensor);
                      return format && *format == *first;
                    });
    return isCommon ? first : nullptr;
  }

  /// Matrices [out, in] of each expert below each other, all experts', [experts, rows, in].
  ScaledMatrix stackMatrices(ArrayRef<const LinearSpec *> matrices) {
    const IntegerFormat *format = findCommonFormat(matrices);
    // What lies in one tensor in their order is one part of it, or all of it.
    SmallVector<WeightRef> refs;
    int64_t in = matrices.front()->in, rows = 0;
    for (const LinearSpec *matrix : matrices) {
      const WeightRef &ref = matrix->weight;
      rows += matrix->out;
      if (!refs.empty() && refs.back().tensor == ref.tensor &&
          refs.back().begin + refs.back().count == ref.begin)
        refs.back().count += ref.count;
      else
        refs.push_back(ref);
    }
    auto stack = [&](int64_t width, llvm::function_ref<Value(const WeightRef &)> getTensor) {
      auto values = llvm::map_to_vector(refs, [&](const WeightRef &part) {
        Value tensor = getTensor(part);
        return part.isWhole()
                   ? tensor
                   : parts.selectEntries(graph.reshape(tensor, {part.tensorOut, width}), part, 0);
      });
      // Of several types each becomes f32 first.
      if (!llvm::all_equal(llvm::map_range(values, [](Value value) {
            return cast<RankedTensorType>(value.getType()).getElementType();
          })))
        for (Value &value : values)
          value = graph.cast(value, graph.getF32());
      Value all = values.size() == 1 ? values.front() : graph.concat(values, 0);
      if (!format)
        all = graph.cast(all, graph.getF32());
      return graph.reshape(all, {spec.expertCount, rows / spec.expertCount, width});
    };
    if (!format)
      return {stack(in,
                    [&](const WeightRef &part) {
                      int64_t count = part.matrices;
                      return count ? parts.getParameter(part.tensor,
                                                        {count, part.tensorOut / count, in})
                                   : parts.getParameter(part.tensor, {part.tensorOut, in});
                    }),
              Value(), Value()};
    auto getMatrix = [&](const WeightRef &part) {
      return parts.getScaledMatrix(part.tensor, part.tensorOut, in, *format);
    };
    int64_t groups = in / format->group;
    ScaledMatrix all;
    all.numbers = stack(in, [&](const WeightRef &part) { return getMatrix(part).numbers; });
    all.scales = stack(groups, [&](const WeightRef &part) { return getMatrix(part).scales; });
    if (format->hasMinima)
      all.minima = stack(groups, [&](const WeightRef &part) { return getMatrix(part).minima; });
    return all;
  }

  /// Rows of each expert by its matrices, whose results are next to each other, or in turns where
  /// the matrices are, plus their biases.
  Value buildProduct(Value rows, ArrayRef<const LinearSpec *> matrices) {
    const LinearSpec &first = *matrices.front();
    Value result;
    if (first.weight.layout == WeightRef::Layout::InOut) {
      // All of them lie in one tensor.
      int64_t count = spec.expertCount, out = first.weight.tensorOut / count;
      if (const IntegerFormat *format = findCommonFormat(matrices)) {
        ScaledMatrix all =
            parts.getScaledMatrix(first.weight.tensor, count * out, first.in, *format);
        auto ofExperts = [&](Value part) {
          int64_t width = cast<RankedTensorType>(part.getType()).getDimSize(1);
          return graph.reshape(part, {count, out, width});
        };
        result = graph.groupedMatmul(rows, ofExperts(all.numbers), route, /*transposeRhs=*/true,
                                     ofExperts(all.scales),
                                     all.minima ? ofExperts(all.minima) : Value());
      } else {
        Value all = graph.cast(parts.getParameter(first.weight.tensor, {count, first.in, out}),
                               graph.getF32());
        // What does not change is turned once, as weights are prepared: kernels take panels of it.
        if (!parts.trains)
          all = graph.transpose(all, {0, 2, 1});
        result = graph.groupedMatmul(rows, all, route, /*transposeRhs=*/!parts.trains);
      }
    } else {
      ScaledMatrix all = stackMatrices(matrices);
      result = graph.groupedMatmul(rows, all.numbers, route, /*transposeRhs=*/true, all.scales,
                                   all.minima);
    }
    if (!first.bias)
      return result;
    int64_t count = spec.expertCount, out = first.bias->tensorOut / count;
    Value biases = graph.cast(parts.getParameter(first.bias->tensor, {count, out}), graph.getF32());
    return graph.add(result, graph.embedding(biases, expertOfRows));
  }

  /// What the router adds to scores before it chooses; null where it adds nothing.
  Value getRouterBias() {
    if (experts.routerBias.empty())
      return {};
    Value bias = parts.getParameter(experts.routerBias, experts.getBiasShape(spec.expertCount));
    return graph.cast(graph.reshape(bias, {spec.expertCount}), graph.getF32());
  }

  ModelParts &parts;
  GraphBuilder &graph;
  const ModelSpec &spec;
  const LayerSpec &layer;
  const ExpertsSpec &experts;
  RouteOp route;
  Value expertOfRows; ///< the expert that each row has been sent to, where products have biases
};
} // namespace

Value sinter::buildExperts(ModelParts &parts, Value rows, Value routed, const LayerSpec &layer) {
  return ExpertsBuilder(parts, layer).build(rows, routed);
}
