#include "compiler/Autodiff/Gradients.h"
#include "dialects/Sinter/AdjointBuilder.h"
#include "dialects/Sinter/Stage.h"

using namespace mlir;
using namespace sinter;

static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

Gradients::Gradients(Block &block, ArrayRef<BlockArgument> roots)
    : builder(OpBuilder::atBlockTerminator(&block)), location(builder.getUnknownLoc()),
      block(block) {
  active.insert(roots.begin(), roots.end());
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          active.insert(result);
}

LogicalResult Gradients::run() {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    bool reached = llvm::any_of(op->getResults(), [&](Value result) {
      return active.contains(result) && contributions.contains(result);
    });
    if (!reached)
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable || !differentiable.hasAdjoint())
      return op->emitError("expected every op between parameters and the loss to have an adjoint, "
                           "got ")
             << op->getName();
    location = inStage(Stage::Backward, op->getLoc());
    differentiable.buildAdjoint(*this);
  }
  return success();
}

void Gradients::add(Value value, Value gradient) {
  assert(value.getType() == gradient.getType() && "a gradient has its value's type");
  if (active.contains(value))
    contributions[value].whole.push_back(gradient);
}

void Gradients::addSlice(Value value, ArrayRef<int64_t> offsets, Value gradient) {
  if (active.contains(value))
    contributions[value].slices.push_back({SmallVector<int64_t>(offsets), gradient});
}

Value Gradients::concatenate(RankedTensorType type, ArrayRef<Slice> slices) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<Slice> sorted(slices);
    llvm::sort(sorted,
               [&](const Slice &a, const Slice &b) { return a.offsets[dim] < b.offsets[dim]; });
    int64_t end = 0;
    bool tiles = llvm::all_of(sorted, [&](const Slice &slice) {
      auto part = cast<RankedTensorType>(slice.gradient.getType());
      SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0);
      shape[dim] = part.getDimSize(dim);
      offsets[dim] = end;
      end += shape[dim];
      return part.getShape() == ArrayRef(shape) && slice.offsets == offsets;
    });
    if (!tiles || end != type.getDimSize(dim))
      continue;
    SmallVector<Value> parts;
    for (const Slice &slice : sorted)
      parts.push_back(slice.gradient);
    return AdjointBuilder(builder, location).concat(parts, dim);
  }
  return nullptr;
}

Value Gradients::pad(RankedTensorType type, const Slice &slice) {
  AdjointBuilder build(builder, location);
  Value padded = slice.gradient;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(padded.getType()).getShape());
    int64_t before = slice.offsets[dim], after = type.getDimSize(dim) - before - shape[dim];
    SmallVector<Value> parts;
    auto addZeros = [&](int64_t extent) {
      shape[dim] = extent;
      if (extent > 0)
        parts.push_back(build.splat(shape, type.getElementType(), 0.0));
    };
    addZeros(before);
    parts.push_back(padded);
    addZeros(after);
    padded = build.concat(parts, dim);
  }
  return padded;
}

Value Gradients::getGradient(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return nullptr;
  Contributions &parts = found->second;
  if (parts.sum)
    return parts.sum;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Value> terms = parts.whole;
  if (!parts.slices.empty()) {
    if (Value whole = concatenate(type, parts.slices))
      terms.push_back(whole);
    else
      for (const Slice &slice : parts.slices)
        terms.push_back(pad(type, slice));
  }
  AdjointBuilder build(builder, location);
  parts.sum = terms.front();
  for (Value term : ArrayRef(terms).drop_front())
    parts.sum = build.add(parts.sum, term);
  return parts.sum;
}
