//===- GradientTest.cpp - Every adjoint against finite differences ----------===//
//
// A function of random shapes is differentiated; what the backward pass computes for some elements
// of every parameter is compared with a central difference of the function itself. The evaluator
// works in double precision: with a step of 1e-5 the difference is good to about 1e-9 (truncation
// ~ h^2, rounding ~ 1e-16 |L| / h), so that 1e-6 of the gradient's size is far from both.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "frontends/Graph/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sinter;

namespace {
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// An extent between the two, both included.
  int64_t extent(int64_t low = 1, int64_t high = 5) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool flip() { return extent(0, 1) == 1; }
  std::mt19937_64 engine;
};

using Body = std::function<Value(GraphBuilder &, Random &)>;

/// Values for the function's arguments: normal numbers, ids below 7 with some that are negative.
SmallVector<ReferenceTensor> makeArguments(func::FuncOp function, Random &random) {
  SmallVector<ReferenceTensor> arguments;
  std::normal_distribution<double> normal;
  for (Type type : function.getArgumentTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    ReferenceTensor value(tensor);
    for (int64_t i = 0; i < value.getNumElements(); ++i)
      value[i] = isa<FloatType>(tensor.getElementType())
                     ? normal(random.engine)
                     : static_cast<double>(random.extent(-1, 6));
    arguments.push_back(std::move(value));
  }
  return arguments;
}

void checkGradient(const Body &body, uint64_t seed) {
  Random random(seed);
  MLIRContext context;
  context.loadDialect<SinterDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  GraphBuilder graph(*module, "train_step");
  Value result = body(graph, random);
  auto type = cast<RankedTensorType>(result.getType());
  // A loss that depends on every element differently.
  Value weighted = graph.mul(result, graph.getInput("weights", type.getShape(), graph.getF32()));
  graph.addOutput("loss", graph.sum(graph.reshape(weighted, {type.getNumElements()})));
  graph.finish();
  graph.getFunction()->setAttr(SinterDialect::kDifferentiate, UnitAttr::get(&context));

  OwningOpRef<ModuleOp> original = module->clone();
  auto forward = *original->getOps<func::FuncOp>().begin();
  PassManager manager(&context);
  manager.addPass(createDifferentiatePass());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  ASSERT_TRUE(succeeded(verify(*module)));
  func::FuncOp backward = graph.getFunction();

  SmallVector<ReferenceTensor> arguments = makeArguments(forward, random);
  SmallVector<ReferenceTensor> results = evaluateFunction(backward, arguments);
  auto loss = [&] { return evaluateFunction(forward, arguments)[0][0]; };
  EXPECT_NEAR(results[0][0], loss(), 1e-9 * (1 + std::abs(loss())));

  unsigned next = 1;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    if (!forward.getArgAttr(i, SinterDialect::kParameter))
      continue;
    const ReferenceTensor &gradient = results[next++];
    for (int64_t trial = 0; trial < 8; ++trial) {
      int64_t element = random.extent(0, arguments[i].getNumElements() - 1);
      constexpr double kStep = 1e-5;
      double before = arguments[i][element];
      arguments[i][element] = before + kStep;
      double above = loss();
      arguments[i][element] = before - kStep;
      double below = loss();
      arguments[i][element] = before;
      double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[element], expected, 1e-6 * (1 + std::abs(expected)))
          << "argument " << i << ", element " << element << ", seed " << seed;
    }
  }
}

Value parameter(GraphBuilder &graph, StringRef name, Shape shape) {
  return graph.getParameter(name, shape, graph.getF32());
}

/// x^2 + 1/2, for functions of positive numbers.
Value positive(GraphBuilder &graph, Value x) {
  auto shape = cast<RankedTensorType>(x.getType()).getShape();
  return graph.add(graph.mul(x, x), graph.splat(shape, 0.5));
}

template <typename Op> Value unaryCase(GraphBuilder &graph, Random &random) {
  return graph.unary<Op>(parameter(graph, "x", {random.extent(), random.extent()}));
}
template <typename Op> Value positiveCase(GraphBuilder &graph, Random &random) {
  return graph.unary<Op>(
      positive(graph, parameter(graph, "x", {random.extent(), random.extent()})));
}
template <typename Op> Value binaryCase(GraphBuilder &graph, Random &random) {
  SmallVector<int64_t> shape{random.extent(), random.extent()};
  Value a = parameter(graph, "a", shape);
  return graph.binary<Op>(a, positive(graph, parameter(graph, "b", shape)));
}

Value matmulCase(GraphBuilder &graph, Random &random) {
  int64_t m = random.extent(), n = random.extent(), k = random.extent(), b = random.extent();
  bool transposed = random.flip();
  Value a = parameter(graph, "a", {b, m, k});
  Value w = parameter(graph, "w", transposed ? Shape{n, k} : Shape{k, n});
  return graph.matmul(a, w, transposed);
}

/// dW of a product, differentiated again: a product with a transposed left-hand side.
Value transposedMatmulCase(GraphBuilder &graph, Random &random) {
  int64_t m = random.extent(), n = random.extent(), k = random.extent();
  bool transposed = random.flip();
  Value a = parameter(graph, "a", {k, m});
  Value w = parameter(graph, "w", transposed ? Shape{n, k} : Shape{k, n});
  return graph.matmul(a, w, transposed, /*transposeLhs=*/true);
}

Value broadcastCase(GraphBuilder &graph, Random &random) {
  int64_t a = random.extent(), b = random.extent(), c = random.extent(), d = random.extent();
  Value columns = graph.broadcast(parameter(graph, "c", {c, d}), {a, b, c, d}, {2, 3});
  Value rows = graph.broadcast(parameter(graph, "r", {a}), {a, b, c, d}, {0});
  Value middle = graph.broadcast(parameter(graph, "m", {b, d}), {a, b, c, d}, {1, 3});
  Value number = graph.broadcast(parameter(graph, "n", {}), {a, b, c, d}, {});
  return graph.add(graph.mul(columns, rows), graph.mul(middle, number));
}

Value sliceCase(GraphBuilder &graph, Random &random) {
  int64_t n = random.extent(4, 8), d = random.extent(2, 4);
  Value x = parameter(graph, "x", {n, d});
  // Slices that tile x, then one that overlaps them.
  Value first = graph.slice(x, {0, 0}, {2, d}), rest = graph.slice(x, {2, 0}, {n - 2, d});
  Value overlap = graph.slice(x, {1, 1}, {2, d - 1});
  Value sum = graph.sum(graph.reshape(overlap, {2 * (d - 1)}));
  Value joined = graph.concat({rest, graph.mul(first, first)}, 0);
  return graph.mul(joined, graph.broadcast(sum, {n, d}, {}));
}

Value tilingSliceCase(GraphBuilder &graph, Random &random) {
  int64_t n = random.extent(), d = random.extent();
  Value x = parameter(graph, "x", {n, 3 * d});
  Value a = graph.slice(x, {0, 0}, {n, d}), b = graph.slice(x, {0, d}, {n, d}),
        c = graph.slice(x, {0, 2 * d}, {n, d});
  return graph.mul(graph.mul(b, c), a);
}

Value transposeCase(GraphBuilder &graph, Random &random) {
  Value x = parameter(graph, "x", {random.extent(), random.extent(), random.extent()});
  Value t = graph.transpose(x, {2, 0, 1});
  return graph.mul(t, t);
}

template <ReductionKind kind> Value reduceCase(GraphBuilder &graph, Random &random) {
  Value x = parameter(graph, "x", {random.extent(), random.extent(), random.extent()});
  return graph.reduce(x, kind);
}

Value embeddingCase(GraphBuilder &graph, Random &random) {
  Value table = parameter(graph, "table", {random.extent(3, 7), random.extent()});
  Value ids = graph.getInput("ids", {random.extent(), random.extent()});
  Value rows = graph.embedding(table, ids);
  return graph.mul(rows, rows);
}

Value transposedEmbeddingCase(GraphBuilder &graph, Random &random) {
  Value table = parameter(graph, "table", {random.extent(3, 7), random.extent()});
  Value transposed = graph.transpose(table, {1, 0});
  auto rows = graph.embedding(table, graph.getInput("ids", {random.extent(), random.extent()}))
                  .getDefiningOp<LookupOpInterface>();
  OpBuilder builder(rows);
  return graph.mul(rows->getResult(0), rows.buildTransposed(builder, transposed));
}

Value tiedEmbeddingCase(GraphBuilder &graph, Random &random) {
  int64_t vocab = random.extent(3, 7), d = random.extent();
  Value table = parameter(graph, "table", {vocab, d});
  Value rows = graph.embedding(table, graph.getInput("ids", {random.extent(), random.extent()}));
  return graph.matmul(rows, table, /*transposeRhs=*/true);
}

Value rmsNormCase(GraphBuilder &graph, Random &random) {
  int64_t d = random.extent(2, 6);
  Value x = parameter(graph, "x", {random.extent(), random.extent(), d});
  return graph.rmsNorm(x, parameter(graph, "w", {d}), 1e-3);
}

Value layerNormCase(GraphBuilder &graph, Random &random) {
  int64_t d = random.extent(2, 6);
  Value x = parameter(graph, "x", {random.extent(), random.extent(), d});
  Value bias = random.flip() ? parameter(graph, "b", {d}) : Value();
  return graph.layerNorm(x, parameter(graph, "w", {d}), bias, 1e-3);
}

Value rotaryCase(GraphBuilder &graph, Random &random) {
  int64_t t = random.extent(), half = random.extent(1, 3), d = 2 * half + random.extent(0, 2);
  Value x = parameter(graph, "x", {random.extent(), t, random.extent(), d});
  std::vector<float> cosines, sines;
  for (int64_t i = 0; i < t * half; ++i) {
    cosines.push_back(std::cos(0.3f * i));
    sines.push_back(std::sin(0.3f * i));
  }
  return graph.rotary(x, graph.constant({t, half}, cosines), graph.constant({t, half}, sines),
                      nullptr, random.flip());
}

Value attentionCase(GraphBuilder &graph, Random &random) {
  int64_t b = random.extent(1, 2), t = random.extent(), g = random.extent(1, 2),
          h = g * random.extent(1, 2), d = random.extent(1, 4);
  GraphBuilder::Attention options;
  options.scale = 0.7;
  if (random.flip())
    options.window = random.extent(1, 3);
  if (random.flip())
    options.softcap = 1.5;
  if (random.flip()) {
    std::vector<float> slopes;
    for (int64_t i = 0; i < h; ++i)
      slopes.push_back(0.25f * static_cast<float>(i + 1));
    options.alibiSlopes = graph.constant({h}, slopes);
  }
  if (random.flip())
    options.sinks = parameter(graph, "sinks", {h});
  // Random ids from -1 to 6: some queries see nothing.
  if (random.flip())
    options.first = graph.getInput("first", {b, t});
  return graph.attention(parameter(graph, "q", {b, t, h, d}), parameter(graph, "k", {b, t, g, d}),
                         parameter(graph, "v", {b, t, g, d}), nullptr, options);
}

Value linearAttentionCase(GraphBuilder &graph, Random &random) {
  int64_t b = random.extent(1, 2), t = random.extent(1, 5), g = random.extent(1, 2),
          h = g * random.extent(1, 2), d = random.extent(1, 3), e = random.extent(1, 3);
  Value decay = graph.unary<NegOp>(graph.unary<SigmoidOp>(parameter(graph, "decay", {b, t, h})));
  return graph
      .linearAttention(parameter(graph, "q", {b, t, g, d}), parameter(graph, "k", {b, t, g, d}),
                       parameter(graph, "v", {b, t, h, e}), decay,
                       graph.unary<SigmoidOp>(parameter(graph, "beta", {b, t, h})), 0.7, nullptr,
                       nullptr, nullptr, /*additive=*/random.flip())
      .getResult();
}

Value crossEntropyCase(GraphBuilder &graph, Random &random) {
  int64_t n = random.extent(1, 7), d = random.extent(), v = random.extent(3, 6);
  GraphBuilder::CrossEntropy options;
  options.transposeWeight = random.flip();
  options.softcap = random.flip() ? 2.0 : 0.0;
  options.zLoss = random.flip() ? 0.1 : 0.0;
  options.chunk = random.extent(1, 4);
  if (random.flip())
    options.bias = parameter(graph, "bias", {v});
  Value weight = parameter(graph, "w", options.transposeWeight ? Shape{v, d} : Shape{d, v});
  Value targets = graph.getInput("targets", {n});
  return graph.linearCrossEntropy(parameter(graph, "x", {n, d}), weight, targets, options);
}

Value topKCase(GraphBuilder &graph, Random &random) {
  int64_t n = random.extent(2, 6);
  Value x = parameter(graph, "x", {random.extent(), n});
  return graph.topK(x, random.extent(1, n)).first;
}

/// Rows of the experts that random ids choose.
RouteOp makeRoute(GraphBuilder &graph, Random &random, int64_t tokens, int64_t experts) {
  return graph.route(graph.getInput("ids", {tokens, random.extent(1, 3)}), experts);
}

Value dispatchCase(GraphBuilder &graph, Random &random) {
  int64_t t = random.extent();
  RouteOp route = makeRoute(graph, random, t, random.extent());
  Value rows = graph.dispatch(parameter(graph, "x", {t, random.extent()}), route);
  return graph.mul(rows, rows);
}

Value combineCase(GraphBuilder &graph, Random &random) {
  int64_t t = random.extent();
  RouteOp route = makeRoute(graph, random, t, random.extent());
  ArrayRef<int64_t> places = route.getPlaces().getType().getShape();
  Value rows = parameter(graph, "y", {places[0] * places[1], random.extent()});
  return graph.combine(rows, route, random.flip() ? parameter(graph, "p", places) : Value());
}

Value groupedMatmulCase(GraphBuilder &graph, Random &random) {
  int64_t t = random.extent(), e = random.extent(), k = random.extent(), n = random.extent();
  RouteOp route = makeRoute(graph, random, t, e);
  int64_t rows = route.getTokens().getType().getDimSize(0);
  Value x = parameter(graph, "x", {rows, k});
  if (random.flip())
    return graph.groupedMatmul(x, parameter(graph, "w", {e, n, k}), route,
                               /*transposeRhs=*/true);
  Value w = parameter(graph, "w", {e, k, n});
  OpBuilder builder(route->getContext());
  builder.setInsertionPointToEnd(route->getBlock());
  return GroupedMatmulOp::create(builder, route.getLoc(),
                                 cast<RankedTensorType>(x.getType()).clone({rows, n}), x, w,
                                 route.getOffsets(), /*scales=*/{}, /*minima=*/{},
                                 /*transpose_rhs=*/false);
}

/// All of it: experts are chosen by what is trained, too.
Value expertsCase(GraphBuilder &graph, Random &random) {
  int64_t t = random.extent(), e = random.extent(2, 5), d = random.extent();
  Value x = parameter(graph, "x", {t, d});
  Value scores = graph.matmul(x, parameter(graph, "router", {e, d}), /*transposeRhs=*/true);
  auto [weights, ids] = graph.topK(scores, random.extent(1, e));
  RouteOp route = graph.route(ids, e);
  Value rows = graph.dispatch(x, route);
  Value y = graph.groupedMatmul(rows, parameter(graph, "w", {e, random.extent(), d}), route,
                                /*transposeRhs=*/true);
  return graph.combine(y, route, weights);
}

struct Case {
  const char *name;
  Body body;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

class GradientTest : public testing::TestWithParam<Case> {};

TEST_P(GradientTest, EqualsFiniteDifferences) {
  for (uint64_t seed = 0; seed < 12; ++seed)
    checkGradient(GetParam().body, seed);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, GradientTest,
    testing::Values(Case{"Add", binaryCase<AddOp>}, Case{"Sub", binaryCase<SubOp>},
                    Case{"Mul", binaryCase<MulOp>}, Case{"Div", binaryCase<DivOp>},
                    Case{"Maximum", binaryCase<MaximumOp>}, Case{"Minimum", binaryCase<MinimumOp>},
                    Case{"Neg", unaryCase<NegOp>}, Case{"Exp", unaryCase<ExpOp>},
                    Case{"Log", positiveCase<LogOp>}, Case{"Sqrt", positiveCase<SqrtOp>},
                    Case{"Rsqrt", positiveCase<RsqrtOp>}, Case{"Tanh", unaryCase<TanhOp>},
                    Case{"Sigmoid", unaryCase<SigmoidOp>}, Case{"Relu", unaryCase<ReluOp>},
                    Case{"Silu", unaryCase<SiluOp>},
                    Case{"Gelu",
                         [](GraphBuilder &g, Random &r) {
                           return g.gelu(parameter(g, "x", {r.extent(), r.extent()}), r.flip());
                         }},
                    Case{"Softcap",
                         [](GraphBuilder &g, Random &r) {
                           return g.softcap(parameter(g, "x", {r.extent(), r.extent()}), 1.5);
                         }},
                    Case{"Matmul", matmulCase}, Case{"TransposedMatmul", transposedMatmulCase},
                    Case{"Broadcast", broadcastCase}, Case{"Slice", sliceCase},
                    Case{"TilingSlices", tilingSliceCase}, Case{"Transpose", transposeCase},
                    Case{"Sum", reduceCase<ReductionKind::Sum>},
                    Case{"Mean", reduceCase<ReductionKind::Mean>},
                    Case{"Max", reduceCase<ReductionKind::Max>}, Case{"Embedding", embeddingCase},
                    Case{"TransposedEmbedding", transposedEmbeddingCase},
                    Case{"TiedEmbedding", tiedEmbeddingCase}, Case{"RmsNorm", rmsNormCase},
                    Case{"LayerNorm", layerNormCase}, Case{"Rotary", rotaryCase},
                    Case{"Attention", attentionCase}, Case{"LinearAttention", linearAttentionCase},
                    Case{"CrossEntropy", crossEntropyCase}, Case{"TopK", topKCase},
                    Case{"Dispatch", dispatchCase}, Case{"Combine", combineCase},
                    Case{"GroupedMatmul", groupedMatmulCase}, Case{"Experts", expertsCase}),
    [](const auto &info) { return std::string(info.param.name); });
} // namespace
