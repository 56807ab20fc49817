#include "frontends/Graph/RouterLoss.h"

using namespace mlir;
using namespace sinter;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

void RouterLoss::add(GraphBuilder &graph, Value logits, int64_t chosen) {
  int64_t rows = shapeOf(logits)[0], experts = shapeOf(logits)[1];
  auto addRows = [&](Value &sums, Value of) {
    of = graph.sum(graph.transpose(of, {1, 0}));
    sums = sums ? graph.add(sums, of) : of;
  };
  Value ofLayer = graph.softmax(logits);
  Value ids = graph.reshape(graph.topK(ofLayer, chosen).second, {rows * chosen});
  addRows(scores, ofLayer);
  addRows(choices, graph.oneHot(ids, experts));
  tokens += rows;
}

Value RouterLoss::build(GraphBuilder &graph) const {
  if (!choices)
    return {};
  const double share = 1.0 / static_cast<double>(tokens);
  Value products = graph.mul(graph.scale(choices, share), graph.scale(scores, share));
  return graph.scale(graph.sum(products), static_cast<double>(shapeOf(choices)[0]));
}
