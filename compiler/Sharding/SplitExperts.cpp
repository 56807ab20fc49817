#include "compiler/Analysis/CostModel.h"
#include "compiler/Sharding/AssignLoops.h"
#include "compiler/Sharding/FusedParts.h"
#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Sharding/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_SPLITEXPERTSPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static bool isGrouped(Operation *op) { return op && getRole(op) == FusionRole::GroupedContraction; }

/// What a value is a cast of, or the value.
static Value skipCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast ? cast.getOperand() : value;
}

/// The parts that a value, or what it is a cast of, is put together from along a dimension.
static std::optional<Segments> findJoined(Value value, int64_t dim) {
  auto concat = skipCast(value).getDefiningOp<ConcatOp>();
  if (!concat || static_cast<int64_t>(concat.getDim()) != dim || concat.getNumOperands() == 1)
    return std::nullopt;
  Segments segments{dim, {}};
  for (Value part : concat.getOperands())
    segments.extents.push_back(typeOf(part).getDimSize(dim));
  return segments;
}

namespace {
/// Rewrites an entry, op by op from front to back.
class ExpertParts {
public:
  ExpertParts(func::FuncOp function, int64_t ranks)
      : function(function), ranks(ranks), builder(function.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      builder.setInsertionPoint(&op);
      if (auto reshape = dyn_cast<ReshapeOp>(op))
        stackEach(reshape);
      else if (auto slice = dyn_cast<SliceOp>(op))
        takeOfExpert(slice);
      else if (isGrouped(&op) && !splitByReaders(&op))
        splitByOperands(&op);
    }
    eraseDeadOps(function.front());
  }

private:
  /// Makes an op in the place of one that is the cause, done again where that is.
  template <typename Op, typename... Args> Op make(Operation *cause, Args &&...args) {
    auto op = Op::create(builder, cause->getLoc(), std::forward<Args>(args)...);
    if (Attribute again = cause->getAttr(SinterDialect::kRecompute))
      op->setAttr(SinterDialect::kRecompute, again);
    return op;
  }

  /// Matrices `[rows, k]` below each other, read as `[experts, columns, k]`: each is `[1, rows,
  /// k]`, the first ones of all experts are a stack, and so are the second ones.
  void stackEach(ReshapeOp reshape) {
    RankedTensorType type = reshape.getType();
    auto concat = skipCast(reshape.getOperand()).getDefiningOp<ConcatOp>();
    if (!llvm::any_of(reshape->getUsers(), isGrouped) || !concat || concat.getDim() != 0 ||
        concat.getType().getRank() != 2 || type.getRank() != 3 ||
        concat.getType().getDimSize(1) != type.getDimSize(2) ||
        !llvm::all_equal(concat->getOperandTypes()))
      return;
    RankedTensorType matrix = typeOf(concat.getOperands().front());
    int64_t experts = type.getDimSize(0), rows = matrix.getDimSize(0), k = matrix.getDimSize(1);
    if (type.getDimSize(1) % rows != 0)
      return;
    size_t ofExpert = type.getDimSize(1) / rows;
    SmallVector<SmallVector<Value>> matrices(ofExpert);
    for (auto [i, value] : llvm::enumerate(concat.getOperands()))
      matrices[i % ofExpert].push_back(make<ReshapeOp>(reshape, matrix.clone({1, rows, k}), value));
    SmallVector<Value> stacks;
    for (ArrayRef<Value> own : matrices) {
      Value stack = make<ConcatOp>(reshape, matrix.clone({experts, rows, k}), own, /*dim=*/0);
      if (type.getElementType() != matrix.getElementType())
        stack = make<CastOp>(reshape, type.clone({experts, rows, k}), stack);
      stacks.push_back(stack);
    }
    reshape.replaceAllUsesWith(stacks.size() == 1
                                   ? stacks.front()
                                   : Value(make<ConcatOp>(reshape, type, stacks, /*dim=*/1)));
  }

  /// A product whose columns are read in parts is one for each of them.
  bool splitByReaders(Operation *product) {
    Value result = product->getResult(0);
    SmallVector<SliceOp> readers;
    for (Operation *user : result.getUsers())
      readers.push_back(dyn_cast<SliceOp>(user));
    int64_t dim = typeOf(result).getRank() - 1;
    if (llvm::is_contained(readers, SliceOp()))
      return false;
    std::optional<Segments> segments = findParts(typeOf(result), dim, readers);
    if (!segments || !mayHaveParts(product, *segments))
      return false;
    SmallVector<Value> parts = makeParts(product, *segments);
    for (SliceOp reader : readers)
      for (auto [i, part] : llvm::enumerate(parts))
        if (reader.getOffsets() == ArrayRef(segments->getOffsets(dim + 1, i)))
          reader.replaceAllUsesWith(part);
    return true;
  }

  /// A product of what is put together from parts, along a dimension of its result, is put together
  /// from a product for each.
  void splitByOperands(Operation *product) {
    LoopNest nest = cast<ShardableOpInterface>(product).getLoopNest();
    RankedTensorType type = typeOf(product->getResult(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      unsigned loop = getLoop(nest, product->getNumOperands(), dim);
      for (auto [i, operand] : llvm::enumerate(product->getOperands())) {
        std::optional<int64_t> of = findDim(nest, i, loop);
        std::optional<Segments> segments = of ? findJoined(operand, *of) : std::nullopt;
        if (!segments || nest.loops[loop] != LoopKind::Parallel)
          continue;
        segments->dim = dim;
        // What is kept as one tensor is split as one where its parts do not divide.
        if (!divides(*segments) && !llvm::all_of(product->getUsers(), llvm::IsaPred<ReshapeOp>))
          continue;
        SmallVector<Value> parts = makeParts(product, *segments);
        product->getResult(0).replaceAllUsesWith(make<ConcatOp>(product, type, parts, dim));
        return;
      }
    }
  }

  /// Rows of one expert's matrix, where the matrices of all are below each other.
  void takeOfExpert(SliceOp slice) {
    auto below = slice.getOperand().getDefiningOp<ReshapeOp>();
    RankedTensorType type = slice.getType();
    if (!below || typeOf(below.getOperand()).getRank() != 3 || type.getRank() != 2 ||
        type.getDimSize(1) != typeOf(below.getOperand()).getDimSize(2))
      return;
    Value stack = below.getOperand();
    int64_t ofExpert = typeOf(stack).getDimSize(1), rows = type.getDimSize(0);
    int64_t expert = slice.getOffsets()[0] / ofExpert, row = slice.getOffsets()[0] % ofExpert;
    if (auto joined = findJoined(stack, 1)) {
      auto concat = stack.getDefiningOp<ConcatOp>();
      size_t part = 0;
      for (; concat && row >= joined->extents[part]; ++part)
        row -= joined->extents[part];
      stack = concat ? concat.getOperands()[part] : stack;
    }
    if (!isGrouped(stack.getDefiningOp()) || row + rows > typeOf(stack).getDimSize(1))
      return;
    auto box = make<SliceOp>(slice, type.clone({1, rows, type.getDimSize(1)}), stack,
                             ArrayRef<int64_t>{expert, row, 0});
    slice.replaceAllUsesWith(make<ReshapeOp>(slice, type, box).getResult());
  }

  bool divides(const Segments &segments) const {
    return llvm::all_of(segments.extents, [&](int64_t extent) { return extent % ranks == 0; });
  }

  /// Whether what a product has along its result's parts is there in parts, or can be sliced so
  /// that each divides over the ranks; a matrix of other parts is split as the one that it is.
  bool mayHaveParts(Operation *product, const Segments &segments) const {
    LoopNest nest = cast<ShardableOpInterface>(product).getLoopNest();
    unsigned loop = getLoop(nest, product->getNumOperands(), segments.dim);
    if (nest.loops[loop] != LoopKind::Parallel)
      return false;
    return divides(segments) || llvm::all_of(llvm::enumerate(product->getOperands()), [&](auto it) {
             std::optional<int64_t> dim = findDim(nest, it.index(), loop);
             std::optional<Segments> joined = dim ? findJoined(it.value(), *dim) : std::nullopt;
             return !dim || (joined && joined->extents == segments.extents);
           });
  }

  /// A product for each part of its result.
  SmallVector<Value> makeParts(Operation *product, const Segments &segments) {
    LoopNest nest = cast<ShardableOpInterface>(product).getLoopNest();
    unsigned loop = getLoop(nest, product->getNumOperands(), segments.dim);
    SmallVector<Value> parts;
    for (size_t part = 0; part < segments.extents.size(); ++part) {
      SmallVector<Value> operands;
      for (auto [i, operand] : llvm::enumerate(product->getOperands())) {
        std::optional<int64_t> dim = findDim(nest, i, loop);
        operands.push_back(dim ? takePart(product, operand, {*dim, segments.extents}, part)
                               : operand);
      }
      Operation *own = builder.clone(*product);
      own->setOperands(operands);
      own->getResult(0).setType(segments.getPart(typeOf(product->getResult(0)), part));
      parts.push_back(own->getResult(0));
    }
    return parts;
  }

  Value takePart(Operation *product, Value value, const Segments &segments, size_t part) {
    Value source = skipCast(value), own;
    if (findJoined(source, segments.dim) == segments)
      own = source.getDefiningOp()->getOperand(part);
    else
      own = make<SliceOp>(product, segments.getPart(typeOf(source), part), source,
                          segments.getOffsets(typeOf(source).getRank(), part));
    if (source == value)
      return own;
    return make<CastOp>(product, segments.getPart(typeOf(value), part), own);
  }

  func::FuncOp function;
  int64_t ranks;
  OpBuilder builder;
};

struct SplitExpertsPass : sinter::impl::SplitExpertsPassBase<SplitExpertsPass> {
  using SplitExpertsPassBase::SplitExpertsPassBase;

  void runOnOperation() override {
    GridAttr grid = GridAttr::lookup(getOperation());
    int64_t ranks = grid ? grid.getSize(getColumnAxis(grid)) : 1;
    if (ranks == 1)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) &&
          llvm::any_of(function.front(), [](Operation &op) { return isGrouped(&op); }))
        ExpertParts(function, ranks).run();
  }
};
} // namespace
