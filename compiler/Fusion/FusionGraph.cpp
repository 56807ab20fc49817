#include "compiler/Fusion/FusionGraph.h"
#include "dialects/Sinter/Stage.h"

using namespace mlir;
using namespace sinter;

// Numerical noise of sums is no gain.
static constexpr double kLeastGainNs = 1e-6;

// Single numbers of all parameters (learning rates of an optimizer, say) could become one kernel of
// thousands of ops. Its one launch would save less than its compilation takes, whose time grows
// with the square of a kernel's ops. Kernels of a model's layers have a third of this.
static constexpr size_t kMostOps = 128;

/// Whether a value is one number; not one of a batch or of a row, of which there happens to be one.
static bool isScalar(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

/// Whether an op widens a bias.
static bool widensVector(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && cast.getType().getRank() == 1 &&
         getStorageBytes(cast.getOperand().getType()) < getStorageBytes(cast.getType());
}

FusionGraph::FusionGraph(Block &block, const CostModel &costs, const KernelFamilies &families)
    : costs(costs), families(families) {
  groups.reserve(block.getOperations().size());
  llvm::DenseMap<Location, bool> forward; // by location, which the ops of a layer share
  for (Operation &op : block.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>() || op.getNumRegions() > 0 ||
        !isa<FusibleOpInterface>(op))
      continue;
    groupOf[&op] = groups.size();
    Group &group = groups.emplace_back();
    group.ops.insert(&op);
    group.root = families.findRooted(&op) ? &op : nullptr;
    group.family = classify(group.ops, group.root, families).family;
    group.cost = getCost(group.ops, group.family);
    bool isIndex = getRole(&op) == FusionRole::Index;
    if (!isIndex) {
      auto [known, isNew] = forward.try_emplace(op.getLoc());
      if (isNew)
        known->second = sinter::getStage(op.getLoc()) == sinter::Stage::Forward;
      (known->second ? group.hasForward : group.hasLater) = true;
    }
    group.isFree = isAlias(&op);
    group.moves = isIndex || widensVector(&op);
    group.hasNumbers = llvm::any_of(op.getResults(), isScalar);
    rank.push_back(order.size());
    order.push_back(order.size());
  }
}

Cost FusionGraph::getCost(const OpSet &ops, const KernelFamily *family) const {
  return family ? family->getCost(ops, costs) : costs.getFusedCost(ops);
}

FusionGraph::Stage FusionGraph::getStage(const Group &producer) {
  if (producer.family && producer.family->hasEpilogues())
    return Stage::Epilogue;
  return producer.moves ? Stage::Movement : Stage::Other;
}

SmallVector<unsigned> FusionGraph::getConsumers(unsigned group) const {
  llvm::SmallSetVector<unsigned, 4> found;
  for (Operation *op : groups[group].ops)
    for (Operation *user : op->getUsers())
      if (auto other = groupOf.find(user); other != groupOf.end() && other->second != group)
        found.insert(other->second);
  return found.takeVector();
}

SmallVector<unsigned> FusionGraph::getProducers(unsigned group) const {
  llvm::SmallSetVector<unsigned, 4> found;
  for (Operation *op : groups[group].ops)
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (auto other = groupOf.find(producer); other != groupOf.end() && other->second != group)
          found.insert(other->second);
  return found.takeVector();
}

bool FusionGraph::reachesIndirectly(unsigned from, unsigned to) const {
  if (rank[from] > rank[to])
    return false;
  llvm::SmallDenseSet<unsigned> seen{from, to};
  SmallVector<unsigned> open;
  auto visitUsers = [&](unsigned group, bool direct) {
    for (Operation *op : groups[group].ops)
      for (Operation *user : op->getUsers()) {
        auto found = groupOf.find(user);
        if (found == groupOf.end())
          continue;
        if (found->second == to && !direct)
          return true;
        // Only what stands before the target can lead there.
        if (rank[found->second] < rank[to] && seen.insert(found->second).second)
          open.push_back(found->second);
      }
    return false;
  };
  (void)visitUsers(from, /*direct=*/true);
  while (!open.empty())
    if (visitUsers(open.pop_back_val(), /*direct=*/false))
      return true;
  return false;
}

bool FusionGraph::wouldCycle(unsigned first, unsigned second) const {
  return reachesIndirectly(first, second) || reachesIndirectly(second, first);
}

OpSet FusionGraph::join(Pair pair) const {
  const Group &first = groups[pair.first], &second = groups[pair.second];
  SmallVector<Operation *> ops;
  ops.reserve(first.ops.size() + second.ops.size());
  std::merge(first.ops.begin(), first.ops.end(), second.ops.begin(), second.ops.end(),
             std::back_inserter(ops),
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return {ops.begin(), ops.end()};
}

StringRef FusionGraph::findObstacle(const Group &first, const Group &second) const {
  if (first.ops.size() + second.ops.size() > kMostOps)
    return "a kernel of so many ops takes too long to compile";
  if (first.root && second.root)
    return kTwoRoots;
  if ((first.hasForward || second.hasForward) && (first.hasLater || second.hasLater))
    return "a later stage waits for the forward pass to end";
  return {};
}

FusionGraph::Merged FusionGraph::evaluate(Pair pair, bool onlyKernels) const {
  const Group &first = groups[pair.first], &second = groups[pair.second];
  Merged merged;
  merged.classification.reason = findObstacle(first, second);
  if (onlyKernels && !merged.classification.reason.empty())
    return merged;
  OpSet ops = join(pair);
  if (merged.classification.reason.empty())
    merged.classification = classify(ops, first.root ? first.root : second.root, families);
  if (onlyKernels && !merged.classification)
    return merged;
  merged.cost = getCost(ops, merged.classification.family);
  merged.gain = first.cost.ns + second.cost.ns - merged.cost.ns;
  return merged;
}

bool FusionGraph::givesNumbersToMany(Pair pair) const {
  if (!groups[pair.first].hasNumbers)
    return false;
  auto computesNumbers = [](Operation *op) { return llvm::all_of(op->getResults(), isScalar); };
  if (llvm::all_of(groups[pair.second].ops, computesNumbers))
    return false;
  for (Operation *op : groups[pair.second].ops)
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && groups[pair.first].ops.contains(producer) && !isScalar(operand))
        return false;
  return llvm::any_of(groups[pair.first].ops, [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return isScalar(result) && llvm::any_of(result.getUsers(), [&](Operation *user) {
               auto found = groupOf.find(user);
               return found != groupOf.end() && found->second != pair.first &&
                      found->second != pair.second;
             });
    });
  });
}

void FusionGraph::enqueue(Pair pair) {
  const Group &first = groups[pair.first], &second = groups[pair.second];
  // Until a later stage begins, many of its pairs become others.
  if (getStage(first) > current || givesNumbersToMany(pair))
    return;
  Merged merged = evaluate(pair, /*onlyKernels=*/true);
  if (!merged.classification)
    return;
  // An alias alone costs nothing; inside its consumer it lets others come closer.
  bool gains = merged.gain > kLeastGainNs || (first.isFree && merged.gain > -kLeastGainNs);
  if (gains)
    queue.push({getStage(first), merged.gain, pair, first.changes, second.changes,
                merged.classification.family, merged.cost});
}

void FusionGraph::enqueueNeighbours(unsigned group) {
  for (unsigned consumer : getConsumers(group))
    enqueue({group, consumer});
  for (unsigned producer : getProducers(group))
    enqueue({producer, group});
}

void FusionGraph::reorder(Pair pair) {
  auto [low, high] = std::minmax(rank[pair.first], rank[pair.second]);
  llvm::SmallDenseSet<unsigned> behind;
  SmallVector<unsigned> open = {order[low]};
  while (!open.empty())
    for (Operation *op : groups[open.pop_back_val()].ops)
      for (Operation *user : op->getUsers())
        if (auto found = groupOf.find(user); found != groupOf.end() && rank[found->second] > low &&
                                             rank[found->second] < high &&
                                             behind.insert(found->second).second)
          open.push_back(found->second);
  SmallVector<unsigned> between(order.begin() + low + 1, order.begin() + high);
  unsigned next = low;
  auto place = [&](unsigned group) {
    order[next] = group;
    rank[group] = next++;
  };
  for (unsigned group : between)
    if (!behind.contains(group))
      place(group);
  place(pair.first);
  for (unsigned group : between)
    if (behind.contains(group))
      place(group);
  // What is merged away has no ops; any place will do.
  place(pair.second);
}

void FusionGraph::merge(Pair pair, const KernelFamily *family, const Cost &cost) {
  reorder(pair);
  OpSet ops = join(pair);
  Group &kept = groups[pair.first], &gone = groups[pair.second];
  for (Operation *op : gone.ops)
    groupOf[op] = pair.first;
  kept.ops = std::move(ops);
  kept.family = family;
  kept.cost = cost;
  kept.root = kept.root ? kept.root : gone.root;
  kept.hasForward |= gone.hasForward;
  kept.hasLater |= gone.hasLater;
  kept.isFree &= gone.isFree;
  kept.moves &= gone.moves;
  kept.hasNumbers |= gone.hasNumbers;
  ++kept.changes;
  gone.ops.clear();
  ++gone.changes;
}

void FusionGraph::mergeProducers() {
  for (Stage stage : {Stage::Movement, Stage::Epilogue, Stage::Other}) {
    current = stage;
    for (unsigned group = 0; group < groups.size(); ++group)
      if (!groups[group].ops.empty() && getStage(groups[group]) == stage)
        for (unsigned consumer : getConsumers(group))
          enqueue({group, consumer});
    while (!queue.empty()) {
      Candidate candidate = queue.top();
      queue.pop();
      auto [first, second] = candidate.pair;
      if (groups[first].changes != candidate.firstChanges ||
          groups[second].changes != candidate.secondChanges || wouldCycle(first, second))
        continue;
      merge(candidate.pair, candidate.family, candidate.cost);
      enqueueNeighbours(first);
    }
  }
}

/// Whether reading `value` is a quarter of what the smaller of two kernels moves, and both belong
/// to one stage. Less would tie two kernels together, and keep the operands of both alive, for
/// little; what the backward pass computes would be kept all the way from the forward pass.
static bool isWorthSharing(Value value, const FusionGraph::Group &first,
                           const FusionGraph::Group &second) {
  if (getStage(first.ops.back()->getLoc()) != getStage(second.ops.back()->getLoc()))
    return false;
  auto bytes = static_cast<double>(getStorageBytes(value.getType()));
  return 4 * bytes >= std::min(first.cost.bytes, second.cost.bytes);
}

void FusionGraph::mergeSiblings() {
  for (unsigned group = 0; group < groups.size(); ++group)
    for (Operation *op : groups[group].ops) {
      // Nothing is saved by reading one number once.
      if (llvm::all_of(op->getResults(), isScalar))
        continue;
      // Few groups read one value; those of a layer stand together.
      SmallVector<unsigned> readers;
      for (Operation *user : op->getUsers())
        if (auto found = groupOf.find(user); found != groupOf.end() && found->second != group &&
                                             !llvm::is_contained(readers, found->second))
          readers.push_back(found->second);
      llvm::sort(readers);
      for (unsigned first : readers)
        for (unsigned second : readers) {
          if (first >= second || groups[first].ops.empty() || groups[second].ops.empty() ||
              groups[first].isFree || groups[second].isFree ||
              !isWorthSharing(op->getResult(0), groups[first], groups[second]) ||
              llvm::is_contained(getConsumers(first), second) ||
              llvm::is_contained(getConsumers(second), first))
            continue;
          Merged merged = evaluate({first, second}, /*onlyKernels=*/true);
          // Looking for a cycle takes the longest.
          if (merged.classification && merged.gain > kLeastGainNs && !wouldCycle(first, second))
            merge({first, second}, merged.classification.family, merged.cost);
        }
    }
}

void FusionGraph::forEachDeclined(
    llvm::function_ref<void(const Group &, const Group &, const Cost &, StringRef)> visit) const {
  for (unsigned group = 0; group < groups.size(); ++group) {
    if (groups[group].ops.empty() || groups[group].isFree)
      continue;
    for (unsigned consumer : getConsumers(group)) {
      if (groups[consumer].isFree)
        continue;
      Merged merged = evaluate({group, consumer});
      StringRef reason = merged.classification.reason;
      if (merged.classification)
        reason = wouldCycle(group, consumer) ? "another kernel would have to run in between"
                                             : "apart is as fast";
      visit(groups[group], groups[consumer], merged.cost, reason);
    }
  }
}
