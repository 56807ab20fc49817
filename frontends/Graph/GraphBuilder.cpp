#include "frontends/Graph/GraphBuilder.h"

using namespace mlir;
using namespace sinter;

GraphBuilder::GraphBuilder(ModuleOp module, llvm::StringRef name)
    : builder(module.getContext()), location(builder.getUnknownLoc()) {
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, location, name, builder.getFunctionType({}, {}));
  function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

void GraphBuilder::setLocation(llvm::StringRef name) {
  location = NameLoc::get(builder.getStringAttr(name));
}

void GraphBuilder::finish() {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  auto addResult = [&](Value value, StringRef attribute, StringRef name) {
    results.push_back(value);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(attribute, builder.getStringAttr(name))));
  };
  for (auto &[name, value] : outputs)
    addResult(value, SinterDialect::kOutput, name);
  for (auto &[name, state] : states) {
    assert(state.next && "every state needs a new value");
    NamedAttrList attributes(argumentAttributes[state.argument]);
    attributes.set(SinterDialect::kDonated, builder.getI64IntegerAttr(results.size()));
    argumentAttributes[state.argument] = attributes.getDictionary(builder.getContext());
    addResult(state.next, SinterDialect::kState, name);
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(attributes);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

Value GraphBuilder::addArgument(RankedTensorType type, StringRef attribute, StringRef name,
                                ArrayRef<NamedAttribute> more) {
  NamedAttrList attributes(more);
  attributes.set(attribute, builder.getStringAttr(name));
  argumentAttributes.push_back(attributes.getDictionary(builder.getContext()));
  return function.front().addArgument(type, NameLoc::get(builder.getStringAttr(name)));
}

Value GraphBuilder::getInput(StringRef name, Shape shape, Type elementType) {
  if (!elementType)
    elementType = builder.getI32Type();
  return addArgument(RankedTensorType::get(shape, elementType), SinterDialect::kInput, name);
}

Value GraphBuilder::getParameter(StringRef name, Shape shape, Type elementType,
                                 std::optional<Initializer> initializer, ArrayRef<int8_t> values,
                                 bool isFixed) {
  Value &parameter = parameters[name];
  if (parameter)
    return parameter;
  SmallVector<NamedAttribute, 1> more;
  if (isFixed)
    more.push_back(builder.getNamedAttr(SinterDialect::kFixed, builder.getUnitAttr()));
  if (initializer)
    more.push_back(
        builder.getNamedAttr(SinterDialect::kInitializer,
                             NormalAttr::get(builder.getContext(), llvm::APFloat(initializer->mean),
                                             llvm::APFloat(initializer->deviation))));
  if (!values.empty())
    more.push_back(
        builder.getNamedAttr(SinterDialect::kValues, builder.getDenseI8ArrayAttr(values)));
  return parameter = addArgument(RankedTensorType::get(shape, elementType),
                                 SinterDialect::kParameter, name, more);
}

Value GraphBuilder::getState(StringRef name, Shape shape, Type elementType, Role role) {
  states.push_back({name.str(), State{static_cast<unsigned>(argumentAttributes.size()), nullptr}});
  return addArgument(
      RankedTensorType::get(shape, elementType), SinterDialect::kState, name,
      builder.getNamedAttr(SinterDialect::kRole, RoleAttr::get(builder.getContext(), role)));
}

void GraphBuilder::setState(StringRef name, Value value) {
  auto *state = llvm::find_if(states, [&](auto &entry) { return entry.first == name; });
  assert(state != states.end() && "the state was asked for before");
  state->second.next = value;
}

void GraphBuilder::addOutput(StringRef name, Value value) {
  outputs.push_back({name.str(), value});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(Shape shape, ArrayRef<float> values) {
  auto type = RankedTensorType::get(shape, getF32());
  return ConstantOp::create(builder, location, type, DenseElementsAttr::get(type, values));
}

Value GraphBuilder::splat(Shape shape, double value) {
  return ConstantOp::create(builder, location, RankedTensorType::get(shape, getF32()), value);
}

Value GraphBuilder::whereFinite(Value test, Value value, Value otherwise) {
  return WhereFiniteOp::create(builder, location, value.getType(), test, value, otherwise);
}

Value GraphBuilder::gelu(Value x, bool tanh) {
  return GeluOp::create(builder, location, x.getType(), x, tanh);
}

Value GraphBuilder::softplus(Value x) {
  // relu(x) + log(1 + e^-|x|)
  Value size = binary<MaximumOp>(x, unary<NegOp>(x));
  Value tail = unary<ExpOp>(unary<NegOp>(size));
  return add(unary<ReluOp>(x), unary<LogOp>(add(tail, splat(getType(x).getShape(), 1.0))));
}

Value GraphBuilder::softcap(Value x, double cap) {
  return SoftcapOp::create(builder, location, x.getType(), x, builder.getF64FloatAttr(cap));
}

Value GraphBuilder::add(Value lhs, Value rhs) {
  return AddOp::create(builder, location, lhs.getType(), lhs, rhs);
}

Value GraphBuilder::mul(Value lhs, Value rhs) {
  return MulOp::create(builder, location, lhs.getType(), lhs, rhs);
}

Value GraphBuilder::broadcast(Value x, Shape shape, ArrayRef<int64_t> dims) {
  return BroadcastOp::create(builder, location, getType(x).clone(shape), x, dims);
}

Value GraphBuilder::reduce(Value x, ReductionKind kind) {
  RankedTensorType type = getType(x);
  return ReduceOp::create(builder, location, type.clone(type.getShape().drop_back()), x, kind);
}

Value GraphBuilder::softmax(Value rows) {
  ArrayRef<int64_t> shape = getType(rows).getShape();
  auto spread = [&](Value perRow) { return broadcast(perRow, shape, {0}); };
  Value powers = unary<ExpOp>(binary<SubOp>(rows, spread(reduce(rows, ReductionKind::Max))));
  return binary<DivOp>(powers, spread(sum(powers)));
}

Value GraphBuilder::scale(Value x, double factor) {
  return factor == 1 ? x : mul(x, splat(getType(x).getShape(), factor));
}

Value GraphBuilder::cast(Value x, Type elementType) {
  if (getType(x).getElementType() == elementType)
    return x;
  return CastOp::create(builder, location, getType(x).clone(elementType), x);
}

Value GraphBuilder::addToRows(Value rows, Value vector) {
  RankedTensorType type = getType(rows);
  return add(rows, BroadcastOp::create(builder, location, type, vector,
                                       ArrayRef<int64_t>{type.getRank() - 1}));
}

Value GraphBuilder::reshape(Value x, Shape shape) {
  if (getType(x).getShape() == shape)
    return x;
  return ReshapeOp::create(builder, location, getType(x).clone(shape), x);
}

Value GraphBuilder::slice(Value x, Shape offsets, Shape sizes) {
  return SliceOp::create(builder, location, getType(x).clone(sizes), x, offsets);
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(getType(x).getDimSize(dim));
  return TransposeOp::create(builder, location, getType(x).clone(shape), x, permutation);
}

Value GraphBuilder::concat(ArrayRef<Value> parts, int64_t dim) {
  SmallVector<int64_t> shape(getType(parts.front()).getShape());
  for (Value part : parts.drop_front())
    shape[dim] += getType(part).getDimSize(dim);
  return ConcatOp::create(builder, location, getType(parts.front()).clone(shape), parts, dim);
}

Value GraphBuilder::matmul(Value lhs, Value rhs, bool transposeRhs, bool transposeLhs) {
  ArrayRef<int64_t> left = getType(lhs).getShape();
  SmallVector<int64_t> shape(transposeLhs ? left.drop_front() : left.drop_back());
  shape.push_back(getType(rhs).getDimSize(transposeRhs ? 0 : 1));
  return MatmulOp::create(builder, location, getType(lhs).clone(shape), lhs, rhs, transposeRhs,
                          transposeLhs);
}

QuantizeOp GraphBuilder::quantize(Value rows, Type element) {
  QuantizeOp &made = quantized[{rows, element}];
  if (made)
    return made;
  RankedTensorType type = getType(rows);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  made = QuantizeOp::create(builder, location, type.clone(element),
                            type.clone(shape, builder.getF32Type()), rows);
  return made;
}

Value GraphBuilder::scaledMatmul(Value lhs, Value numbers, Value scales, Value minima,
                                 bool roundsRows) {
  SmallVector<int64_t> shape(getType(lhs).getShape());
  shape.back() = getType(numbers).getDimSize(0);
  Type result = getType(lhs).clone(shape);
  Value rowScales;
  if (roundsRows) {
    // Integers of 4 bits meet rows of 8.
    Type element = getType(numbers).getElementType();
    QuantizeOp rows = quantize(lhs, element.isInteger() ? builder.getI8Type() : element);
    lhs = rows.getRounded();
    rowScales = rows.getScales();
  }
  return MatmulOp::create(builder, location, result, lhs, numbers, scales, minima, rowScales,
                          /*transpose_rhs=*/true);
}

Value GraphBuilder::embedding(Value table, Value ids, std::optional<int64_t> padding) {
  SmallVector<int64_t> shape(getType(ids).getShape());
  shape.push_back(getType(table).getDimSize(1));
  return EmbeddingOp::create(builder, location, getType(table).clone(shape), table, ids,
                             /*start=*/Value(),
                             padding ? builder.getI64IntegerAttr(*padding) : IntegerAttr());
}

Value GraphBuilder::dropout(Value x, Value seed, double probability, int64_t stream) {
  return DropoutOp::create(builder, location, x.getType(), x, seed,
                           builder.getF64FloatAttr(probability), builder.getI64IntegerAttr(stream),
                           /*whole=*/DenseI64ArrayAttr());
}

std::pair<Value, Value> GraphBuilder::topK(Value rows, int64_t k) {
  SmallVector<int64_t> shape(getType(rows).getShape());
  shape.back() = k;
  RankedTensorType values = getType(rows).clone(shape);
  auto choice = TopKOp::create(builder, location, values, values.clone(builder.getI32Type()), rows);
  return {choice.getValues(), choice.getIndices()};
}

RouteOp GraphBuilder::route(Value ids, int64_t experts) {
  RankedTensorType type = getType(ids);
  RankedTensorType rows = type.clone({type.getNumElements()});
  return RouteOp::create(builder, location, rows, rows, type, type.clone({experts + 1}), ids);
}

Value GraphBuilder::dispatch(Value rows, RouteOp route) {
  int64_t count = route.getTokens().getType().getDimSize(0);
  return DispatchOp::create(builder, location,
                            getType(rows).clone({count, getType(rows).getDimSize(1)}), rows,
                            route.getTokens(), route.getPlaces());
}

Value GraphBuilder::combine(Value rows, RouteOp route, Value weights) {
  int64_t tokens = route.getPlaces().getType().getDimSize(0);
  return CombineOp::create(builder, location,
                           getType(rows).clone({tokens, getType(rows).getDimSize(1)}), rows,
                           route.getPlaces(), route.getTokens(), route.getOrder(), weights);
}

Value GraphBuilder::groupedMatmul(Value rows, Value matrices, RouteOp route, bool transposeRhs,
                                  Value scales, Value minima) {
  RankedTensorType type = getType(rows).clone(
      {getType(rows).getDimSize(0), getType(matrices).getDimSize(transposeRhs ? 1 : 2)});
  return GroupedMatmulOp::create(builder, location, type, rows, matrices, route.getOffsets(),
                                 scales, minima, transposeRhs);
}

Value GraphBuilder::oneHot(Value ids, int64_t classes) {
  SmallVector<int64_t> shape(getType(ids).getShape());
  shape.push_back(classes);
  return OneHotOp::create(builder, location, RankedTensorType::get(shape, getF32()), ids);
}

Value GraphBuilder::batchMatmul(Value rows, Value matrices, bool transposeRhs) {
  ArrayRef<int64_t> shape = getType(matrices).getShape();
  int64_t groups = shape[0], count = getType(rows).getDimSize(0);
  SmallVector<int32_t> offsets;
  for (int64_t group = 0; group <= groups; ++group)
    offsets.push_back(static_cast<int32_t>(group * (count / groups)));
  auto type = RankedTensorType::get({groups + 1}, builder.getI32Type());
  Value all =
      ConstantOp::create(builder, location, type, DenseElementsAttr::get(type, ArrayRef(offsets)));
  auto result = getType(rows).clone({count, shape[transposeRhs ? 1 : 2]});
  return GroupedMatmulOp::create(builder, location, result, rows, matrices, all,
                                 /*scales=*/Value(), /*minima=*/Value(), transposeRhs);
}

Value GraphBuilder::positions(Value start, int64_t count) {
  return PositionsOp::create(builder, location,
                             getType(start).clone({getType(start).getDimSize(0), count}), start);
}

Value GraphBuilder::lastRow(Value rows, Value count) {
  ArrayRef<int64_t> shape = getType(rows).getShape();
  return LastRowOp::create(builder, location, getType(rows).clone({shape[0], shape[2]}), rows,
                           count);
}

Value GraphBuilder::sample(Value logits, const Sampling &options) {
  return SampleOp::create(builder, location, options.count.getType(), logits, options.temperature,
                          options.topK, options.topP, options.minP, options.seed, options.start,
                          options.count);
}

Value GraphBuilder::rmsNorm(Value x, Value weight, double eps) {
  return RmsNormOp::create(builder, location, x.getType(), x, weight, builder.getF64FloatAttr(eps));
}

Value GraphBuilder::layerNorm(Value x, Value weight, Value bias, double eps) {
  return LayerNormOp::create(builder, location, x.getType(), x, weight, bias,
                             builder.getF64FloatAttr(eps));
}

Value GraphBuilder::rotary(Value x, Value cos, Value sin, Value start, bool interleaved) {
  return RotaryOp::create(builder, location, x.getType(), x, cos, sin, start, interleaved);
}

Value GraphBuilder::cacheAppend(Value cache, Value rows, Value start, Value count) {
  return CacheAppendOp::create(builder, location, cache.getType(), cache, rows, start, count);
}

Value GraphBuilder::attention(Value query, Value key, Value value, Value start,
                              const Attention &options) {
  auto window = options.window ? builder.getI64IntegerAttr(options.window) : IntegerAttr();
  auto softcap = options.softcap ? builder.getF64FloatAttr(options.softcap) : FloatAttr();
  RankedTensorType type = getType(query);
  Type perRow;
  if (options.sinks)
    perRow = RankedTensorType::get(type.getShape().drop_back(), getF32());
  auto op = AttentionOp::create(
      builder, location, type, perRow, query, key, value, start, options.first, options.alibiSlopes,
      options.seed, /*key_scales=*/Value(), /*value_scales=*/Value(),
      builder.getF64FloatAttr(options.scale), builder.getUnitAttr(), window, softcap,
      builder.getF64FloatAttr(options.dropout), builder.getI64IntegerAttr(options.stream),
      /*whole=*/DenseI64ArrayAttr());
  if (!options.sinks)
    return op.getResult();
  // exp(sink) more in the denominator: of the weights exp(lse) / (exp(lse) + exp(sink)) is left.
  Value lse = op.getLogsumexp();
  Value sinks = broadcast(options.sinks, getType(lse).getShape(), {2});
  Value share = unary<SigmoidOp>(binary<SubOp>(lse, sinks));
  return mul(op.getResult(), broadcast(share, type.getShape(), {0, 1, 2}));
}

LinearAttentionOp GraphBuilder::linearAttention(Value query, Value key, Value value, Value decay,
                                                Value beta, double scale, Value state, Value start,
                                                Value count, bool additive) {
  Type next = state ? state.getType() : Type();
  return LinearAttentionOp::create(builder, location, value.getType(), next, query, key, value,
                                   decay, beta, state, start, count,
                                   builder.getF64FloatAttr(scale),
                                   additive ? builder.getUnitAttr() : UnitAttr());
}

Value GraphBuilder::linearCrossEntropy(Value hidden, Value weight, Value targets,
                                       const CrossEntropy &options) {
  RankedTensorType type = getType(hidden);
  auto softcap = options.softcap ? builder.getF64FloatAttr(options.softcap) : FloatAttr();
  return LinearCrossEntropyOp::create(
      builder, location, type.clone(type.getShape().drop_back()), hidden, weight, options.bias,
      targets, options.transposeWeight ? builder.getUnitAttr() : UnitAttr(), softcap,
      builder.getF64FloatAttr(options.zLoss), builder.getI64IntegerAttr(options.chunk));
}
