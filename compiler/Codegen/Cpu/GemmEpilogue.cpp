#include "compiler/Codegen/Cpu/GemmEpilogue.h"

using namespace mlir;
using namespace sinter;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static int64_t countOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}
static int64_t product(ArrayRef<int64_t> shape) {
  int64_t result = 1;
  for (int64_t extent : shape)
    result *= extent;
  return result;
}

FailureOr<GemmEpilogue> GemmEpilogue::analyze(func::FuncOp kernel, MatmulOp matmul) {
  GemmEpilogue epilogue;
  epilogue.matmul = matmul;
  epilogue.rows = matmul.getM();
  auto terminator = cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  for (Value result : terminator.getOperands()) {
    int64_t count = countOf(result);
    int64_t columns = count / epilogue.rows;
    if (count % epilogue.rows != 0 || (epilogue.columns != 0 && epilogue.columns != columns))
      return kernel.emitError("expected results with the product's ")
             << epilogue.rows << " rows and equal columns, got " << result.getType();
    epilogue.columns = columns;
    Place place{getAffineDimExpr(0, kernel.getContext()), columns, 0, false};
    FailureOr<unsigned> node = epilogue.visit(result, place);
    if (failed(node))
      return failure();
    epilogue.results.push_back(*node);
  }
  llvm::sort(epilogue.productOffsets);
  if (epilogue.productOffsets.empty())
    return kernel.emitError("expected the results to depend on the matmul");
  return epilogue;
}

FailureOr<GemmEpilogue::Place> GemmEpilogue::throughBroadcast(BroadcastOp op,
                                                              const Place &place) const {
  ArrayRef<int64_t> shape = op.getType().getShape(), dims = op.getDims();
  ArrayRef<int64_t> source = shapeOf(op.getOperand());
  int64_t rank = shape.size(), sourceCount = product(source);
  AffineExpr zero = getAffineConstantExpr(0, op.getContext());
  if (sourceCount == 1)
    return Place{zero, 1, 0, true};
  // Trailing dimensions: the source is repeated; leading ones: each element is.
  bool trailing = true, leading = true;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    trailing &= dim == rank - static_cast<int64_t>(dims.size() - i);
    leading &= dim == static_cast<int64_t>(i);
  }
  if (trailing && !place.single && sourceCount % place.columns == 0) {
    int64_t sourceRows = sourceCount / place.columns;
    return Place{sourceRows == 1 ? zero : place.row % sourceRows, place.columns, place.offset,
                 false};
  }
  int64_t repeats = product(shape) / sourceCount;
  if (leading && !place.single && repeats % place.columns == 0)
    return Place{place.row.floorDiv(repeats / place.columns), 1, 0, true};
  if (leading && place.single)
    return Place{place.row.floorDiv(repeats), 1, 0, true};
  // In general: split the row into the result's leading dimensions and keep the source's.
  if (!place.single && shape.back() == place.columns) {
    AffineExpr row = zero, rest = place.row;
    SmallVector<AffineExpr> index(rank);
    for (int64_t i = rank - 2; i >= 0; --i) {
      index[i] = rest % shape[i];
      rest = rest.floorDiv(shape[i]);
    }
    bool keepsColumns = !dims.empty() && dims.back() == rank - 1;
    for (auto [dim, extent] : llvm::zip_equal(dims, source))
      if (dim != rank - 1)
        row = row * extent + index[dim];
    return Place{row, keepsColumns ? place.columns : 1, keepsColumns ? place.offset : 0,
                 !keepsColumns};
  }
  return op.emitError("expected a broadcast of whole rows or of one element a row, from ")
         << op.getOperand().getType() << " to " << op.getType();
}

FailureOr<GemmEpilogue::Place> GemmEpilogue::throughSlice(SliceOp op, const Place &place) const {
  ArrayRef<int64_t> shape = op.getType().getShape(), source = shapeOf(op.getOperand());
  bool fullRows = shape.drop_back() == source.drop_back() &&
                  llvm::all_of(op.getOffsets().drop_back(), [](int64_t o) { return o == 0; });
  if (place.single || shape.back() != place.columns || !fullRows)
    return op.emitError("expected a slice of columns, got ")
           << op.getOperand().getType() << " to " << op.getType();
  return Place{place.row, source.back(), place.offset + op.getOffsets().back(), false};
}

FailureOr<unsigned> GemmEpilogue::visit(Value value, Place place) {
  for (auto [i, node] : llvm::enumerate(nodes))
    if (node.value == value && node.place == place)
      return i;
  auto add = [&](Node node) -> unsigned {
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  };

  if (value == matmul.getResult()) {
    AffineExpr row = getAffineDimExpr(0, value.getContext());
    if (place.single || place.row != row || place.columns != matmul.getN())
      return matmul.emitError("expected the product's elements to be used in their own rows");
    if (!llvm::is_contained(productOffsets, place.offset))
      productOffsets.push_back(place.offset);
    return add({Kind::Product, value, place, {}});
  }
  if (isa<BlockArgument>(value)) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getEncoding() || !isa<FloatType>(type.getElementType()) ||
        type.getElementTypeBitWidth() > 32)
      return emitError(value.getLoc(), "expected an epilogue's input to be dense and of f32 or a "
                                       "16-bit type, got ")
             << type;
    return add({Kind::Argument, value, place, {}});
  }
  Operation *op = value.getDefiningOp();
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return visit(reshape.getOperand(), place);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    FailureOr<Place> source = throughBroadcast(broadcast, place);
    if (failed(source))
      return failure();
    return visit(broadcast.getOperand(), *source);
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    FailureOr<Place> source = throughSlice(slice, place);
    if (failed(source))
      return failure();
    return visit(slice.getOperand(), *source);
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat || !isa<FloatType>(splat.getElementType()))
      return op->emitError("expected a splat of floating-point numbers");
    bool lost;
    APFloat number = splat.getSplatValue<APFloat>();
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return add({Kind::Constant, value, place, {}, number.convertToDouble()});
  }
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  auto isFloat = [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); };
  if (!elementwise || !llvm::all_of(op->getOperandTypes(), isFloat) || !isFloat(value.getType()))
    return op->emitError("expected an elementwise, broadcast, reshape, slice or constant op on "
                         "floating-point numbers in a GEMM's epilogue");
  SmallVector<unsigned> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<unsigned> node = visit(operand, place);
    if (failed(node))
      return failure();
    operands.push_back(*node);
  }
  return add({Kind::Elementwise, value, place, std::move(operands)});
}

Value GemmEpilogue::offsetOf(VectorBuilder &builder, const Place &place, Value row,
                             Value column) const {
  Value linear = builder.mul(builder.apply(place.row, {row}), place.columns);
  return place.single ? linear : builder.add(builder.add(linear, column), place.offset);
}

void GemmEpilogue::prefetch(VectorBuilder &builder, ValueRange arguments, Value row, Value column,
                            int64_t count) const {
  auto ask = [&](Value memory, Value offset, bool isWrite) {
    int64_t line = 8 * kLineBytes / getElementTypeOrSelf(memory.getType()).getIntOrFloatBitWidth();
    for (int64_t i = 0; i < count; i += line)
      builder.prefetchLine(memory, builder.add(offset, i), isWrite);
  };
  for (const Node &node : nodes)
    // What all rows read stays in the cache.
    if (node.kind == Kind::Argument && !node.place.single &&
        !isa<AffineConstantExpr>(node.place.row))
      ask(arguments[cast<BlockArgument>(node.value).getArgNumber()],
          offsetOf(builder, node.place, row, column), /*isWrite=*/false);
  Value offset = builder.add(builder.mul(row, columns), column);
  for (Value memory : arguments.take_back(results.size()))
    ask(memory, offset, /*isWrite=*/true);
}

void GemmEpilogue::emit(VectorBuilder &builder, ValueRange arguments, Value row, Value column,
                        ValueRange product, Value mask) const {
  SmallVector<Value> values(nodes.size());
  for (auto [i, node] : llvm::enumerate(nodes)) {
    Type element = getElementTypeOrSelf(node.value.getType());
    switch (node.kind) {
    case Kind::Product: {
      auto *set = llvm::find(productOffsets, node.place.offset);
      values[i] = builder.roundTo(product[set - productOffsets.begin()], element);
      break;
    }
    case Kind::Argument: {
      Value memory = arguments[cast<BlockArgument>(node.value).getArgNumber()];
      Value offset = offsetOf(builder, node.place, row, column);
      values[i] = node.place.single ? builder.loadSplat(memory, offset)
                                    : builder.load(memory, offset, mask);
      break;
    }
    case Kind::Constant:
      values[i] = builder.splat(node.constant);
      break;
    case Kind::Elementwise: {
      SmallVector<Value> operands;
      for (unsigned operand : node.operands)
        operands.push_back(values[operand]);
      Operation *op = node.value.getDefiningOp();
      if (isa<CastOp>(op)) {
        values[i] = builder.roundTo(operands[0], element);
        break;
      }
      Value result = cast<ElementwiseOpInterface>(op).emitScalar(builder, op->getLoc(), operands);
      values[i] = builder.roundTo(result, element);
      break;
    }
    }
  }
  unsigned firstResult = arguments.size() - results.size();
  Value offset = builder.add(builder.mul(row, columns), column);
  for (auto [i, node] : llvm::enumerate(results))
    builder.store(values[node], arguments[firstResult + i], offset, mask);
}
