#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/Bias.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/Target.h"

using namespace mlir;
using namespace sinter;
using plan::PostOpKind;

/// Processors of an H200, as the templates reckon for any machine.
static constexpr int64_t kProcessors = 132;

int64_t sinter::getGemvRowBytes(MatmulOp matmul) {
  int64_t width = getElementTypeOrSelf(matmul.getLhs()).getIntOrFloatBitWidth() / 8;
  return matmul.getM() * llvm::alignTo(matmul.getK() * width, 16);
}

/// A block of a GEMV with a ring, and what has it alone on a processor: more than half of the
/// shared memory, where that is 228 KiB or less.
static constexpr int64_t kRingThreads = 512, kRingWarps = kRingThreads / 32, kRingShared = 116000;

/// A block a processor of weights that are stored transposed: see gemv.cuh.
static GemvLaunch launchTransposed(MatmulOp matmul) {
  int64_t columns = matmul.getM() <= 2 ? 2 : 4;
  int64_t step = 512 * 8 / getElementTypeOrSelf(matmul.getLhs()).getIntOrFloatBitWidth();
  TargetAttr target = TargetAttr::lookup(matmul);
  GemvLaunch launch;
  launch.threads = kRingThreads;
  launch.sharedBytes = target ? std::min(kRingShared, target.getL1Bytes()) : kRingShared;
  int64_t least = 0;
  for (int64_t splits = 1; splits <= kRingWarps; splits *= 2) {
    int64_t groups = llvm::divideCeil(matmul.getN(), kRingWarps * columns / splits);
    int64_t rounds = llvm::divideCeil(groups, kProcessors);
    int64_t steps = rounds * (llvm::divideCeil(matmul.getK(), splits * step) + 1);
    if (least != 0 && steps >= least)
      continue;
    least = steps;
    launch.blocks = llvm::divideCeil(groups, rounds);
  }
  return launch;
}

/// A block a processor of weights that are integers in groups of whole segments of 32, if a row of
/// them fits shared memory as fixed point: see gemv_integers.cuh.
static std::optional<GemvLaunch> launchFixedPoint(MatmulOp matmul) {
  constexpr int64_t segment = 32, rows = 16, stage = kRingWarps * rows * 64, fewestStages = 3;
  // What a template has besides, and the machine.
  constexpr int64_t reserved = 1 << 10;
  auto integers = dyn_cast<IntegerType>(getElementTypeOrSelf(matmul.getRhs()));
  if (!integers || matmul.getRowScales() || matmul.getGroup() % segment != 0)
    return std::nullopt;
  int64_t k = matmul.getK(), span = 64 * 8 / integers.getWidth();
  int64_t digits = 3 * (llvm::alignTo(k, 128) + segment);
  int64_t units = (matmul.getMinima() ? 2 : 1) * 4 * k / segment;
  int64_t row = digits + units + 2 * kRingWarps * rows * 4;
  TargetAttr target = TargetAttr::lookup(matmul);
  int64_t most = target ? target.getL1Bytes() - reserved : kRingShared;
  if (row + fewestStages * stage > most)
    return std::nullopt;
  GemvLaunch launch;
  launch.isFixedPoint = true;
  launch.threads = kRingThreads;
  launch.sharedBytes =
      std::min(most, std::max(kRingShared, matmul.getM() * row + 2 * fewestStages * stage));
  int64_t least = 0;
  for (int64_t splits = 1; splits <= kRingWarps; splits *= 2) {
    int64_t groups = llvm::divideCeil(matmul.getN(), rows * kRingWarps / splits);
    int64_t rounds = llvm::divideCeil(groups, kProcessors);
    int64_t cost = rounds * (4 * llvm::divideCeil(k, splits * span) + 1);
    if (least != 0 && cost > least)
      continue;
    least = cost;
    launch.blocks = llvm::divideCeil(groups, rounds);
  }
  return launch;
}

/// The same where weights are not transposed, or other integers: blocks of groups of columns.
static GemvLaunch launchGroups(MatmulOp matmul, bool normalizes) {
  int64_t columns = matmul.getM() <= 2 ? 2 : 4, splits = 1;
  auto countGroups = [&](int64_t columns) {
    return static_cast<int64_t>(
        llvm::divideCeil(matmul.getN(), matmul.getTransposeRhs() ? 4 * columns / splits : 32));
  };
  // Sums over integers are split alike for any number of rows.
  while (matmul.getScales() && splits < 4 && countGroups(2) < 2 * kProcessors)
    splits *= 2;
  GemvLaunch launch;
  launch.blocks = countGroups(columns);
  launch.threads = matmul.getTransposeRhs() ? 128 : 256;
  if (normalizes) {
    launch.blocks =
        llvm::divideCeil(launch.blocks, llvm::divideCeil(launch.blocks, 4 * kProcessors));
    launch.sharedBytes = getGemvRowBytes(matmul);
  }
  return launch;
}

GemvLaunch sinter::getGemvLaunch(MatmulOp matmul, bool normalizes) {
  if (std::optional<GemvLaunch> launch = launchFixedPoint(matmul))
    return *launch;
  return matmul.getTransposeRhs() && !matmul.getScales() ? launchTransposed(matmul)
                                                         : launchGroups(matmul, normalizes);
}

Value LibraryGemm::getLhs() const {
  MatmulOp op = matmul;
  return norm ? norm->rows : op.getLhs();
}

/// Whether the library has a product of rows of fp8 with scales: of multiples of 16, it wants, and
/// not of e5m2 on both sides.
static bool hasLibraryFp8(MatmulOp matmul) {
  TargetAttr target = TargetAttr::lookup(matmul);
  Type lhs = getElementTypeOrSelf(matmul.getLhs()), rhs = getElementTypeOrSelf(matmul.getRhs());
  return matmul.getRowScales() && isa<FloatType>(lhs) &&
         (isa<Float8E4M3FNType>(lhs) || isa<Float8E4M3FNType>(rhs)) && target &&
         (matmul.hasTensorScales() ? hasFp8Products(target) : hasScaledFp8Library(target)) &&
         matmul.getK() % 16 == 0 && matmul.getN() % 16 == 0;
}

bool LibraryGemm::fitsLibrary() const {
  bool isFp8 = hasLibraryFp8(matmul);
  if (norm || gate || heads || (MatmulOp(matmul).getScales() && !isFp8))
    return false;
  unsigned biases = 0, sums = 0, functions = 0;
  for (const LibraryPostOp &postOp : postOps) {
    if (functions > 0 ||
        (postOp.operand && getElementTypeOrSelf(postOp.operand) != getElementTypeOrSelf(result)))
      return false;
    switch (postOp.kind) {
    case PostOpKind::Bias:
      // With fp8 it has a bias of 16 bits alone, and no function.
      if (isFp8 && getElementTypeOrSelf(result).isF32())
        return false;
      ++biases;
      break;
    case PostOpKind::Add:
      ++sums;
      break;
    case PostOpKind::GeluTanh:
    case PostOpKind::Relu:
      if (isFp8)
        return false;
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
    // Rows of bytes are those of a kernel in front: their scales are of the whole row.
    if (isInside(gemm.matmul.getLhs()) && (gemm.matmul.getRowScales() || !matchNorm()))
      return std::nullopt;
    gemm.result = gemm.matmul.getResult();
    while (true) {
      if (!gemm.matmul.getRowScales() && matchHeads())
        break;
      if (!gemm.gate && matchGate())
        continue;
      Operation *next = getOnlyUser(gemm.result);
      if (!next)
        break;
      if (!append(next))
        return std::nullopt;
      visited.insert(next);
      gemm.result = next->getResult(0);
    }
    bool all = llvm::all_of(ops, [&](Operation *op) { return visited.contains(op); });
    if (!all || failed || !isFromLibrary(getElementTypeOrSelf(gemm.result)))
      return std::nullopt;
    bool isChain = !gemm.norm && !gemm.gate && !gemm.heads;
    if (gemm.matmul.getM() > kMostGemvRows && !gemm.fitsLibrary() &&
        !(gemm.matmul.getScales() && isChain))
      return std::nullopt;
    return std::move(gemm);
  }

private:
  bool isFromLibrary(Type type) const { return type.isF32() || type.isBF16() || type.isF16(); }

  bool isInside(Value value) const {
    return value.getDefiningOp() && ops.contains(value.getDefiningOp());
  }

  bool isSupportedProduct() {
    auto rhs = gemm.matmul.getRhs(), lhs = gemm.matmul.getLhs();
    return (gemm.matmul.getRowScales() ? hasRowsOfBytes()
                                       : isFromLibrary(getElementTypeOrSelf(lhs))) &&
           getElementTypeOrSelf(gemm.matmul.getResult()).isF32() && !lhs.getType().getEncoding() &&
           !isInside(rhs) &&
           (gemm.matmul.getScales() ? hasRowsOfIntegers() : !rhs.getType().getEncoding());
  }

  /// Whether the left-hand side is bytes with plain scales, and what it is multiplied by has one a
  /// column.
  bool hasRowsOfBytes() {
    auto scales = cast<RankedTensorType>(gemm.matmul.getRowScales().getType());
    return !gemm.matmul.getTransposeLhs() &&
           gemm.matmul.getLhs().getType().getElementType().getIntOrFloatBitWidth() == 8 &&
           getElementTypeOrSelf(gemm.matmul.getRhs()).getIntOrFloatBitWidth() == 8 &&
           gemm.matmul.getGroup() == gemm.matmul.getK() && !gemm.matmul.getMinima() &&
           scales.getElementType().isF32() && !scales.getEncoding() &&
           !isInside(gemm.matmul.getRowScales());
  }

  /// Whether the right-hand side is integers as kernels read them: row by row, those of four bits
  /// in a panel, with plain scales for each row, which are f32 beside rows of bytes, as minima are.
  bool hasRowsOfIntegers() {
    MatmulOp matmul = gemm.matmul;
    RankedTensorType rhs = matmul.getRhs().getType();
    if (!matmul.getTransposeRhs() || bool(rhs.getEncoding()) != rhs.getElementType().isInteger(4))
      return false;
    return llvm::all_of(ValueRange{matmul.getScales(), matmul.getMinima()}, [&](Value value) {
      if (!value)
        return true;
      auto type = cast<RankedTensorType>(value.getType());
      bool mayBeNarrow = value == matmul.getScales() && !matmul.getRowScales();
      return !isInside(value) && !type.getEncoding() &&
             (mayBeNarrow ? isFromLibrary(type.getElementType()) : type.getElementType().isF32()) &&
             (matmul.hasTensorScales() || type.getDimSize(0) == rhs.getDimSize(0));
    });
  }

  /// What is before reshapes that nothing else uses.
  Value skipReshapes(Value value) {
    while (isInside(value) && isAlias(value.getDefiningOp()) && value.hasOneUse()) {
      visited.insert(value.getDefiningOp());
      value = value.getDefiningOp()->getOperand(0);
    }
    return value;
  }

  /// The left-hand side as a norm of rows from outside, computed in f32 or in its own elements and
  /// rounded once.
  bool matchNorm() {
    Value value = skipReshapes(gemm.matmul.getLhs());
    if (auto cast = value.getDefiningOp<CastOp>(); cast && isInside(value) && value.hasOneUse()) {
      visited.insert(cast);
      value = skipReshapes(cast.getOperand());
      if (!getElementTypeOrSelf(value).isF32())
        return false;
    }
    if (!isInside(value) || !value.hasOneUse())
      return false;
    auto norm = value.getDefiningOp<NormOpInterface>();
    if (!norm)
      return false;
    visited.insert(norm);
    gemm.norm = {norm, skipReshapes(norm.getOperand())};
    for (Value operand : {gemm.norm->rows, norm.getWeight(), norm.getBias()})
      if (operand && (isInside(operand) || !isFromLibrary(getElementTypeOrSelf(operand)) ||
                      cast<RankedTensorType>(operand.getType()).getEncoding() ||
                      (operand.getDefiningOp() && isSplatConstant(operand.getDefiningOp()))))
        return false;
    return !gemm.matmul.getTransposeLhs() && gemm.matmul.getM() <= kMostGemvRows &&
           cast<RankedTensorType>(value.getType()).getShape().back() == gemm.matmul.getK() &&
           getGemvRowBytes(gemm.matmul) <= kMostNormBytes;
  }

  /// The slices that the result's columns are cut into, one behind the other, if that is all that
  /// it is used for.
  SmallVector<SliceOp> findColumnSlices() {
    SmallVector<SliceOp> slices;
    auto whole = cast<RankedTensorType>(gemm.result.getType());
    for (Operation *user : gemm.result.getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || !ops.contains(slice) ||
          slice.getType().getShape().drop_back() != whole.getShape().drop_back())
        return {};
      slices.push_back(slice);
    }
    llvm::sort(slices,
               [](SliceOp a, SliceOp b) { return a.getOffsets().back() < b.getOffsets().back(); });
    int64_t end = 0;
    for (SliceOp slice : slices) {
      if (slice.getOffsets().back() != end)
        return {};
      end += slice.getType().getShape().back();
    }
    if (end != whole.getShape().back())
      return {};
    return slices;
  }

  /// The heads that the columns are, if that is what they end in: at least one part is rotated or
  /// appended.
  bool matchHeads() {
    constexpr size_t mostParts = 3;
    SmallVector<SliceOp> slices = findColumnSlices();
    if (slices.size() < 2 || slices.size() > mostParts ||
        !getElementTypeOrSelf(gemm.result).isF32())
      return false;
    ProductHeads heads = {};
    SmallVector<Operation *> inside(slices.begin(), slices.end());
    for (SliceOp slice : slices)
      if (!matchPart(heads, slice, inside))
        return false;
    if (heads.headSize == 0 || llvm::any_of(heads.parts, [&](const ProductHeads::Part &part) {
          return part.columns % heads.headSize != 0;
        }))
      return false;
    visited.insert(inside.begin(), inside.end());
    gemm.heads = std::move(heads);
    return true;
  }

  /// Follows a part to where it leaves; what it is rotated or appended with comes from outside, and
  /// is the same for all parts.
  bool matchPart(ProductHeads &heads, Value value, SmallVectorImpl<Operation *> &inside) {
    ProductHeads::Part part{cast<RankedTensorType>(value.getType()).getShape().back(), false,
                            nullptr, nullptr};
    auto isShared = [&](Value &known, Value found) {
      if (!known)
        known = found;
      return known == found && !isInside(found);
    };
    auto hasShape = [&](ArrayRef<int64_t> shape) {
      bool isFirst = heads.headSize == 0;
      if (isFirst) {
        heads.headSize = shape[3];
        heads.tokens = shape[1];
      }
      return heads.headSize == shape[3] && heads.tokens == shape[1];
    };
    while (!part.append &&
           llvm::any_of(value.getUsers(), [&](Operation *user) { return ops.contains(user); })) {
      if (!value.hasOneUse())
        return false;
      Operation *op = *value.user_begin();
      if (auto rotary = dyn_cast<RotaryOp>(op)) {
        if (part.rotates || rotary.getOperand() != value || !getElementTypeOrSelf(value).isF32() ||
            !hasShape(rotary.getType().getShape()))
          return false;
        if (!heads.rotary)
          heads.rotary = rotary;
        Value start = rotary.getStart();
        if (!getElementTypeOrSelf(rotary.getCos()).isF32() ||
            rotary.getCos() != heads.rotary.getCos() || rotary.getSin() != heads.rotary.getSin() ||
            rotary.getInterleaved() != heads.rotary.getInterleaved() || isInside(rotary.getCos()) ||
            isInside(rotary.getSin()) || !start || !isShared(heads.start, start))
          return false;
        part.rotates = true;
      } else if (auto append = dyn_cast<CacheAppendOp>(op)) {
        auto cache = append.getType();
        Type rows = getElementTypeOrSelf(value);
        // What was rounded before is not rounded again.
        if (append.getRows() != value || isInside(append.getCache()) || cache.getEncoding() ||
            !isFromLibrary(cache.getElementType()) ||
            (!rows.isF32() && rows != cache.getElementType()) ||
            !hasShape(append.getRows().getType().getShape()) ||
            !isShared(heads.start, append.getStart()) || !isShared(heads.count, append.getCount()))
          return false;
        part.append = append;
      } else if (isa<CastOp>(op)) {
        if (!getElementTypeOrSelf(value).isF32() ||
            !isFromLibrary(getElementTypeOrSelf(op->getResult(0))))
          return false;
      } else if (!isAlias(op)) {
        return false;
      }
      inside.push_back(op);
      value = op->getResult(0);
    }
    part.result = value;
    heads.parts.push_back(part);
    return true;
  }

  /// Goes on behind the product of the two halves of the columns, if that is what follows.
  bool matchGate() {
    SmallVector<SliceOp> halves = findColumnSlices();
    if (halves.size() != 2 || halves[0].getType() != halves[1].getType() ||
        !getElementTypeOrSelf(gemm.result).isF32())
      return false;
    size_t begin = gemm.postOps.size();
    Value value = halves[0];
    while (Operation *next = getOnlyUser(value)) {
      if (isa<MulOp>(next)) {
        Value other = skipReshapes(next->getOperand(next->getOperand(0) == value ? 1 : 0));
        failed |= other != halves[1].getResult() || !other.hasOneUse();
        for (Operation *op : {halves[0].getOperation(), halves[1].getOperation(), next})
          visited.insert(op);
        gemm.gate = {begin, gemm.postOps.size()};
        gemm.result = next->getResult(0);
        return !failed;
      }
      // Between a half and the product there are functions of one element.
      if (next->getNumOperands() != 1 || isa<CastOp>(next) || !append(next))
        break;
      visited.insert(next);
      value = next->getResult(0);
    }
    failed = true;
    return false;
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
    if (isAlias(op))
      return true;
    bool isWide = getElementTypeOrSelf(op->getResult(0)).isF32();
    // The last cast is the store's; what follows it is not of f32.
    if (auto cast = dyn_cast<CastOp>(op))
      return isFromLibrary(getElementTypeOrSelf(cast.getType())) &&
             getElementTypeOrSelf(cast.getOperand()).isF32();
    auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
    auto kind = plan::symbolizePostOpKind(elementwise ? elementwise.getPostOpName() : "");
    if (!kind || !isWide)
      return false;
    if (op->getNumOperands() == 2)
      return appendBinary(op, *kind);
    gemm.postOps.push_back({*kind, nullptr});
    return true;
  }

  bool appendBinary(Operation *op, PostOpKind kind) {
    bool first = op->getOperand(0) == gemm.result;
    Value other = op->getOperand(first ? 1 : 0);
    if (other == gemm.result)
      return false;
    auto strip = [&] {
      while (isInside(other) && isAlias(other.getDefiningOp())) {
        visited.insert(other.getDefiningOp());
        other = other.getDefiningOp()->getOperand(0);
      }
    };
    strip();
    if (isInside(other)) {
      BroadcastOp spread = findSpread(other);
      if (!spread || kind != PostOpKind::Add)
        return false;
      visited.insert(spread);
      other = spread.getOperand();
      kind = PostOpKind::Bias;
      strip();
      // The library widens a bias of the result's type.
      if (auto wide = other.getDefiningOp<CastOp>();
          wide && isInside(other) &&
          getElementTypeOrSelf(wide.getOperand()).getIntOrFloatBitWidth() == 16) {
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
