#include "compiler/Fusion/FusionRules.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/Recomputation.h"

using namespace mlir;
using namespace sinter;

using Ops = llvm::SetVector<Operation *>;

static bool isInside(Value value, const Ops &ops) {
  return value.getDefiningOp() && ops.contains(value.getDefiningOp());
}

static bool escapes(Value value, const Ops &ops) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !ops.contains(user); });
}

static bool escapes(Operation *op, const Ops &ops) {
  return llvm::any_of(op->getResults(), [&](Value result) { return escapes(result, ops); });
}

static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

/// Integers that products multiply by.
static bool isSmallInteger(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger(8) || element.isInteger(4);
}

/// A slice of the last dimension: whole rows stay where they are.
static bool isColumnSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && slice.getType().getShape().drop_back() ==
                      slice.getOperand().getType().getShape().drop_back();
}

/// Rows with others behind them: whole rows stay where they are.
static bool isColumnConcat(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && static_cast<int64_t>(concat.getDim()) == concat.getType().getRank() - 1;
}

/// A broadcast that repeats one value a row over the row.
static bool spreadsRows(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(i))
      return false;
  return true;
}

/// A broadcast of a scalar, or of rows over all other rows.
static bool isRowBroadcast(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  int64_t shift = broadcast.getType().getRank() - broadcast.getOperand().getType().getRank();
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(i) + shift)
      return broadcast.getOperand().getType().getNumElements() == 1;
  return true;
}

/// The ops that are reached from `roots` inside.
static llvm::SmallPtrSet<Operation *, 16> findDownstream(ArrayRef<Operation *> roots,
                                                         const Ops &ops) {
  llvm::SmallPtrSet<Operation *, 16> reached;
  SmallVector<Operation *> open(roots);
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers())
      if (ops.contains(user) && reached.insert(user).second)
        open.push_back(user);
  return reached;
}

/// Whether a slice of a product of panels begins where the columns of a work item do.
static bool startsAtItem(Operation *root, Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return !slice || !isa_and_nonnull<PanelsAttr>(typeOf(root->getOperand(1)).getEncoding()) ||
         slice.getOffsets().back() % kItemColumns == 0;
}

/// Whether a value is there only after the product: it is computed behind it, by more than moving
/// and elementwise work on what was there before.
static bool isComputedAfter(Value value, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !root->isBeforeInBlock(op) || !seen.insert(op).second)
      continue;
    FusionRole role = getRole(op);
    if (role != FusionRole::Elementwise && role != FusionRole::Index)
      return true;
    open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

static Classification classifyGemm(Operation *root, const Ops &ops) {
  if (llvm::any_of(root->getOperands(), [&](Value v) { return isInside(v, ops); }))
    return {std::nullopt, "a product reads its operands from memory"};
  auto downstream = findDownstream(root, ops);
  int64_t rows = getRows(root->getResult(0).getType()), columns = 0;
  for (Operation *op : ops) {
    if (op != root) {
      FusionRole role = getRole(op);
      if (role != FusionRole::Elementwise && role != FusionRole::Index)
        return {std::nullopt, "an epilogue is made of elementwise ops"};
      if (!isFloat(op->getResult(0).getType()) || !llvm::all_of(op->getOperandTypes(), isFloat))
        return {std::nullopt, "an epilogue computes on floating-point numbers"};
      if (role == FusionRole::Index && !isAlias(op) && !isColumnSlice(op) &&
          (downstream.contains(op) || !isRowBroadcast(op)))
        return {std::nullopt, "an epilogue needs the elements of its own rows"};
      if (downstream.contains(op) && !startsAtItem(root, op))
        return {std::nullopt, "columns of the product are not whole work items"};
      // In a sum of products each adds to those before it, in place; else they would all wait for
      // the last one.
      if (downstream.contains(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
            return !isInside(operand, ops) && isComputedAfter(operand, root);
          }))
        return {std::nullopt, "an epilogue reads what is there when the product is"};
      if (!downstream.contains(op) && isa<SliceOp>(op) &&
          typeOf(op->getResult(0)).getShape().back() !=
              typeOf(root->getResult(0)).getShape().back())
        return {std::nullopt, "an epilogue reads rows as long as the product's"};
    }
    if (!escapes(op, ops))
      continue;
    if (op != root && !downstream.contains(op))
      return {std::nullopt, "a result does not need the product"};
    int64_t count = typeOf(op->getResult(0)).getNumElements();
    if (count % rows != 0 || (columns != 0 && columns != count / rows))
      return {std::nullopt, "results of a product have its rows and equal columns"};
    columns = count / rows;
  }
  bool panels = isa_and_nonnull<PanelsAttr>(typeOf(root->getOperand(1)).getEncoding());
  if (!panels && !matchLibraryGemm(ops))
    return {std::nullopt, "the library has no such epilogue"};
  return {FusionKind::Gemm, {}};
}

static Classification classifyAttention(Operation *root, const Ops &ops) {
  auto downstream = findDownstream(root, ops);
  // The logsumexp, where there is one, is written beside the result, as it is.
  if (llvm::any_of(root->getResults().drop_front(), [&](Value value) {
        return llvm::any_of(value.getUsers(), [&](Operation *user) { return ops.contains(user); });
      }))
    return {std::nullopt, "attention's logsumexp is read from memory"};
  for (Operation *op : ops) {
    if (op == root)
      continue;
    bool moves = isAlias(op) || (isColumnSlice(op) && !downstream.contains(op));
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    bool rounds =
        isa<CastOp>(op) && downstream.contains(op) && (element.isF32() || element.isBF16());
    if (!moves && !rounds)
      return {std::nullopt, "attention takes rows as they are in memory"};
    // Queries, dense keys and dense values are read row by row, wherever the rows are.
    if (!downstream.contains(op) && llvm::any_of(op->getUses(), [&](OpOperand &use) {
          return use.getOwner() == root ? use.getOperandNumber() > 2
                                        : !ops.contains(use.getOwner());
        }))
      return {std::nullopt, "attention reads everything but rows from memory"};
  }
  unsigned results = llvm::count_if(ops, [&](Operation *op) {
    return op == root ? escapes(root->getResult(0), ops) : escapes(op, ops);
  });
  if (results > 1)
    return {std::nullopt, "attention has one result beside its logsumexp"};
  return {FusionKind::Attention, {}};
}

/// Reshapes and column slices of its rows, and the op.
static Classification classifyAttentionGrad(Operation *root, const Ops &ops) {
  // query, key, value and the result's gradient.
  constexpr unsigned rowOperands = 4;
  for (Operation *op : ops) {
    if (op == root)
      continue;
    // All that is read row by row may be a part of longer rows.
    bool rows = llvm::all_of(op->getUses(), [&](OpOperand &use) {
      return use.getOwner() == root ? use.getOperandNumber() < rowOperands
                                    : ops.contains(use.getOwner());
    });
    if (!rows || (!isAlias(op) && !isColumnSlice(op)))
      return {std::nullopt, "a gradient of attention takes rows as they are in memory"};
  }
  return {FusionKind::AttentionGrad, {}};
}

/// pack(concat?(transpose?(cast?(slice?)))), all of the ops and nothing else. In place of a slice
/// the cast may follow or precede a reshape to the matrix, of any dense tensor.
static Classification classifyPack(Operation *root, const Ops &ops) {
  constexpr StringRef reason = "packing takes slices, casts and transposes of matrices";
  unsigned used = 1;
  auto strip = [&](Value &value, auto matches) {
    if (!isInside(value, ops) || !matches(value.getDefiningOp()))
      return false;
    ++used;
    value = value.getDefiningOp()->getOperand(0);
    return true;
  };
  SmallVector<Value> sources{root->getOperand(0)};
  if (isInside(sources[0], ops) && isa<ConcatOp>(sources[0].getDefiningOp())) {
    auto concat = cast<ConcatOp>(sources[0].getDefiningOp());
    if (concat.getDim() != 1)
      return {std::nullopt, reason};
    ++used;
    sources.assign(concat.getOperands().begin(), concat.getOperands().end());
  }
  for (Value source : sources) {
    strip(source, [](Operation *op) { return isa<TransposeOp>(op); });
    if (typeOf(source).getRank() != 2)
      return {std::nullopt, reason};
    bool reshaped = strip(source, isAlias);
    strip(source, [](Operation *op) {
      return isa<CastOp>(op) && isFloat(op->getOperand(0).getType()) &&
             isFloat(op->getResult(0).getType());
    });
    reshaped |= strip(source, isAlias);
    if (!reshaped)
      // Part of an argument has an address of its own; part of what a step makes has none.
      strip(source, [](Operation *op) {
        return isa<SliceOp>(op) && isa<BlockArgument>(op->getOperand(0));
      });
    if (isInside(source, ops) ||
        (!isFloat(source.getType()) && !isSmallInteger(source.getType())) ||
        (!reshaped && typeOf(source).getRank() != 2))
      return {std::nullopt, reason};
  }
  bool oneResult =
      llvm::none_of(ops, [&](Operation *op) { return op != root && escapes(op, ops); });
  if (used != ops.size() || !oneResult)
    return {std::nullopt, reason};
  return {FusionKind::Pack, {}};
}

static Classification classifyRows(const Ops &ops) {
  SmallVector<Operation *> reductions;
  llvm::copy_if(ops, std::back_inserter(reductions), [](Operation *op) {
    return getRole(op) == FusionRole::RowReduction || getRole(op) == FusionRole::ColumnReduction;
  });
  auto reduced = findDownstream(reductions, ops);
  auto isReduced = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (reduced.contains(op) || llvm::is_contained(reductions, op));
  };
  for (Operation *op : ops) {
    switch (getRole(op)) {
    case FusionRole::Index:
      // Spreading a value a row over the row is what reductions are for; reshapes keep order.
      if (llvm::any_of(op->getOperands(), isReduced) && !isAlias(op) && !isColumnSlice(op) &&
          !isColumnConcat(op) && !spreadsRows(op))
        return {std::nullopt, "rows would be reduced again for every element"};
      // Loops over what is put together branch or are cut, and the order of a sum with them.
      if (isa<ConcatOp>(op)) {
        auto users = findDownstream(op, ops);
        if (llvm::any_of(reductions, [&](Operation *sum) { return users.contains(sum); }))
          return {std::nullopt, "rows that are reduced are put together before"};
      }
      break;
    case FusionRole::ColumnReduction:
      // A sum is there when the last row of its block has been added.
      for (Value result : op->getResults())
        if (isColumnSum(result) &&
            llvm::any_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
          return {std::nullopt, "sums of columns are read from memory"};
      break;
    case FusionRole::Gather: {
      // The operand that rows are chosen from has another shape than the result.
      Value chosen = op->getOperand(0);
      if (typeOf(chosen).getShape() != typeOf(op->getResult(0)).getShape() &&
          isInside(chosen, ops) && getRole(chosen.getDefiningOp()) != FusionRole::Index)
        return {std::nullopt, "rows are chosen from what is in memory"};
      break;
    }
    case FusionRole::Update: {
      auto update = cast<InPlaceOpInterface>(op);
      for (OpResult result : op->getResults()) {
        OpOperand *target = update.getInPlaceOperand(result);
        if (target && isInside(target->get(), ops))
          return {std::nullopt, "an update's memory comes from outside"};
        // Another op would see some rows before and some after the update.
        if (target && llvm::any_of(target->get().getUses(), [&](OpOperand &use) {
              return &use != target && ops.contains(use.getOwner());
            }))
          return {std::nullopt, "what is updated is read by another op"};
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
          return {std::nullopt, "what is updated is read from memory"};
      }
      break;
    }
    case FusionRole::Opaque:
      if (ops.size() > 1)
        return {std::nullopt, "the op runs alone"};
      break;
    default:
      break;
    }
  }
  if (!findRecomputation(ops).empty())
    return {std::nullopt, "a reduction would be computed again and again"};
  return {FusionKind::Rows, {}};
}

Classification sinter::classify(const Ops &ops) {
  Operation *contraction = nullptr, *attention = nullptr, *gradient = nullptr, *pack = nullptr;
  unsigned roots = 0;
  for (Operation *op : ops) {
    FusionRole role = getRole(op);
    if (role == FusionRole::Contraction)
      contraction = op;
    else if (role == FusionRole::Attention)
      attention = op;
    else if (role == FusionRole::AttentionGrad)
      gradient = op;
    else if (role == FusionRole::Opaque && op->getNumResults() == 1 &&
             typeOf(op->getResult(0)).getEncoding())
      pack = op;
    else
      continue;
    ++roots;
  }
  if (roots > 1)
    return {std::nullopt, "a kernel has one product, attention or packing"};
  if (contraction)
    return classifyGemm(contraction, ops);
  if (attention)
    return classifyAttention(attention, ops);
  if (gradient)
    return classifyAttentionGrad(gradient, ops);
  if (pack)
    return classifyPack(pack, ops);
  return classifyRows(ops);
}
