#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/CostModel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using plan::PostOpKind;

static Type getElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

bool LibraryGemm::usesPanels() const {
  MatmulOp op = matmul;
  return isa_and_nonnull<PanelsAttr>(op.getRhs().getType().getEncoding());
}

bool LibraryGemm::fitsLibrary() const {
  if (usesPanels())
    return true;
  unsigned biases = 0, sums = 0, functions = 0;
  for (const LibraryPostOp &postOp : postOps) {
    if (functions > 0 || (postOp.operand && getElements(postOp.operand) != getElements(result)))
      return false;
    switch (postOp.kind) {
    case PostOpKind::Bias:
      ++biases;
      break;
    case PostOpKind::Add:
      ++sums;
      break;
    case PostOpKind::GeluTanh:
    case PostOpKind::Relu:
      ++functions;
      break;
    default:
      return false;
    }
  }
  return biases <= 1 && sums <= 1;
}

namespace {
/// Follows the chain from the product to the end.
class Matcher {
public:
  explicit Matcher(const llvm::SetVector<Operation *> &ops) : ops(ops) {}

  std::optional<LibraryGemm> match() {
    for (Operation *op : ops)
      if (getRole(op) == FusionRole::Contraction) {
        if (gemm.matmul)
          return std::nullopt;
        gemm.matmul = cast<MatmulOp>(op);
      }
    if (!gemm.matmul || !isSupportedProduct())
      return std::nullopt;
    visited.insert(gemm.matmul);
    gemm.result = gemm.matmul.getResult();
    while (Operation *next = getOnlyUser(gemm.result)) {
      if (!append(next))
        return std::nullopt;
      visited.insert(next);
      gemm.result = next->getResult(0);
    }
    bool all = llvm::all_of(ops, [&](Operation *op) { return visited.contains(op); });
    if (!all || failed || !isFromLibrary(getElements(gemm.result)))
      return std::nullopt;
    if (!gemm.fitsLibrary() && gemm.matmul.getM() > kFewProductRows)
      return std::nullopt;
    return std::move(gemm);
  }

private:
  bool isFromLibrary(Type type) const {
    return type.isF32() || type.isBF16() || (type.isF16() && !gemm.usesPanels());
  }

  bool isInside(Value value) const {
    return value.getDefiningOp() && ops.contains(value.getDefiningOp());
  }

  bool isSupportedProduct() {
    auto rhs = gemm.matmul.getRhs(), lhs = gemm.matmul.getLhs();
    if (!isFromLibrary(getElements(lhs)) || !getElements(gemm.matmul.getResult()).isF32() ||
        lhs.getType().getEncoding() || isInside(rhs) || isInside(lhs))
      return false;
    if (gemm.usesPanels())
      return !gemm.matmul.getTransposeRhs() && !gemm.matmul.getTransposeLhs();
    return !rhs.getType().getEncoding();
  }

  /// The user of a value that stays inside; null at the end of the chain. A value with users both
  /// inside and outside, or with several, is no link of a chain.
  Operation *getOnlyUser(Value value) {
    Operation *only = nullptr;
    bool outside = false;
    for (Operation *user : value.getUsers()) {
      failed |= only && only != user;
      if (ops.contains(user))
        only = user;
      else
        outside = true;
    }
    failed |= only && outside;
    return failed ? nullptr : only;
  }

  bool append(Operation *op) {
    Value result = op->getResult(0);
    auto unary = [&](PostOpKind kind) {
      gemm.postOps.push_back({kind, nullptr});
      return getElements(result).isF32();
    };
    // The last cast is the store's; getElements(result) of what follows it is not f32.
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<ReshapeOp>([&](auto) { return true; })
        .Case<CastOp>([&](CastOp cast) {
          return isFromLibrary(getElements(result)) && getElements(cast.getOperand()).isF32();
        })
        .Case<GeluOp>([&](GeluOp gelu) {
          return unary(gelu.getTanh() ? PostOpKind::GeluTanh : PostOpKind::Gelu);
        })
        .Case<SiluOp>([&](auto) { return unary(PostOpKind::Silu); })
        .Case<ReluOp>([&](auto) { return unary(PostOpKind::Relu); })
        .Case<AddOp>([&](auto) { return appendBinary(op, PostOpKind::Add); })
        .Case<MulOp>([&](auto) { return appendBinary(op, PostOpKind::Multiply); })
        .Default(false);
  }

  bool appendBinary(Operation *op, PostOpKind kind) {
    bool first = op->getOperand(0) == gemm.result;
    Value other = op->getOperand(first ? 1 : 0);
    if (other == gemm.result || !getElements(op->getResult(0)).isF32())
      return false;
    auto strip = [&] {
      while (isInside(other) && isa<ReshapeOp>(other.getDefiningOp())) {
        visited.insert(other.getDefiningOp());
        other = other.getDefiningOp()->getOperand(0);
      }
    };
    strip();
    if (isInside(other)) {
      auto broadcast = other.getDefiningOp<BroadcastOp>();
      if (!broadcast || kind != PostOpKind::Add || broadcast.getDims().size() != 1 ||
          broadcast.getDims()[0] != broadcast.getType().getRank() - 1)
        return false;
      visited.insert(broadcast);
      other = broadcast.getOperand();
      kind = PostOpKind::Bias;
      strip();
      // The library widens a bias of the result's type.
      if (auto wide = other.getDefiningOp<CastOp>();
          wide && isInside(other) && getElements(wide.getOperand()).getIntOrFloatBitWidth() == 16) {
        visited.insert(wide);
        other = wide.getOperand();
      }
    }
    auto type = cast<RankedTensorType>(other.getType());
    if (isInside(other) || type.getEncoding() || !isFromLibrary(type.getElementType()) ||
        (other.getDefiningOp() && isSplatConstant(other.getDefiningOp())))
      return false;
    gemm.postOps.push_back({kind, other});
    return true;
  }

  const llvm::SetVector<Operation *> &ops;
  llvm::SmallPtrSet<Operation *, 8> visited;
  LibraryGemm gemm;
  bool failed = false;
};
} // namespace

std::optional<LibraryGemm> sinter::matchLibraryGemm(const llvm::SetVector<Operation *> &ops) {
  return Matcher(ops).match();
}

std::optional<LibraryGemm> sinter::matchLibraryGemm(FusionOp fusion) {
  llvm::SetVector<Operation *> ops;
  for (Operation &op : fusion.getBlock()->without_terminator())
    ops.insert(&op);
  return matchLibraryGemm(ops);
}
