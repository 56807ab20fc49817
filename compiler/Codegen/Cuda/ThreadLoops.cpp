#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

scf::ForOp sinter::findItemLoop(func::FuncOp kernel) {
  if (kernel.isExternal() || kernel.getNumArguments() < 2)
    return nullptr;
  Value end = kernel.getArguments().back();
  for (auto loop : kernel.front().getOps<scf::ForOp>())
    if (loop.getUpperBound() == end)
      return loop;
  return nullptr;
}

SmallVector<ItemKernel> sinter::findItemKernels(ModuleOp module, ModuleOp code) {
  SmallVector<ItemKernel> found;
  for (auto kernel : code.getOps<func::FuncOp>())
    if (scf::ForOp itemLoop = findItemLoop(kernel)) {
      auto tensors = module.lookupSymbol<func::FuncOp>(kernel.getName());
      auto items = tensors ? tensors->getAttrOfType<IntegerAttr>(kGridAttribute) : nullptr;
      found.push_back({kernel, itemLoop, tensors, items});
    }
  return found;
}

Value sinter::divideItems(OpBuilder &builder, scf::ForOp itemLoop, int64_t parts) {
  builder.setInsertionPointToStart(itemLoop.getBody());
  Location loc = itemLoop.getLoc();
  AffineExpr dim = builder.getAffineDimExpr(0);
  Value number = itemLoop.getInductionVar();
  Value item = emitAffine(builder, loc, dim.floorDiv(parts), number),
        part = emitAffine(builder, loc, dim % parts, number);
  number.replaceUsesWithIf(item, [&](OpOperand &use) {
    return use.getOwner() != item.getDefiningOp() && use.getOwner() != part.getDefiningOp();
  });
  return part;
}

std::optional<LoopRange> sinter::getRange(scf::ForOp loop) {
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_One()))
    return std::nullopt;
  return LoopRange{lower.getSExtValue(), upper.getSExtValue()};
}

bool sinter::isSpread(Operation *op) { return op->hasAttr(kLanesAttribute); }

int64_t sinter::getLanes(scf::ForOp loop) {
  return loop->getAttrOfType<IntegerAttr>(kLanesAttribute).getInt();
}

std::optional<Access> Access::of(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return Access{op, load.getMemRef(), load.getIndices().front(), /*writes=*/false};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return Access{op, store.getMemRef(), store.getIndices().front(), /*writes=*/true};
  return std::nullopt;
}

void sinter::forAccesses(Operation *op, llvm::function_ref<void(const Access &)> visit) {
  op->walk([&](Operation *inner) {
    if (std::optional<Access> access = Access::of(inner))
      visit(*access);
  });
}

bool sinter::writesWhatIsRead(func::FuncOp kernel) {
  llvm::SmallPtrSet<BlockArgument, 4> stored, loaded;
  forAccesses(kernel, [&](const Access &access) {
    if (auto argument = dyn_cast<BlockArgument>(access.memory))
      (access.writes ? stored : loaded).insert(argument);
  });
  auto isAlone = [&](BlockArgument memory) {
    return !!kernel.getArgAttr(memory.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName());
  };
  return llvm::any_of(stored, [&](BlockArgument memory) {
    return llvm::any_of(loaded, [&](BlockArgument other) {
      return memory == other || (!isAlone(memory) && !isAlone(other));
    });
  });
}

/// What zero is divisible by here: more than any vector has lanes.
static constexpr int64_t kAnyPower = 1 << 20;

static int64_t getPowerOfTwo(int64_t value) { return value == 0 ? kAnyPower : value & -value; }

/// The power of two that an expression over operands is divisible by, as getDivisor says.
static int64_t getDivisor(AffineExpr expr, ValueRange operands, Value counter, int64_t step) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return getPowerOfTwo(number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getDivisor(operands[dim.getPosition()], counter, step);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = getDivisor(binary.getLHS(), operands, counter, step);
  int64_t right = getDivisor(binary.getRHS(), operands, counter, step);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mod:
    return std::min(left, right);
  case AffineExprKind::Mul:
    return std::min(left * right, kAnyPower);
  case AffineExprKind::FloorDiv: {
    int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    return divisor == right ? std::max<int64_t>(left / divisor, 1) : 1;
  }
  default:
    return 1;
  }
}

int64_t sinter::getDivisor(Value index, Value counter, int64_t step) {
  if (index == counter)
    return getPowerOfTwo(step);
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return getPowerOfTwo(constant.getSExtValue());
  Operation *op = index.getDefiningOp();
  auto ofOperand = [&](unsigned i) { return getDivisor(op->getOperand(i), counter, step); };
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::min(ofOperand(0), ofOperand(1));
  if (isa_and_nonnull<arith::MulIOp>(op))
    return std::min(ofOperand(0) * ofOperand(1), kAnyPower);
  auto apply = dyn_cast_or_null<affine::AffineApplyOp>(op);
  if (!apply)
    return 1;
  return ::getDivisor(apply.getAffineMap().getResult(0), apply.getMapOperands(), counter, step);
}

std::optional<int64_t> sinter::getLaneStride(Value index, Value counter, int64_t lanes) {
  std::optional<int64_t> stride = getStride(index, counter);
  auto apply = index.getDefiningOp<affine::AffineApplyOp>();
  if (stride || !apply)
    return stride;
  std::function<std::optional<int64_t>(AffineExpr)> ofExpr =
      [&](AffineExpr expr) -> std::optional<int64_t> {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return getLaneStride(apply.getMapOperands()[dim.getPosition()], counter, lanes);
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return 0;
    std::optional<int64_t> left = ofExpr(binary.getLHS()), right = ofExpr(binary.getRHS());
    if (!left || !right)
      return std::nullopt;
    if (expr.getKind() == AffineExprKind::Add)
      return *left + *right;
    if (*left == 0 && *right == 0)
      return 0;
    auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!number)
      return std::nullopt;
    if (expr.getKind() == AffineExprKind::Mul)
      return *left * number.getValue();
    // What is divided crosses no multiple of the divisor.
    int64_t room = std::min(::getDivisor(binary.getLHS(), apply.getMapOperands(), counter, lanes),
                            getPowerOfTwo(number.getValue()));
    bool stays = *left >= 0 && *left * (lanes - 1) < room;
    if (stays && expr.getKind() == AffineExprKind::FloorDiv)
      return 0;
    if (stays && expr.getKind() == AffineExprKind::Mod)
      return *left;
    return std::nullopt;
  };
  return ofExpr(apply.getAffineMap().getResult(0));
}

bool sinter::areEquivalent(Value a, Value counterA, Value b, Value counterB) {
  if (a == b)
    return !counterA || a != counterA || counterA == counterB;
  if (counterA && a == counterA)
    return b == counterB;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || left->getNumRegions() != 0 || !isMemoryEffectFree(left) ||
      left->getName() != right->getName() ||
      left->getAttrDictionary() != right->getAttrDictionary() ||
      left->getNumOperands() != right->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip_equal(left->getOperands(), right->getOperands()), [&](auto pair) {
    return areEquivalent(std::get<0>(pair), counterA, std::get<1>(pair), counterB);
  });
}
