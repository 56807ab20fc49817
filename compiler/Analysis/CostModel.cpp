#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/Recomputation.h"
#include "compiler/Analysis/Target.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include <utility>

using namespace mlir;
using namespace sinter;

namespace {
/// What kernels reach of a kind of machine.
struct Efficiency {
  /// Shares of the peak rate of products.
  double gemm, attention;
  /// Elementwise arithmetic has few multiply-adds and many conversions and polynomials.
  double elementwise;
};
} // namespace

static constexpr Efficiency kProcessor = {0.95, 0.70, 0.10};
// Not measured: what others report of kernels like ours, and of the vendor's library.
static constexpr Efficiency kGpu = {0.40, 0.35, 0.25};

static constexpr double kLibraryGemm = 0.75;
// Generated kernels of a GPU multiply 16-bit numbers at most so much faster than f32; its library
// also has matrix units, which are several times as fast.
static constexpr double kGeneratedPairs = 2.0;

// Attention on a processor's matrix unit against f32 on its vectors: measured on Emerald Rapids,
// 220 to 280 GFLOP/s a core beside 104 to 116. Two fifths of the time are the softmax's.
static constexpr double kTileAttention = 2.3;

// How many bytes an instruction of a GPU multiplies where it multiplies one f32; of fp8 half as
// many.
static constexpr double kFours = 4.0, kPairs = 2.0;

static const Efficiency &getEfficiency(TargetAttr target) {
  return target.isGpu() ? kGpu : kProcessor;
}

// Of few rows the library reads the right-hand side below the bandwidth that a plain loop reaches.
static constexpr int64_t kGemvRows = 16;
static constexpr double kLibraryGemvBandwidth = 0.80;
// Bandwidth of caches, in units of the memory's.
static constexpr double kPrivateCacheFactor = 8.0;
static constexpr double kSharedCacheFactor = 3.0;

bool sinter::isAlias(Operation *op) {
  auto move = dyn_cast<MoveOpInterface>(op);
  if (!move || !move.keepsOrder())
    return false;
  auto dense = [](Type type) { return !cast<RankedTensorType>(type).getEncoding(); };
  return dense(op->getOperand(0).getType()) && dense(op->getResult(0).getType());
}

bool sinter::isSplatConstant(Operation *op) {
  DenseElementsAttr value;
  return matchPattern(op, m_Constant(&value)) && value.isSplat();
}

bool sinter::isColumnSum(Value result) {
  Operation *op = result.getDefiningOp();
  return getRole(op) == FusionRole::ColumnReduction &&
         cast<RankedTensorType>(result.getType()).getShape() !=
             cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
}

int64_t sinter::getRows(Type type) {
  int64_t rows = 1;
  auto shape = cast<RankedTensorType>(type).getShape();
  if (!shape.empty())
    for (int64_t extent : shape.drop_back())
      rows *= extent;
  return rows;
}

FusionRole sinter::getRole(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return fusible ? fusible.getFusionRole() : FusionRole::Opaque;
}

static bool isFree(Operation *op) {
  return isAlias(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         op->hasTrait<OpTrait::IsTerminator>() || !isa<CostOpInterface>(op);
}

/// The value behind the aliases in `ops`.
static Value findSource(Value value, const llvm::SetVector<Operation *> &ops) {
  while (Operation *op = value.getDefiningOp()) {
    if (!ops.contains(op) || !isAlias(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a kernel of `ops` need not read the value.
static bool isInside(Value value, const llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  return op && (ops.contains(op) || isSplatConstant(op));
}

/// Whether a kernel of `ops` has to write the value: it is used outside, or not at all.
static bool escapes(Value value, const llvm::SetVector<Operation *> &ops) {
  return value.use_empty() || llvm::any_of(value.getUsers(), [&](Operation *user) {
           return !ops.contains(user) || (isAlias(user) && escapes(user->getResult(0), ops));
         });
}

/// Blocks of rows that a kernel sums over, 0 if it sums over none or over different ones. Sums that
/// are all a kernel computes are cut along their columns, too.
static int64_t countBlocks(const llvm::SetVector<Operation *> &ops) {
  constexpr int64_t kColumns = 64;
  if (llvm::none_of(ops, [](Operation *op) { return getRole(op) == FusionRole::ColumnReduction; }))
    return 0;
  int64_t blocks = 0, columns = 0;
  bool alone = true;
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      if (isColumnSum(result)) {
        int64_t before = std::exchange(blocks, getRows(result.getType()));
        if (before != 0 && before != blocks)
          return 0;
        columns = cast<RankedTensorType>(result.getType()).getShape().back();
      } else {
        alone &= isAlias(op) || !escapes(result, ops);
      }
    }
  return alone ? blocks * std::max<int64_t>(1, columns / kColumns) : blocks;
}

/// Whether a result has a number for each row that was reduced, as losses do.
static bool isNumberPerRow(Value result) {
  Operation *op = result.getDefiningOp();
  return getRole(op) == FusionRole::RowReduction &&
         cast<RankedTensorType>(result.getType()).getShape() ==
             cast<RankedTensorType>(op->getOperand(0).getType()).getShape().drop_back();
}

/// Work items that a kernel has: of a product or an attention (or its gradient) enough for every
/// core; else the longest row-major prefix that all results have in common, without their last
/// dimension unless it counts rows, or the blocks of rows that are summed over.
static int64_t countWorkItems(const llvm::SetVector<Operation *> &ops) {
  int64_t blocks = countBlocks(ops);
  std::optional<llvm::SmallSetVector<int64_t, 4>> common;
  for (Operation *op : ops) {
    FusionRole role = getRole(op);
    if (role == FusionRole::Contraction || role == FusionRole::GroupedContraction ||
        role == FusionRole::Attention || role == FusionRole::AttentionGrad ||
        role == FusionRole::Opaque)
      return std::numeric_limits<int64_t>::max();
    for (Value result : op->getResults()) {
      if (isAlias(op) || !escapes(result, ops))
        continue;
      // Of an update, the rows that are written.
      Value shaped = role == FusionRole::Update ? op->getOperand(1) : result;
      ArrayRef<int64_t> rows = cast<RankedTensorType>(shaped.getType()).getShape();
      if (!rows.empty() && !isNumberPerRow(result))
        rows = rows.drop_back();
      llvm::SmallSetVector<int64_t, 4> prefixes;
      prefixes.insert(1);
      int64_t prefix = 1;
      for (int64_t extent : rows)
        prefixes.insert(prefix *= extent);
      // Any rows can be worked on in the blocks of a sum.
      if (blocks > 0 && (isColumnSum(result) || prefix % blocks == 0))
        prefixes.insert(blocks);
      if (common)
        common->remove_if([&](int64_t items) { return !prefixes.contains(items); });
      else
        common = std::move(prefixes);
    }
  }
  return common && !common->empty() ? *llvm::max_element(*common) : 1;
}

/// Items that each of so many becomes on a GPU where their elements do not meet
/// (sinter-split-columns): parts of rows; what is a number of an item is no row.
static int64_t countColumnParts(const llvm::SetVector<Operation *> &ops, int64_t items) {
  std::optional<int64_t> parts;
  for (Operation *op : ops) {
    FusionRole role = getRole(op);
    if (role != FusionRole::Elementwise && role != FusionRole::Index && role != FusionRole::Gather)
      return 1;
    for (Value result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (isAlias(op) || !escapes(result, ops) || type.getNumElements() <= items)
        continue;
      uint64_t most = std::max<int64_t>(type.getShape().back() / kFewestPartColumns, 1);
      parts = std::min<int64_t>(parts.value_or(INT64_MAX), llvm::bit_floor(most));
    }
  }
  return parts.value_or(1);
}

/// What a value is outside of the fusion whose body it is an argument of.
static Value findOutside(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto fusion = dyn_cast<FusionOp>(argument.getOwner()->getParentOp()))
      return fusion.getInputs()[argument.getArgNumber()];
  return value;
}

MemoryLevel CostModel::getLevel(double bytes, bool cold) const {
  if (target.keepsPrivateCaches() &&
      bytes <= static_cast<double>(target.getL2Bytes() * target.getCores()))
    return MemoryLevel::PrivateCaches;
  if (!cold && bytes <= static_cast<double>(target.getL3Bytes()))
    return MemoryLevel::SharedCache;
  return MemoryLevel::Memory;
}

double CostModel::getBandwidth(MemoryLevel level) const {
  double memory = static_cast<double>(target.getMemoryGbs());
  switch (level) {
  case MemoryLevel::PrivateCaches:
    return kPrivateCacheFactor * memory;
  case MemoryLevel::SharedCache:
    return kSharedCacheFactor * memory;
  case MemoryLevel::Memory:
    return memory;
  }
  llvm_unreachable("a level has a bandwidth");
}

bool CostModel::isNarrowProduct(Operation *op) const {
  FusionRole role = getRole(op);
  if (role != FusionRole::Contraction && role != FusionRole::GroupedContraction &&
      role != FusionRole::Attention && role != FusionRole::AttentionGrad)
    return false;
  // A processor multiplies keys and values as they lie in their caches.
  if (auto attention = dyn_cast<AttentionOp>(op); attention && !target.isGpu()) {
    RankedTensorType keys = attention.getKey().getType();
    return pairsKeys(keys.getElementType(), keys.getShape().back(), target);
  }
  auto lhs = cast<RankedTensorType>(op->getOperand(0).getType());
  if (role == FusionRole::AttentionGrad && !target.isGpu())
    return usesKeyTiles(lhs.getElementType(), lhs.getShape().back(), target);
  bool isAttention = role == FusionRole::Attention || role == FusionRole::AttentionGrad;
  if (isAttention && lhs.getShape().back() > kWidestMatrixHead)
    return false;
  Type type = lhs.getElementType();
  return type.isBF16() || (target.hasMatrixUnits() && type.getIntOrFloatBitWidth() <= 16);
}

/// Whether a product multiplies fp8.
static bool isFp8(Operation *product) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(
      getElementTypeOrSelf(product->getOperand(0).getType()));
}

/// Whether a product multiplies rows of integers.
static bool hasByteRows(Operation *product) {
  return getElementTypeOrSelf(product->getOperand(0).getType()).isInteger(8);
}

int64_t CostModel::getBitsBesideBytes(Operation *op) const {
  bool isGrouped = isa<GroupedMatmulOp>(op);
  if (getRole(op) != FusionRole::Contraction && !isGrouped)
    return 0;
  Type rhs = getElementTypeOrSelf(op->getOperand(1).getType());
  bool ofBytes = hasByteRows(op) || (target.hasMatrixUnits() && isFp8(op)),
       fixedPoint = rhs.isInteger() && target.readsPackedRhs() &&
                    (isGrouped || getRows(op->getResult(0).getType()) < kManyRows);
  return ofBytes || fixedPoint ? rhs.getIntOrFloatBitWidth() : 0;
}

double CostModel::getComputeNs(Operation *op, double parallelism, GemmChoice choice) const {
  const Efficiency &reached = getEfficiency(target);
  double rate = static_cast<double>(target.getGflopsF32());
  auto pairs = static_cast<double>(target.getGflopsBf16());
  bool narrow = isNarrowProduct(op);
  switch (getRole(op)) {
  case FusionRole::Contraction:
  case FusionRole::GroupedContraction:
    if (isFp8(op)) // twice that of 16 bits; of ours as on 9.0, where it is made of products of f16
      rate = choice == GemmChoice::Library ? 2 * pairs : kPairs * rate;
    else if (hasByteRows(op))
      rate = target.hasMatrixUnits() ? kFours * rate
                                     : getGflopsOfBytes(target, getBitsBesideBytes(op));
    else if (narrow)
      rate = choice == GemmChoice::Library || !target.isGpu()
                 ? pairs
                 : std::min(pairs, kGeneratedPairs * rate);
    rate *= choice == GemmChoice::Library ? kLibraryGemm : reached.gemm;
    break;
  case FusionRole::Attention:
  case FusionRole::AttentionGrad:
    if (narrow)
      rate = target.isGpu() ? pairs : hasTileDot(target) ? kTileAttention * rate : rate;
    rate *= reached.attention;
    break;
  default:
    rate *= reached.elementwise * parallelism;
    break;
  }
  return static_cast<double>(cast<CostOpInterface>(op).getFlops()) / rate;
}

Cost CostModel::getCost(Operation *op) const {
  llvm::SetVector<Operation *> alone;
  alone.insert(op);
  Cost cost = getFusedCost(alone);
  // What processes of one machine send each other goes through its memory; GPUs have links.
  if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && target.isGpu()) {
    int64_t ranks = GridAttr::lookup(op).getSize(collective.getAxes());
    double linkNs = static_cast<double>(collective.getSentBytes(ranks)) / getLinkBandwidth(target);
    cost.ns = std::max(cost.ns, linkNs + static_cast<double>(target.getLaunchNs()));
  }
  return cost;
}

Cost CostModel::getFusedCost(const llvm::SetVector<Operation *> &ops, GemmChoice choice) const {
  Cost cost;
  if (llvm::all_of(ops, isFree))
    return cost;

  double cores = static_cast<double>(target.getCores());
  int64_t items = countWorkItems(ops);
  if (target.isGpu() && items < target.getCores())
    items *= countColumnParts(ops, items);
  double parallelism = std::min(cores, static_cast<double>(items)) / cores;
  int64_t productRows = 0, blocks = 1;
  for (Operation *op : ops)
    if (getRole(op) == FusionRole::Contraction) {
      productRows = getRows(op->getResult(0).getType());
      // What is computed before a product, each of its blocks computes.
      if (auto matmul = dyn_cast<MatmulOp>(op); matmul && matmul.getM() <= kMostGemvRows &&
                                                target.fusesGemv() &&
                                                isInside(matmul.getLhs(), ops))
        blocks = getGemvLaunch(matmul, /*normalizes=*/true).blocks;
    }

  double computeNs = 0, memoryNs = 0, againNs = 0;
  auto move = [&](int64_t count, bool cold) {
    auto bytes = static_cast<double>(count);
    MemoryLevel level = getLevel(bytes, cold);
    cost.bytes += bytes;
    if (level != MemoryLevel::Memory)
      (level == MemoryLevel::SharedCache ? cost.sharedBytes : cost.privateBytes) += bytes;
    memoryNs += bytes / getBandwidth(level);
  };
  llvm::SmallDenseSet<Value> read;
  llvm::SmallDenseMap<Operation *, int64_t> recomputation = findRecomputation(ops);
  for (Operation *op : ops) {
    if (isFree(op))
      continue;
    auto work = cast<CostOpInterface>(op);
    int64_t times = getRole(op) == FusionRole::RowReduction ? blocks : 1;
    if (auto found = recomputation.find(op); found != recomputation.end())
      times *= found->second;
    computeNs += static_cast<double>(times) * getComputeNs(op, parallelism, choice);
    auto flops = static_cast<double>(work.getFlops());
    cost.flops += flops;
    if (int64_t bits = getBitsBesideBytes(op))
      (bits == 8 ? cost.byteFlops : cost.nibbleFlops) += flops;
    else if (isNarrowProduct(op))
      cost.narrowFlops += flops;
    // An op that touches parts of its operands writes all of its results, or, where it updates a
    // part of an operand, as much as it reads.
    int64_t touched = work.getBytes(), writes = 0;
    bool partial = touched < getOperandAndResultBytes(op);
    for (Value result : op->getResults())
      writes += getStorageBytes(result.getType());
    if (writes > touched)
      writes = touched / 2;
    int64_t reads = touched - writes;
    for (Value operand : op->getOperands()) {
      // A value from inside is not read from memory; one from outside is read once.
      Value source = findSource(operand, ops);
      int64_t bytes = getStorageBytes(operand.getType());
      if (isInside(source, ops))
        reads -= std::min(reads, bytes);
      else if (!partial && read.insert(source).second)
        move(bytes, isa<BlockArgument>(findOutside(source)));
      if (times > 1 && !isInside(source, ops))
        againNs += static_cast<double>((times - 1) * bytes) /
                   getBandwidth(getLevel(static_cast<double>(bytes), /*cold=*/false));
    }
    // The matrices of some groups come from memory, as whole ones do.
    if (partial && reads > 0)
      move(reads, getRole(op) == FusionRole::GroupedContraction);
    for (Value result : op->getResults())
      if (escapes(result, ops))
        move(partial ? writes : getStorageBytes(result.getType()), /*cold=*/false);
  }

  double share = parallelism;
  if (productRows > 0 && productRows < kGemvRows && choice == GemmChoice::Library)
    share *= kLibraryGemvBandwidth;
  cost.ns =
      std::max(computeNs, (memoryNs + againNs) / share) + static_cast<double>(target.getLaunchNs());
  return cost;
}

Cost CostModel::getBodyCost(Block &body, GemmChoice choice) const {
  llvm::SetVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.insert(&op);
  return getFusedCost(ops, choice);
}
