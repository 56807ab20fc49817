#include "compiler/Fusion/FusionGraph.h"
#include "compiler/Analysis/LibraryGemm.h"

using namespace mlir;
using namespace sinter;

// Numerical noise of sums is no gain.
static constexpr double kLeastGainNs = 1e-6;

FusionGraph::FusionGraph(Block &block, const CostModel &costs) : costs(costs) {
  for (Operation &op : block.without_terminator()) {
    position[&op] = position.size();
    if (op.hasTrait<OpTrait::ConstantLike>() || op.getNumRegions() > 0 ||
        !isa<FusibleOpInterface>(op))
      continue;
    groupOf[&op] = groups.size();
    Group &group = groups.emplace_back();
    group.ops.insert(&op);
    group.kind = classify(group.ops).kind;
    group.cost = group.kind ? getCost(group.ops, *group.kind) : costs.getCost(&op);
  }
}

Cost FusionGraph::getCost(const llvm::SetVector<Operation *> &ops, FusionKind kind) const {
  Cost generated = costs.getFusedCost(ops);
  if (kind != FusionKind::Gemm || !matchLibraryGemm(ops))
    return generated;
  Cost library = costs.getFusedCost(ops, GemmChoice::Library);
  return library.ns < generated.ns ? library : generated;
}

bool FusionGraph::isFree(const Group &group) const { return llvm::all_of(group.ops, isAlias); }

FusionGraph::Stage FusionGraph::getStage(const Group &producer) const {
  bool moves = true;
  for (Operation *op : producer.ops) {
    FusionRole role = getRole(op);
    if (role == FusionRole::Contraction || role == FusionRole::Attention ||
        role == FusionRole::AttentionGrad)
      return Stage::Epilogue;
    moves &= role == FusionRole::Index;
  }
  return moves ? Stage::Movement : Stage::Other;
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
  // Only ops before the last op of the target can be on a path to it. Groups may interleave, so
  // the bound is of ops, not of groups.
  unsigned last = position.at(groups[to].ops.back());
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
        // A merged group is entered at any of its ops and left from any of them.
        if (position.at(groups[found->second].ops.front()) <= last &&
            seen.insert(found->second).second)
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

FusionGraph::Merged FusionGraph::evaluate(Pair pair, bool onlyKernels) const {
  const Group &first = groups[pair.first], &second = groups[pair.second];
  SmallVector<Operation *> ops;
  ops.reserve(first.ops.size() + second.ops.size());
  std::merge(first.ops.begin(), first.ops.end(), second.ops.begin(), second.ops.end(),
             std::back_inserter(ops),
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Merged merged;
  merged.ops.insert(ops.begin(), ops.end());
  merged.classification = classify(merged.ops);
  if (onlyKernels && !merged.classification)
    return merged;
  merged.cost = getCost(merged.ops, merged.classification.kind.value_or(FusionKind::Rows));
  merged.gain = first.cost.ns + second.cost.ns - merged.cost.ns;
  return merged;
}

void FusionGraph::enqueue(Pair pair) {
  const Group &first = groups[pair.first], &second = groups[pair.second];
  Merged merged = evaluate(pair, /*onlyKernels=*/true);
  if (!merged.classification)
    return;
  // An alias alone costs nothing; inside its consumer it lets others come closer.
  bool gains = merged.gain > kLeastGainNs || (isFree(first) && merged.gain > -kLeastGainNs);
  if (gains)
    queue.push({getStage(first), merged.gain, pair, first.changes, second.changes});
}

void FusionGraph::enqueueNeighbours(unsigned group) {
  for (unsigned consumer : getConsumers(group))
    enqueue({group, consumer});
  for (unsigned producer : getProducers(group))
    enqueue({producer, group});
}

void FusionGraph::merge(Pair pair, Merged merged) {
  Group &kept = groups[pair.first], &gone = groups[pair.second];
  for (Operation *op : gone.ops)
    groupOf[op] = pair.first;
  kept.ops = std::move(merged.ops);
  kept.kind = merged.classification.kind;
  kept.cost = merged.cost;
  ++kept.changes;
  gone.ops.clear();
  ++gone.changes;
}

void FusionGraph::mergeProducers() {
  for (unsigned group = 0; group < groups.size(); ++group)
    for (unsigned consumer : getConsumers(group))
      enqueue({group, consumer});
  while (!queue.empty()) {
    Candidate candidate = queue.top();
    queue.pop();
    auto [first, second] = candidate.pair;
    if (groups[first].changes != candidate.firstChanges ||
        groups[second].changes != candidate.secondChanges || wouldCycle(first, second))
      continue;
    merge(candidate.pair, evaluate(candidate.pair));
    enqueueNeighbours(first);
  }
}

void FusionGraph::mergeSiblings() {
  for (unsigned group = 0; group < groups.size(); ++group)
    for (Operation *op : groups[group].ops) {
      // One number is read by updates of parameters in all layers: nothing is saved by reading it
      // once, and a kernel of several would be shared by none.
      if (op->getNumResults() == 1 &&
          cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() == 1)
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
              isFree(groups[first]) || isFree(groups[second]) || reachesIndirectly(first, second) ||
              reachesIndirectly(second, first) || llvm::is_contained(getConsumers(first), second) ||
              llvm::is_contained(getConsumers(second), first))
            continue;
          Merged merged = evaluate({first, second}, /*onlyKernels=*/true);
          if (merged.classification && merged.gain > kLeastGainNs)
            merge({first, second}, std::move(merged));
        }
    }
}

void FusionGraph::forEachDeclined(
    llvm::function_ref<void(const Group &, const Group &, const Cost &, StringRef)> visit) const {
  for (unsigned group = 0; group < groups.size(); ++group) {
    if (groups[group].ops.empty() || isFree(groups[group]))
      continue;
    for (unsigned consumer : getConsumers(group)) {
      if (isFree(groups[consumer]))
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
