#include "frontends/Graph/ModelParts.h"

using namespace mlir;
using namespace sinter;

ModelParts::ModelParts(GraphBuilder &graph, const ModelSpec &spec, const GraphOptions &options,
                       bool trains)
    : graph(graph), spec(spec), options(options), trains(trains) {
  for (ParameterInfo &parameter : spec.getParameters())
    parameters.try_emplace(parameter.name, std::move(parameter));
}

Type ModelParts::getFloat(DType stored) {
  if (stored == DType::BF16)
    return BFloat16Type::get(graph.getContext());
  return stored == DType::F16 ? Type(Float16Type::get(graph.getContext())) : graph.getF32();
}

Value ModelParts::getParameter(const std::string &name, Shape shape) {
  auto known = options.parameterTypes.find(name);
  // What is trained is kept in f32, whatever it was stored in.
  Type type =
      trains || known == options.parameterTypes.end() ? graph.getF32() : getFloat(known->second);
  const ParameterInfo &parameter = parameters.at(name);
  return graph.getParameter(name, shape, type, parameter.initializer, /*values=*/{},
                            parameter.isFixed);
}

Value ModelParts::selectEntries(Value tensor, const WeightRef &ref, int64_t dim) {
  if (ref.isWhole())
    return tensor;
  SmallVector<int64_t> shape(cast<RankedTensorType>(tensor.getType()).getShape());
  if (ref.groups > 1) {
    shape[dim] = ref.stride;
    shape.insert(shape.begin() + dim, ref.groups);
    tensor = graph.reshape(tensor, shape);
    ++dim;
  }
  SmallVector<int64_t> offsets(shape.size(), 0);
  offsets[dim] = ref.begin;
  shape[dim] = ref.count;
  tensor = graph.slice(tensor, offsets, shape);
  if (ref.groups > 1) {
    shape[dim] *= ref.groups;
    shape.erase(shape.begin() + dim - 1);
    tensor = graph.reshape(tensor, shape);
  }
  return tensor;
}

ModelParts::ScaledMatrix ModelParts::getScaledMatrix(const std::string &name, int64_t rows,
                                                     int64_t columns, const IntegerFormat &format) {
  Type number = IntegerType::get(graph.getContext(), format.dtype == DType::I4 ? 4 : 8);
  if (format.dtype == DType::E4M3)
    number = Float8E4M3FNType::get(graph.getContext());
  auto getPart = [&](std::string_view suffix, int64_t width, Type type,
                     ArrayRef<int8_t> values = {}) {
    return graph.getParameter(name + std::string(suffix), {rows, width}, type, std::nullopt,
                              values);
  };
  int64_t groups = columns / format.group;
  ScaledMatrix matrix;
  matrix.numbers = getPart(integersSuffix, columns, number,
                           format.values ? ArrayRef<int8_t>(*format.values) : ArrayRef<int8_t>());
  matrix.scales = getPart(scalesSuffix, groups, getFloat(format.scaleType));
  if (format.hasMinima)
    matrix.minima = getPart(minimaSuffix, groups, graph.getF32());
  return matrix;
}

const IntegerFormat *ModelParts::findIntegerFormat(const std::string &name) const {
  auto found = options.integerFormats.find(name);
  return trains || found == options.integerFormats.end() ? nullptr : &found->second;
}

Value ModelParts::buildScaledProduct(Value x, const LinearSpec &linear,
                                     const IntegerFormat &format) {
  const WeightRef &ref = linear.weight;
  ScaledMatrix matrix = getScaledMatrix(ref.tensor, ref.tensorOut, linear.in, format);
  Value numbers = selectEntries(matrix.numbers, ref, 0);
  Value scales = selectEntries(matrix.scales, ref, 0), minima;
  if (matrix.minima)
    minima = selectEntries(matrix.minima, ref, 0);
  return graph.scaledMatmul(x, numbers, scales, minima, format.roundsRows);
}

Value ModelParts::buildProduct(Value x, const LinearSpec &linear) {
  const WeightRef &ref = linear.weight;
  if (const IntegerFormat *format = findIntegerFormat(ref.tensor))
    return buildScaledProduct(x, linear, *format);
  bool transposed = ref.layout == WeightRef::Layout::OutIn;
  SmallVector<int64_t, 2> shape = {linear.in, ref.tensorOut};
  if (transposed)
    std::swap(shape[0], shape[1]);
  Value weight = selectEntries(getParameter(ref.tensor, shape), ref, transposed ? 0 : 1);
  return graph.matmul(x, graph.cast(weight, graph.getF32()), transposed);
}

Value ModelParts::buildLinear(Value x, const LinearSpec &linear) {
  Value y = buildProduct(x, linear);
  if (linear.scale != 1)
    y = graph.scale(y, linear.scale);
  if (!linear.bias)
    return y;
  Value bias =
      selectEntries(getParameter(linear.bias->tensor, {linear.bias->tensorOut}), *linear.bias, 0);
  return graph.addToRows(y, graph.cast(bias, graph.getF32()));
}

Value ModelParts::getNormWeight(const NormSpec &norm) {
  if (norm.weight.empty() && norm.weightsOfHeads.empty())
    return graph.splat({norm.size}, 1.0);
  SmallVector<int64_t, 2> shape = {norm.size};
  if (norm.heads)
    shape = {norm.heads, norm.size};
  Value weight;
  if (norm.weightsOfHeads.empty()) {
    weight = getParameter(norm.weight, shape);
  } else {
    SmallVector<Value> rows;
    for (const std::string &name : norm.weightsOfHeads)
      rows.push_back(graph.reshape(getParameter(name, {norm.size}), {1, norm.size}));
    weight = rows.size() == 1 ? rows.front() : graph.concat(rows, 0);
  }
  weight = graph.cast(weight, graph.getF32());
  return spec.normUnitOffset ? graph.add(weight, graph.splat(shape, 1.0)) : weight;
}

Value ModelParts::buildNorm(Value x, const NormSpec &norm) {
  return buildNorm(x, norm, spec.normKind);
}

Value ModelParts::buildNorm(Value x, const NormSpec &norm, NormKind kind) {
  if (norm.heads && (!norm.weight.empty() || !norm.weightsOfHeads.empty())) {
    // Rows [..., heads, size] by factors of their own.
    NormSpec plain = {.name = norm.name, .size = norm.size};
    ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
    auto rank = static_cast<int64_t>(shape.size());
    Value weight = graph.broadcast(getNormWeight(norm), shape, {rank - 2, rank - 1});
    return graph.mul(buildNorm(x, plain, kind), weight);
  }
  Value weight = getNormWeight(norm);
  if (kind == NormKind::RmsNorm)
    return graph.rmsNorm(x, weight, spec.normEps);
  Value bias;
  if (!norm.bias.empty())
    bias = graph.cast(getParameter(norm.bias, {norm.size}), graph.getF32());
  return graph.layerNorm(x, weight, bias, spec.normEps);
}

Value ModelParts::buildNorm(Value x, const std::optional<NormSpec> &norm, const LayerSpec &layer) {
  if (!norm)
    return x;
  setLocation(layer, norm->name);
  return buildNorm(x, *norm);
}

void ModelParts::setLocation(const LayerSpec &layer, const std::string &part) {
  graph.setLocation(layer.path + "." + part);
}

Value ModelParts::buildLookup(const std::string &name, int64_t rows, int64_t width, Value ids,
                              int64_t offset, std::optional<int64_t> padding) {
  auto lookUp = [&](Value table) {
    int64_t columns = cast<RankedTensorType>(table.getType()).getDimSize(1);
    if (offset)
      table = graph.slice(table, {offset, 0}, {rows, columns});
    return graph.cast(graph.embedding(table, ids, padding), graph.getF32());
  };
  const IntegerFormat *format = findIntegerFormat(name);
  if (!format)
    return lookUp(getParameter(name, {rows + offset, width}));
  // Numbers of the chosen rows alone are made: a whole table of them is several times as large.
  ScaledMatrix matrix = getScaledMatrix(name, rows + offset, width, *format);
  SmallVector<int64_t> shape(cast<RankedTensorType>(ids.getType()).getShape()), dims, groups;
  for (size_t dim = 0; dim <= shape.size(); ++dim)
    dims.push_back(static_cast<int64_t>(dim));
  groups = shape;
  groups.append({width / format->group, format->group});
  shape.push_back(width);
  Value found = graph.reshape(lookUp(matrix.numbers), groups);
  found = graph.mul(found, graph.broadcast(lookUp(matrix.scales), groups, dims));
  if (matrix.minima)
    found = graph.add(found, graph.broadcast(lookUp(matrix.minima), groups, dims));
  return graph.reshape(found, shape);
}

Value ModelParts::buildActivation(Value x) {
  switch (spec.activation) {
  case Activation::Gelu:
    return graph.gelu(x, /*tanh=*/false);
  case Activation::GeluTanh:
    return graph.gelu(x, /*tanh=*/true);
  case Activation::Silu:
    return graph.unary<SiluOp>(x);
  case Activation::Relu:
    return graph.unary<ReluOp>(x);
  case Activation::Relu2: {
    Value positive = graph.unary<ReluOp>(x);
    return graph.mul(positive, positive);
  }
  case Activation::Xielu:
    llvm_unreachable("it has numbers of its layer: buildXielu");
  }
  llvm_unreachable("unknown activation");
}

Value ModelParts::buildXielu(Value x, const XieluSpec &xielu) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  auto getNumber = [&](const std::string &name) {
    return graph.softplus(graph.cast(getParameter(name, {1}), graph.getF32()));
  };
  auto spread = [&](Value number) { return graph.broadcast(graph.reshape(number, {}), shape, {}); };
  Value beta = graph.splat({1}, XieluSpec::beta);
  Value zero = graph.splat(shape, 0.0);
  Value above = graph.binary<MaximumOp>(x, zero), below = graph.binary<MinimumOp>(x, zero);
  Value square = graph.mul(spread(getNumber(xielu.positive)), graph.mul(above, above));
  Value rest = graph.binary<SubOp>(graph.unary<ExpOp>(below), graph.splat(shape, 1.0));
  rest = graph.mul(spread(graph.add(getNumber(xielu.negative), beta)),
                   graph.binary<SubOp>(rest, below));
  return graph.add(graph.add(square, rest), graph.scale(x, XieluSpec::beta));
}

Value ModelParts::clamp(Value x, std::optional<double> low, double high) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  x = graph.binary<MinimumOp>(x, graph.splat(shape, high));
  return low ? graph.binary<MaximumOp>(x, graph.splat(shape, *low)) : x;
}

Value ModelParts::buildGated(Value gate, Value up) {
  if (!spec.mlpLimit)
    return graph.mul(buildActivation(gate), up);
  // Agarwal et al., "gpt-oss-120b & gpt-oss-20b Model Card", 2025: SwiGLU that is clamped, steeper,
  // and adds the gate itself.
  gate = clamp(gate, std::nullopt, spec.mlpLimit);
  up = clamp(up, -spec.mlpLimit, spec.mlpLimit);
  Value open = graph.mul(gate, graph.unary<SigmoidOp>(graph.scale(gate, spec.gateSlope)));
  ArrayRef<int64_t> shape = cast<RankedTensorType>(up.getType()).getShape();
  return graph.mul(graph.add(up, graph.splat(shape, 1.0)), open);
}
