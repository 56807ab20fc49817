#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/OpOrder.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Resharding.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

namespace sinter {
#define GEN_PASS_DEF_COALESCECOLLECTIVESPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

// A bucket takes as long to send as a message takes to start; what takes more than a part of that
// goes by itself. Beyond so many members the kernels that fill and empty a bucket take long to
// compile.
static constexpr double kSmallPart = 0.25;
static constexpr size_t kMostMembers = 8;

/// What is done again in the backward pass says so, as `like` does.
static Value markAgain(Value made, Operation *like) {
  if (Attribute again = like->getAttr(SinterDialect::kRecompute))
    made.getDefiningOp()->setAttr(SinterDialect::kRecompute, again);
  return made;
}

namespace {
/// A collective, of which a bucket has the elements in rows, a row for each part.
struct Member {
  Operation *op;
  int64_t sentBytes = 0;
  double sendNs = 0, copyNs = 0; ///< in a bucket, without its start

  Value getOperand() const { return op->getOperand(0); }
  Value getResult() const { return op->getResult(0); }
  /// Whether a rank has parts for all ranks before it, too, and not one of its own.
  bool hasParts() const { return getOperand().getType() == getResult().getType(); }
  int64_t countParts() const {
    return typeOf(getResult()).getRank() == 0 ? 1 : typeOf(getResult()).getDimSize(0);
  }
  /// Elements of a part.
  int64_t getExtent() const { return typeOf(getResult()).getNumElements() / countParts(); }
};

/// Builds one collective of several.
class BucketBuilder {
public:
  explicit BucketBuilder(ArrayRef<Member> members)
      : members(members), first(members.front()), builder(members.back().op) {}

  /// Users of the results may stand before them afterwards.
  void run() {
    SmallVector<Location> places;
    for (const Member &member : members)
      places.push_back(member.op->getLoc());
    Location loc = FusedLoc::get(builder.getContext(), places);
    SmallVector<Value> operands;
    int64_t extent = 0;
    for (const Member &member : members) {
      operands.push_back(
          reshape(member, member.getOperand(), getFlat(first.hasParts(), member.getExtent())));
      extent += member.getExtent();
    }
    Value bucket = mark(ConcatOp::create(builder, loc, getFlat(first.hasParts(), extent), operands,
                                         first.hasParts() ? 1 : 0));
    Operation *collective = builder.clone(*first.op);
    collective->setLoc(loc);
    collective->setOperands(bucket);
    collective->getResult(0).setType(getFlat(/*hasParts=*/true, extent));
    int64_t offset = 0;
    for (const Member &member : members) {
      Value own = mark(SliceOp::create(builder, member.op->getLoc(),
                                       getFlat(/*hasParts=*/true, member.getExtent()),
                                       collective->getResult(0), {0, offset}));
      member.getResult().replaceAllUsesWith(reshape(member, own, typeOf(member.getResult())));
      offset += member.getExtent();
    }
    for (const Member &member : members)
      member.op->erase();
  }

private:
  RankedTensorType getFlat(bool hasParts, int64_t extent) const {
    RankedTensorType type = typeOf(first.getResult());
    return hasParts ? type.clone({first.countParts(), extent}) : type.clone({extent});
  }

  Value reshape(const Member &member, Value value, RankedTensorType type) {
    if (value.getType() == type)
      return value;
    return mark(ReshapeOp::create(builder, member.op->getLoc(), type, value));
  }

  Value mark(Value made) const { return markAgain(made, first.op); }

  ArrayRef<Member> members;
  const Member &first;
  OpBuilder builder;
};

struct CoalesceCollectivesPass
    : sinter::impl::CoalesceCollectivesPassBase<CoalesceCollectivesPass> {
  using CoalesceCollectivesPassBase::CoalesceCollectivesPassBase;

  void runOnOperation() override {
    grid = GridAttr::lookup(getOperation());
    target = TargetAttr::lookup(getOperation());
    if (!grid || !target)
      return;
    moves.emplace(target);
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(SinterDialect::kEntry)) {
        moveOnce(entry);
        coalesce(entry);
      }
  }

private:
  /// Makes collectives of a stage one that move the same elements by the same parts, in whatever
  /// shapes.
  static void moveOnce(func::FuncOp entry) {
    using Moved = std::tuple<StringRef, Attribute, Value, int64_t, unsigned>;
    llvm::DenseMap<Moved, Operation *> known;
    for (auto op : llvm::make_early_inc_range(entry.getOps<CollectiveOpInterface>())) {
      Value elements = op.getOperand();
      while (auto reshape = elements.getDefiningOp<ReshapeOp>())
        elements = reshape.getOperand();
      Moved moved(op->getName().getStringRef(), op->getAttrDictionary(), elements,
                  Member{op}.countParts(), static_cast<unsigned>(getStage(op.getLoc())));
      auto [first, isNew] = known.try_emplace(moved, op);
      if (isNew)
        continue;
      OpBuilder builder(op);
      Value again = first->second->getResult(0);
      if (again.getType() != op.getResult().getType())
        again =
            markAgain(ReshapeOp::create(builder, op.getLoc(), typeOf(op.getResult()), again), op);
      op.getResult().replaceAllUsesWith(again);
      op.erase();
    }
  }

  /// What the members of a bucket have in common: what they are called, their axes, element type,
  /// parts, whether and when they are done again, and how many small collectives
  /// each stands behind, so that none needs another's result.
  using Key = std::tuple<StringRef, Attribute, Type, int64_t, Attribute, unsigned, unsigned>;

  void coalesce(func::FuncOp entry) {
    SmallVector<SmallVector<Member>> buckets;
    llvm::DenseMap<Key, size_t> filling; // which of them each next member goes into
    llvm::DenseMap<Operation *, unsigned> depths;
    for (Operation &op : entry.front()) {
      unsigned depth = 0;
      for (Value operand : op.getOperands())
        if (Operation *before = operand.getDefiningOp())
          depth = std::max(depth, depths.lookup(before));
      depths[&op] = depth;
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (!collective)
        continue;
      Member member = measure(collective);
      if (member.sentBytes == 0 || member.sendNs + member.copyNs > kSmallPart * moves->startNs)
        continue;
      ++depths[&op];
      Key key(op.getName().getStringRef(), collective.getAxes(),
              typeOf(member.getResult()).getElementType(), member.countParts(),
              op.getAttr(SinterDialect::kRecompute), static_cast<unsigned>(getStage(op.getLoc())),
              depth);
      auto [entryOf, isNew] = filling.try_emplace(key, buckets.size());
      if (isNew || !fits(buckets[entryOf->second], member)) {
        entryOf->second = buckets.size();
        buckets.emplace_back();
      }
      buckets[entryOf->second].push_back(member);
    }
    bool changed = false;
    for (ArrayRef<Member> bucket : buckets)
      changed |= bucket.size() > 1 && coalesce(entry, bucket);
    if (changed)
      orderByAvailability(entry.front());
  }

  Member measure(CollectiveOpInterface op) const {
    Member member{op};
    member.sentBytes = op.getSentBytes(grid.getSize(op.getAxes()));
    member.sendNs = static_cast<double>(member.sentBytes) *
                    (target.isGpu() ? 1 / getLinkBandwidth(target) : moves->sentNs);
    int64_t copied =
        getStorageBytes(op.getOperand().getType()) + getStorageBytes(op.getResult().getType());
    member.copyNs = moves->copiedNs * static_cast<double>(copied);
    return member;
  }

  bool fits(ArrayRef<Member> bucket, const Member &next) const {
    double sendNs = next.sendNs;
    for (const Member &member : bucket)
      sendNs += member.sendNs;
    return bucket.size() < kMostMembers && sendNs <= moves->startNs;
  }

  /// Makes a bucket one collective if that is faster.
  bool coalesce(func::FuncOp entry, ArrayRef<Member> bucket) const {
    int64_t bytes = 0;
    double startNs = static_cast<double>(bucket.size() - 1) * moves->startNs;
    double copyNs = 2 * static_cast<double>(target.getLaunchNs());
    for (const Member &member : bucket) {
      bytes += member.sentBytes;
      copyNs += member.copyNs;
    }
    auto last = cast<CollectiveOpInterface>(bucket.back().op);
    bool gains = copyNs < startNs;
    auto options = remark::RemarkOpts::name(gains ? "Coalesced" : "NotCoalesced")
                       .category("sinter-sharding")
                       .function(entry.getName());
    std::string what =
        llvm::formatv("{0} {1} along {2}, of which a rank sends {3} bytes: {4} to fill and empty a "
                      "bucket, {5} to start the others",
                      bucket.size(), last->getName().stripDialect(),
                      llvm::join(last.getAxes().getAsValueRange<StringAttr>(), ", "), bytes,
                      formatNs(copyNs), formatNs(startNs))
            .str();
    (gains ? remark::passed(last.getLoc(), options) : remark::missed(last.getLoc(), options))
        << what << remark::metric(kGainNs, startNs - copyNs);
    if (gains)
      BucketBuilder(bucket).run();
    return gains;
  }

  GridAttr grid;
  TargetAttr target;
  std::optional<MoveCosts> moves;
};
} // namespace
