#include "frontends/Graph/Routing.h"

using namespace mlir;
using namespace sinter;

namespace {
class RoutingBuilder {
public:
  RoutingBuilder(GraphBuilder &graph, const ModelSpec &spec, Value logits)
      : graph(graph), routing(spec.routing), chosen(spec.expertsPerToken), logits(logits) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(logits.getType()).getShape();
    tokens = shape[0];
    count = shape[1];
  }

  Routing build(Value bias) {
    Value scores = buildScores(), choice = scores;
    if (bias)
      choice = graph.addToRows(choice, bias);
    if (routing.groups > 1)
      choice = closeGroups(choice);
    auto [weights, ids] = graph.topK(choice, chosen);
    if (choice != scores) // what is chosen by is not what is multiplied by
      weights = graph.sum(graph.mul(graph.oneHot(ids, count),
                                    graph.broadcast(scores, {tokens, chosen, count}, {0, 2})));
    if (routing.normalizes) {
      Value sum = graph.sum(weights);
      if (routing.usesSigmoid) // all of which may be zero
        sum = graph.add(sum, graph.splat({tokens}, routing.sumOffset));
      weights = graph.binary<DivOp>(weights, graph.broadcast(sum, {tokens, chosen}, {0}));
    }
    return {graph.scale(weights, routing.scale), ids};
  }

private:
  /// The score of each expert, a row a token.
  Value buildScores() {
    return routing.usesSigmoid ? graph.unary<SigmoidOp>(logits) : graph.softmax(logits);
  }

  /// Scores of which those of experts outside of a token's best groups are too low to be chosen.
  /// Groups that are as good as the last best one are open, too.
  Value closeGroups(Value scores) {
    int64_t size = count / routing.groups;
    Value byGroup = graph.reshape(scores, {tokens * routing.groups, size});
    Value best = routing.groupScore == RoutingSpec::GroupScore::TwoLargest
                     ? graph.sum(graph.topK(byGroup, std::min<int64_t>(size, 2)).first)
                     : graph.reduce(byGroup, ReductionKind::Max);
    best = graph.reshape(best, {tokens, routing.groups});
    Value open = graph.topK(best, routing.groupsPerToken).first;
    Value last = graph.slice(open, {0, routing.groupsPerToken - 1}, {tokens, 1});
    last = graph.broadcast(graph.reshape(last, {tokens}), {tokens, routing.groups}, {0});
    Value closed = graph.scale(graph.unary<StepOp>(graph.binary<SubOp>(last, best)), -1e30);
    closed = graph.broadcast(closed, {tokens, routing.groups, size}, {0, 1});
    return graph.add(scores, graph.reshape(closed, {tokens, count}));
  }

  GraphBuilder &graph;
  const RoutingSpec &routing;
  int64_t tokens, chosen, count; ///< experts of a token, and all
  Value logits;
};
} // namespace

Routing sinter::buildRouting(GraphBuilder &graph, const ModelSpec &spec, Value logits, Value bias) {
  return RoutingBuilder(graph, spec, logits).build(bias);
}
