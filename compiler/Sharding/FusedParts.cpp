#include "compiler/Sharding/FusedParts.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Sharding/AssignLoops.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace sinter;

bool Segments::tile(Type type) const {
  auto whole = dyn_cast<RankedTensorType>(type);
  return whole && whole.getRank() > dim && whole.getRank() > 1 &&
         std::accumulate(extents.begin(), extents.end(), int64_t(0)) == whole.getDimSize(dim);
}

RankedTensorType Segments::getPart(RankedTensorType whole, size_t part) const {
  SmallVector<int64_t> shape(whole.getShape());
  shape[dim] = extents[part];
  return whole.clone(shape);
}

SmallVector<int64_t> Segments::getOffsets(int64_t rank, size_t part) const {
  SmallVector<int64_t> offsets(rank, 0);
  for (int64_t extent : ArrayRef(extents).take_front(part))
    offsets[dim] += extent;
  return offsets;
}

std::optional<Segments> sinter::findParts(RankedTensorType whole, int64_t dim,
                                          ArrayRef<SliceOp> slices) {
  std::map<int64_t, int64_t> ends;
  for (SliceOp slice : slices) {
    int64_t begin = slice.getOffsets()[dim], end = begin + slice.getType().getDimSize(dim);
    for (int64_t other = 0; other < whole.getRank(); ++other)
      if (other != dim && slice.getType().getDimSize(other) != whole.getDimSize(other))
        return std::nullopt;
    if (ends.try_emplace(begin, end).first->second != end)
      return std::nullopt;
  }
  Segments segments{dim, {}};
  int64_t next = 0;
  for (auto [begin, end] : ends) {
    if (begin != next)
      return std::nullopt;
    segments.extents.push_back(end - begin);
    next = end;
  }
  if (segments.extents.size() < 2 || next != whole.getDimSize(dim))
    return std::nullopt;
  return segments;
}

void FusedParts::run() {
  addArguments();
  for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
    visit(&op);
  setResults();
  joinParts();
  function.setFunctionType(builder.getFunctionType(
      function.front().getArgumentTypes(), function.front().getTerminator()->getOperandTypes()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// What a part of a state says of itself.
static DictionaryAttr describePart(DictionaryAttr state, RankedTensorType whole,
                                   const Segments &segments, size_t part) {
  MLIRContext *context = whole.getContext();
  auto name = state.getAs<StringAttr>(SinterDialect::kState);
  SmallVector<int64_t> offsets = segments.getOffsets(whole.getRank(), part);
  std::string box;
  for (auto [offset, extent] : llvm::zip_equal(offsets, segments.getPart(whole, part).getShape()))
    box +=
        (box.empty() ? "" : ", ") + std::to_string(offset) + ":" + std::to_string(offset + extent);
  NamedAttrList own(state);
  own.set(SinterDialect::kState, StringAttr::get(context, name.getValue() + "[" + box + "]"));
  own.set(SinterDialect::kBox, BoxAttr::get(context, name, whole, offsets));
  return own.getDictionary(context);
}

void FusedParts::addArguments() {
  Block &block = function.front();
  // All at once: thousands of them would be copied for each.
  SmallVector<DictionaryAttr> known;
  function.getAllArgAttrs(known);
  for (auto [argument, attributes] :
       llvm::zip_equal(llvm::to_vector(block.getArguments()), known)) {
    const Segments *segments = findSegments(attributes);
    if (!segments || !segments->tile(argument.getType())) {
      argumentAttributes.push_back(attributes);
      continue;
    }
    RankedTensorType whole = typeOf(argument);
    Parts &parts = split[argument] = {*segments, {}};
    for (size_t i = 0; i < segments->extents.size(); ++i) {
      argumentAttributes.push_back(describePart(attributes, whole, *segments, i));
      parts.values.push_back(block.insertArgument(argument.getArgNumber() + 1 + i,
                                                  segments->getPart(whole, i), argument.getLoc()));
    }
  }
}

void FusedParts::setResults() {
  Operation *last = function.front().getTerminator();
  builder.setInsertionPoint(last);
  SmallVector<DictionaryAttr> known;
  function.getAllResultAttrs(known);
  SmallVector<Value> values;
  SmallVector<int64_t> places; // of what was returned
  for (auto [value, attributes] : llvm::zip_equal(llvm::to_vector(last->getOperands()), known)) {
    places.push_back(static_cast<int64_t>(values.size()));
    const Segments *segments = findSegments(attributes);
    if (!segments || !segments->tile(value.getType())) {
      resultAttributes.push_back(attributes);
      values.push_back(value);
      continue;
    }
    for (size_t i = 0; i < segments->extents.size(); ++i) {
      resultAttributes.push_back(describePart(attributes, typeOf(value), *segments, i));
      values.push_back(takePart(value, *segments, i));
    }
  }
  last->setOperands(values);
  // Donations refer to results by position.
  for (DictionaryAttr &attributes : argumentAttributes) {
    auto donated = attributes ? attributes.getAs<IntegerAttr>(SinterDialect::kDonated) : nullptr;
    if (!donated)
      continue;
    int64_t place = places[donated.getInt()];
    while (resultAttributes[place].get(SinterDialect::kState) !=
           attributes.get(SinterDialect::kState))
      ++place;
    NamedAttrList own(attributes);
    own.set(SinterDialect::kDonated, builder.getI64IntegerAttr(place));
    attributes = own.getDictionary(function.getContext());
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The nest of an op of which parts are independent, along whatever dimension.
static std::optional<LoopNest> findIndependentNest(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable || isa<ShardOp>(op))
    return std::nullopt;
  LoopNest nest = shardable.getLoopNest();
  bool isIndependent = !nest.placed && llvm::all_of(nest.loops, [](LoopKind kind) {
    return kind == LoopKind::Parallel;
  });
  return isIndependent ? std::optional(nest) : std::nullopt;
}

void FusedParts::visit(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (auto known = split.find(slice.getOperand()); known != split.end())
      for (auto [i, part] : llvm::enumerate(known->second.values))
        if (part.getType() == slice.getType() &&
            slice.getOffsets() ==
                ArrayRef(known->second.segments.getOffsets(slice.getType().getRank(), i)))
          slice.replaceAllUsesWith(part);
    return;
  }
  std::optional<LoopNest> nest = findIndependentNest(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (auto known = split.find(operand); nest && known != split.end())
      return doForEach(op, *nest, getLoop(*nest, i, known->second.segments.dim),
                       known->second.segments.extents);
}

void FusedParts::doForEach(Operation *op, const LoopNest &nest, unsigned loop,
                           ArrayRef<int64_t> extents) {
  unsigned operands = op->getNumOperands();
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    if (!findDim(nest, operands + i, loop))
      return;
  builder.setInsertionPoint(op);
  SmallVector<Parts> results;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    results.push_back({{*findDim(nest, operands + i, loop), SmallVector<int64_t>(extents)}, {}});
  for (size_t part = 0; part < extents.size(); ++part) {
    Operation *own = makePart(op, nest, loop, extents, part);
    for (auto [result, value] : llvm::zip_equal(results, own->getResults()))
      result.values.push_back(value);
  }
  for (auto [result, parts] : llvm::zip_equal(op->getResults(), results))
    split[result] = parts;
}

Operation *FusedParts::makePart(Operation *op, const LoopNest &nest, unsigned loop,
                                ArrayRef<int64_t> extents, size_t part) {
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<int64_t> dim = findDim(nest, i, loop);
    operands.push_back(dim ? takePart(operand, {*dim, SmallVector<int64_t>(extents)}, part)
                           : operand);
  }
  Operation *own = builder.clone(*op);
  own->setOperands(operands);
  for (auto [i, result] : llvm::enumerate(own->getResults())) {
    Segments segments{*findDim(nest, op->getNumOperands() + i, loop),
                      SmallVector<int64_t>(extents)};
    result.setType(segments.getPart(typeOf(result), part));
  }
  return own;
}

Value FusedParts::takePart(Value value, const Segments &segments, size_t part) {
  if (auto known = split.find(value); known != split.end() && known->second.segments == segments)
    return known->second.values[part];
  RankedTensorType whole = typeOf(value), type = segments.getPart(whole, part);
  Operation *op = value.getDefiningOp();
  if (auto concat = dyn_cast_or_null<ConcatOp>(op);
      concat && static_cast<int64_t>(concat.getDim()) == segments.dim &&
      llvm::equal(concat.getOperands(), segments.extents, [&](Value operand, int64_t extent) {
        return typeOf(operand).getDimSize(segments.dim) == extent;
      }))
    return concat.getOperands()[part];
  if (auto constant = dyn_cast_or_null<ConstantOp>(op); constant && isSplatConstant(constant))
    return ConstantOp::create(builder, value.getLoc(), type,
                              cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  // What nothing else needs is made in parts, and what repeats a few elements.
  std::optional<LoopNest> nest = op ? findIndependentNest(op) : std::nullopt;
  if (nest && op->getNumResults() == 1 && (value.hasOneUse() || isa<BroadcastOp>(op)))
    return makePart(op, *nest, getLoop(*nest, op->getNumOperands(), segments.dim), segments.extents,
                    part)
        ->getResult(0);
  return SliceOp::create(builder, value.getLoc(), type, value,
                         segments.getOffsets(whole.getRank(), part));
}

/// What needs all of a value that is in parts has them put together.
void FusedParts::joinParts() {
  for (auto &[value, parts] : split) {
    if (value.use_empty())
      continue;
    builder.setInsertionPointAfterValue(parts.values.back());
    Value whole =
        ConcatOp::create(builder, value.getLoc(), typeOf(value), parts.values, parts.segments.dim);
    value.replaceAllUsesWith(whole);
  }
  Block &block = function.front();
  for (Operation *op = block.getTerminator()->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
  block.eraseArguments([&](BlockArgument argument) { return split.contains(argument); });
}
