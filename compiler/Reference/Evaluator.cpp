#include "compiler/Reference/Evaluator.h"
#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Analysis/QuantizedStates.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;

/// What a choice is where it is to be another evaluation's; else it is written down.
static void followChoice(Location location, const ReferenceTensor &scores,
                         SmallVector<ReferenceTensor> &chosen, Choices &choices) {
  ReferenceTensor &values = chosen[0], &indices = chosen[1];
  auto place = std::pair(choices.step, getLayer(location));
  std::vector<ReferenceTensor> &made = choices.made[place];
  if (!choices.areFollowed) {
    made.push_back(indices);
    return;
  }
  size_t next = choices.followed[place]++;
  if (made.empty() || made[next % made.size()].getShape() != indices.getShape())
    return;
  indices = made[next % made.size()];
  int64_t k = indices.getShape().back(), width = scores.getShape().back();
  for (int64_t i = 0; i < indices.getNumElements(); ++i)
    values[i] = scores[i / k * width + static_cast<int64_t>(indices[i])];
}

/// Evaluates a block, and what ops in it hold or call, with its choices.
/// @param caller where a kernel is called, which layers may share
static SmallVector<ReferenceTensor> evaluateChoosing(Block &block,
                                                     ArrayRef<ReferenceTensor> arguments,
                                                     Choices &choices,
                                                     std::optional<Location> caller = {}) {
  llvm::DenseMap<Value, ReferenceTensor> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values.try_emplace(argument, value);
  auto valuesOf = [&](ValueRange of) {
    return llvm::map_to_vector(of, [&](Value value) { return values.at(value); });
  };
  for (Operation &op : block.without_terminator()) {
    SmallVector<ReferenceTensor> operands = valuesOf(op.getOperands()), results;
    auto call = dyn_cast<CallKernelOp>(op);
    if (auto fusion = dyn_cast<FusionOp>(op))
      results = evaluateChoosing(*fusion.getBlock(), operands, choices, caller);
    else if (call)
      results = evaluateChoosing(
          SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr()).front(),
          operands, choices, call.getLoc());
    else
      results = cast<ReferenceOpInterface>(op).evaluate(operands);
    if (isa<TopKOp>(op))
      followChoice(caller.value_or(op.getLoc()), operands.front(), results, choices);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      values.try_emplace(result, std::move(value));
  }
  return valuesOf(block.getTerminator()->getOperands());
}

SmallVector<ReferenceTensor> sinter::evaluateFunction(func::FuncOp function,
                                                      ArrayRef<ReferenceTensor> arguments,
                                                      Choices *choices) {
  return choices ? evaluateChoosing(function.front(), arguments, *choices)
                 : evaluateBlock(function.front(), arguments);
}

/// What results of an entry are called beside others: "logits", "state:k_cache.0", "gradient:w".
static std::string getResultName(func::FuncOp function, unsigned index) {
  DictionaryAttr attributes = function.getResultAttrDict(index);
  constexpr std::pair<StringRef, const char *> kKinds[] = {
      {SinterDialect::kOutput, ""},
      {SinterDialect::kState, "state:"},
      {SinterDialect::kPreprocessed, "preprocessed:"},
      {SinterDialect::kGradient, "gradient:"}};
  for (auto [attribute, prefix] : kKinds)
    if (StringRef name = getBoundName(attributes, attribute); !name.empty())
      return prefix + name.str();
  return "result " + std::to_string(index);
}

/// Puts what states of 8 bits stand for in the place of their numbers and scales.
static void multiplyScales(NamedTensors &values) {
  for (auto &[name, rows] : values) {
    auto scales = values.find(name + kScalesSuffix.str());
    if (scales == values.end() || rows.getType().getElementTypeBitWidth() != 8)
      continue;
    for (int64_t i = 0; i < rows.getNumElements(); ++i)
      rows[i] *= scales->second[i / rows.getShape().back()];
    values.erase(scales);
  }
}

/// Puts a part of a state where it lies in all of it.
static void putPart(BoxAttr box, const ReferenceTensor &part, NamedTensors &values) {
  ReferenceTensor &whole =
      values.try_emplace("state:" + box.getName().str(), box.getWhole()).first->second;
  for (int64_t i = 0; i < part.getNumElements(); ++i)
    whole[findInWhole(box, part.getType(), i)] = part[i];
}

std::string sinter::nameAtStep(std::string name, int64_t step) {
  return step == 0 ? std::move(name) : std::move(name) + " of step " + std::to_string(step);
}

/// How an argument or a result is split: along no axis where it does not say.
static ShardingAttr getSharding(DictionaryAttr attributes, Type type) {
  if (auto sharding =
          attributes ? attributes.getAs<ShardingAttr>(SinterDialect::kSharding) : nullptr)
    return sharding;
  return ShardingAttr::getReplicated(type.getContext(), cast<RankedTensorType>(type).getRank());
}

namespace {
/// Values of an entry's arguments or results, by rank; one rank without a grid.
using RankValues = SmallVector<SmallVector<ReferenceTensor>>;
} // namespace

static int64_t countRanks(func::FuncOp function) {
  GridAttr grid = GridAttr::lookup(function);
  return grid ? grid.getRanks() : 1;
}

/// What a rank has of an argument.
static ReferenceTensor takePart(func::FuncOp function, unsigned index, int64_t rank,
                                const ReferenceTensor &whole) {
  DictionaryAttr attributes = function.getArgAttrDict(index);
  // Before it is partitioned a function computes on whole tensors.
  if (!attributes || !attributes.contains(SinterDialect::kWhole))
    return whole;
  Type type = function.getArgumentTypes()[index];
  return takeShard(whole, getSharding(attributes, type), GridAttr::lookup(function), rank);
}

static RankValues evaluateOnRanks(func::FuncOp function, const RankValues &arguments,
                                  Choices *choices = nullptr) {
  if (GridAttr grid = GridAttr::lookup(function))
    return evaluateRanks(function, grid, arguments);
  return {evaluateFunction(function, arguments.front(), choices)};
}

/// What the ranks' results are together.
static FailureOr<SmallVector<ReferenceTensor>> joinResults(func::FuncOp function,
                                                           RankValues results) {
  GridAttr grid = GridAttr::lookup(function);
  if (!grid)
    return std::move(results.front());
  SmallVector<ReferenceTensor> joined;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    DictionaryAttr attributes = function.getResultAttrDict(i);
    Type type = function.getResultTypes()[i];
    bool split = attributes && attributes.contains(SinterDialect::kWhole);
    ShardingAttr sharding =
        split ? getSharding(attributes, type) : getSharding(DictionaryAttr(), type);
    auto parts = llvm::map_to_vector(results, [&](auto &of) { return of[i]; });
    std::string reason;
    auto whole = joinShards(parts, getWholeType(attributes, type), sharding, grid, reason);
    if (failed(whole))
      return function.emitError("expected ranks to agree on result ") << i << ": " << reason;
    joined.push_back(std::move(*whole));
  }
  return joined;
}

/// What an entry's @preprocess makes, by name: each rank's own.
static std::map<std::string, SmallVector<ReferenceTensor>>
preprocess(func::FuncOp function, const GeneratedInputs &inputs) {
  RankValues arguments(countRanks(function));
  for (auto [rank, values] : llvm::enumerate(arguments))
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      values.push_back(takePart(function, i, rank, inputs.make(function, i)));
  std::map<std::string, SmallVector<ReferenceTensor>> made;
  for (SmallVector<ReferenceTensor> &values : evaluateOnRanks(function, arguments))
    for (auto [i, value] : llvm::enumerate(values))
      made[getResultName(function, i)].push_back(std::move(value));
  return made;
}

FailureOr<NamedTensors> sinter::evaluateEntry(ModuleOp module, StringRef entry,
                                              const GeneratedInputs &inputs, Choices *choices) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function)
    return module.emitError("expected an entry function named ") << entry;
  std::map<std::string, SmallVector<ReferenceTensor>> preprocessed;
  if (auto before = module.lookupSymbol<func::FuncOp>(getPreprocessName(function)))
    preprocessed = preprocess(before, inputs);
  NamedTensors states, results;
  for (int64_t step = 0; step < inputs.steps; ++step) {
    if (choices)
      choices->step = step;
    RankValues arguments(countRanks(function));
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      if (StringRef name = getBoundName(attributes, SinterDialect::kPreprocessed); !name.empty()) {
        auto found = preprocessed.find(("preprocessed:" + name).str());
        if (found == preprocessed.end())
          return function.emitError("expected @preprocess to have a result named ") << name;
        for (auto [values, part] : llvm::zip_equal(arguments, found->second))
          values.push_back(part);
        continue;
      }
      StringRef state = getBoundName(attributes, SinterDialect::kState);
      auto before = states.find(("state:" + state).str());
      ReferenceTensor whole =
          before == states.end() ? inputs.make(function, i, step) : before->second;
      for (auto [rank, values] : llvm::enumerate(arguments))
        values.push_back(takePart(function, i, rank, whole));
    }
    FailureOr<SmallVector<ReferenceTensor>> values =
        joinResults(function, evaluateOnRanks(function, arguments, choices));
    if (failed(values))
      return failure();
    NamedTensors ofStep;
    for (auto [i, value] : llvm::enumerate(*values)) {
      std::string name = getResultName(function, i);
      if (StringRef(name).starts_with("state:"))
        states[name] = value;
      DictionaryAttr attributes = function.getResultAttrDict(i);
      if (auto box = attributes ? attributes.getAs<BoxAttr>(SinterDialect::kBox) : nullptr)
        putPart(box, value, ofStep);
      else
        ofStep[std::move(name)] = std::move(value);
    }
    multiplyScales(ofStep);
    for (auto &[name, value] : ofStep)
      results[nameAtStep(name, step)] = std::move(value);
    if (states.empty())
      break;
  }
  return results;
}

double sinter::relativeError(const NamedTensors &actual, const NamedTensors &expected,
                             double floor) {
  double worst = 0;
  for (const auto &[name, b] : expected) {
    auto found = actual.find(name);
    if (found == actual.end() || found->second.getShape() != b.getShape())
      return std::numeric_limits<double>::infinity();
    double difference = 0, norm = 0;
    for (auto [x, y] : llvm::zip_equal(found->second.data(), b.data())) {
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    if (difference == 0)
      continue;
    double least = floor * std::sqrt(static_cast<double>(b.getNumElements()));
    double error = std::sqrt(difference) / std::max(std::sqrt(norm), least);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}
