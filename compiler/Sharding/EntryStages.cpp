#include "compiler/Sharding/EntryStages.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"

using namespace mlir;
using namespace sinter;
using runtime::PipelinePass;

FailureOr<EntryStages> EntryStages::assign(func::FuncOp entry, const ModelStages &model,
                                           bool separateWeights) {
  EntryStages stages(entry, model);
  stages.findSources();
  for (Operation &op : entry.front().without_terminator())
    if (failed(stages.placeInStage(&op)))
      return failure();
  stages.followUsers();
  for (Operation &op : entry.front().without_terminator())
    if (failed(stages.placeInPass(&op)))
      return failure();
  if (separateWeights)
    stages.separateWeights();
  if (failed(stages.checkStates()))
    return failure();
  return stages;
}

std::optional<StagePlace> EntryStages::find(Operation *op) const {
  auto known = places.find(op);
  return known == places.end() ? std::nullopt : std::optional(known->second);
}

void EntryStages::findSources() {
  llvm::BitVector read = findReadParameters(entry);
  for (BlockArgument argument : entry.getArguments()) {
    Sources &own = sources[argument];
    own.inputs = entry.getArgAttr(argument.getArgNumber(), SinterDialect::kInput) != nullptr;
    own.parameters = read[argument.getArgNumber()];
    own.others = !own.inputs && !own.parameters;
  }
  for (Operation &op : entry.front().without_terminator()) {
    Sources all;
    for (Value operand : op.getOperands()) {
      const Sources &one = sources[operand];
      all.inputs |= one.inputs;
      all.parameters |= one.parameters;
      all.others |= one.others;
    }
    all.others |= all.inputs && all.parameters;
    for (Value result : op.getResults())
      sources[result] = all;
  }
  // What both passes use may be named by the backward pass.
  Operation *end = entry.front().getTerminator();
  for (Operation &op : llvm::reverse(entry.front().without_terminator())) {
    Stage stage = getStage(op.getLoc());
    bool isNamed = stage == Stage::Backward || stage == Stage::Recompute;
    if ((isNamed || isReadByBackward(&op)) && llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == end || isBackward(user);
        }))
      backward.insert(&op);
  }
}

/// Whether an op is computed of states alone, as the sum of gradients so far that is resharded, for
/// the backward pass. A forward pass goes ahead of backward passes of earlier microbatches, which
/// change them.
bool EntryStages::isReadByBackward(Operation *op) const {
  if (op->getNumResults() == 0)
    return false;
  const Sources &from = sources.at(op->getResult(0));
  return from.others && !from.inputs && !from.parameters &&
         llvm::any_of(op->getUsers(), [&](Operation *user) { return isBackward(user); });
}

/// The stage of the states that an op uses, where it uses any.
FailureOr<std::optional<uint32_t>> EntryStages::findHome(Operation *op) {
  std::optional<uint32_t> home;
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || !sources.at(argument).others)
      continue;
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kState);
    std::optional<uint32_t> stage = name ? model.getHome(name.getValue()) : std::nullopt;
    if (!stage || (home && home != stage))
      return op->emitError("expected states of one stage of the pipeline, each named by a "
                           "parameter, got ")
             << name;
    home = stage;
  }
  return home;
}

/// Where an op is computed: what uses a state, where that is; what uses a parameter, where that
/// part of the model is; all else where its operands are, on the way to the last stage, or the
/// first of those that have come back from a later one. On the way back that is the first of those
/// that come back, or where the part of the model is that an op with one of them is of, unless that
/// makes what is sent larger.
FailureOr<uint32_t> EntryStages::chooseStage(Operation *op) {
  FailureOr<std::optional<uint32_t>> home = findHome(op);
  if (failed(home) || *home)
    return failed(home) ? FailureOr<uint32_t>() : FailureOr<uint32_t>(**home);
  SmallVector<uint32_t> operands, returned;
  int64_t bytes = 0;
  bool readsParameter = false;
  for (Value operand : op->getOperands()) {
    readsParameter |= sources.at(operand).parameters && !sources.at(operand).others;
    std::optional<StagePlace> made = find(operand);
    if (made && isBackward(op) == isBackward(operand.getDefiningOp())) {
      operands.push_back(made->stage);
      if (lastStages.at(operand.getDefiningOp()) > made->stage)
        returned.push_back(made->stage);
      bytes += getStorageBytes(operand.getType());
    }
  }
  if (readsParameter || operands.empty())
    return model.getStage(op->getLoc());
  if (!isBackward(op))
    return returned.empty() ? *llvm::max_element(operands) : *llvm::min_element(returned);
  uint32_t first = *llvm::min_element(operands);
  for (Value result : op->getResults())
    bytes -= getStorageBytes(result.getType());
  if (operands.size() > 1 || bytes > 0 || isMadeOfOne(op))
    return first;
  return std::min(first, model.getStage(op->getLoc()));
}

LogicalResult EntryStages::placeInStage(Operation *op) {
  if (op->getNumResults() == 0 || !sources.at(op->getResult(0)).others)
    return success();
  FailureOr<uint32_t> stage = chooseStage(op);
  if (failed(stage))
    return failure();
  places[op].stage = *stage;
  uint32_t last = *stage;
  for (Value operand : op->getOperands())
    if (find(operand))
      last = std::max(last, lastStages.at(operand.getDefiningOp()));
  lastStages[op] = last;
  return success();
}

/// Whether an op is made of one value alone, which another op makes, and is no smaller.
bool EntryStages::isMadeOfOne(Operation *op) const {
  Value one;
  for (Value operand : op->getOperands()) {
    const Sources &from = sources.at(operand);
    if (!from.parameters && !from.others)
      continue;
    if (!find(operand) || (one && one != operand))
      return false;
    one = operand;
  }
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += getStorageBytes(result.getType());
  return one && getStorageBytes(one.getType()) <= bytes;
}

/// What is made of one value alone is made where it is used, so that the value is sent, once: on
/// the way back, and elsewhere where one op uses it and it is larger than the value.
void EntryStages::followUsers() {
  for (Operation &op : llvm::reverse(entry.front().without_terminator())) {
    auto known = places.find(&op);
    if (known == places.end() || op.use_empty() || !isMadeOfOne(&op))
      continue;
    uint32_t &stage = known->second.stage;
    if (isBackward(&op)) {
      uint32_t last = 0;
      for (OpOperand &use : op.getUses())
        last = std::max(last, findStageOfUse(use).value_or(stage));
      stage = std::min(stage, last);
    } else if (op.hasOneUse() && isa<BroadcastOp>(op)) {
      stage = findStageOfUse(*op.use_begin()).value_or(stage);
    }
  }
}

/// The stage that uses a value; none where it is an output.
std::optional<uint32_t> EntryStages::findStageOfUse(OpOperand &use) {
  if (std::optional<StagePlace> user = find(use.getOwner()))
    return user->stage;
  auto state = entry.getResultAttrOfType<StringAttr>(use.getOperandNumber(), SinterDialect::kState);
  return state ? model.getHome(state.getValue()) : std::nullopt;
}

LogicalResult EntryStages::placeInPass(Operation *op) {
  auto known = places.find(op);
  if (known == places.end())
    return success();
  uint32_t stage = known->second.stage;
  // The last stage need not wait for anything to come back.
  bool back = isBackward(op) && stage + 1 < model.getCount();
  for (Value operand : op->getOperands())
    if (std::optional<StagePlace> made = find(operand)) {
      bool forward = made->pass == PipelinePass::Forward;
      if (forward ? made->stage <= stage : made->stage >= stage) {
        back |= !forward;
        continue;
      }
      if (!forward)
        return op->emitError("what stage ")
               << stage << " of the pipeline computes here waits for what comes back to stage "
               << made->stage << ", and a microbatch goes forward and back once";
      back = true;
    }
  // What came forward from before and what came back meet where both have been.
  known->second.pass = back ? PipelinePass::Backward : PipelinePass::Forward;
  return success();
}

/// Of an entry with a backward pass, a state that a pass changes is read in that pass or later: an
/// earlier one goes ahead of those of other microbatches, whose changes it would lose.
LogicalResult EntryStages::checkStates() {
  if (backward.empty())
    return success();
  llvm::DenseMap<Attribute, StagePlace> writers;
  for (OpOperand &next : entry.front().getTerminator()->getOpOperands())
    if (Attribute state = entry.getResultAttr(next.getOperandNumber(), SinterDialect::kState))
      if (std::optional<StagePlace> writer = find(next.get()))
        writers[state] = *writer;
  for (BlockArgument argument : entry.getArguments()) {
    auto writer = writers.find(entry.getArgAttr(argument.getArgNumber(), SinterDialect::kState));
    if (writer == writers.end())
      continue;
    for (Operation *user : argument.getUsers())
      if (std::optional<StagePlace> reader = find(user); reader && *reader < writer->second)
        return user->emitError("expected state ")
               << writer->first << " to be read by the pass that changes it, or a later one";
  }
  return success();
}

/// Puts off what only gradients of this stage's weights are computed from.
void EntryStages::separateWeights() {
  auto waits = [&](Operation *op, StagePlace place) {
    for (OpOperand &use : op->getUses()) {
      std::optional<StagePlace> user = find(use.getOwner());
      if (!user) { // an output, or a state
        if (entry.getResultAttr(use.getOperandNumber(), SinterDialect::kOutput))
          return true;
      } else if (user->stage != place.stage || user->pass != PipelinePass::Weights) {
        return true;
      }
    }
    return false;
  };
  for (Operation &op : llvm::reverse(entry.front().without_terminator()))
    if (auto known = places.find(&op);
        known != places.end() && isBackward(&op) && !waits(&op, known->second))
      known->second.pass = PipelinePass::Weights;
}
