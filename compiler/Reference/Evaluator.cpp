#include "compiler/Reference/Evaluator.h"
#include "compiler/Analysis/QuantizedStates.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;

SmallVector<ReferenceTensor> sinter::evaluateFunction(func::FuncOp function,
                                                      ArrayRef<ReferenceTensor> arguments) {
  return evaluateBlock(function.front(), arguments);
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

/// evaluateFunction, or with a grid the same by all of its ranks.
static FailureOr<SmallVector<ReferenceTensor>> evaluateWhole(func::FuncOp function,
                                                             ArrayRef<ReferenceTensor> arguments) {
  GridAttr grid = GridAttr::lookup(function);
  if (!grid)
    return evaluateFunction(function, arguments);
  SmallVector<SmallVector<ReferenceTensor>> perRank(grid.getRanks());
  for (auto [rank, parts] : llvm::enumerate(perRank))
    for (auto [i, whole] : llvm::enumerate(arguments)) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      Type type = function.getArgumentTypes()[i];
      // Before it is partitioned a function computes on whole tensors.
      bool split = attributes && attributes.contains(SinterDialect::kWhole);
      parts.push_back(split ? takeShard(whole, getSharding(attributes, type), grid, rank) : whole);
    }
  SmallVector<SmallVector<ReferenceTensor>> results = evaluateRanks(function, grid, perRank);
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

FailureOr<NamedTensors> sinter::evaluateEntry(ModuleOp module, StringRef entry,
                                              const GeneratedInputs &inputs) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function)
    return module.emitError("expected an entry function named ") << entry;
  NamedTensors preprocessed, states, results;
  for (int64_t step = 0; step < inputs.steps; ++step) {
    SmallVector<ReferenceTensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      StringRef name = getBoundName(attributes, SinterDialect::kPreprocessed);
      if (name.empty()) {
        StringRef state = getBoundName(attributes, SinterDialect::kState);
        auto before = states.find(("state:" + state).str());
        arguments.push_back(before == states.end() ? inputs.make(function, i, step)
                                                   : before->second);
        continue;
      }
      if (preprocessed.empty()) {
        auto made = evaluateEntry(module, getPreprocessName(function), inputs);
        if (failed(made))
          return failure();
        preprocessed = std::move(*made);
      }
      auto found = preprocessed.find(("preprocessed:" + name).str());
      if (found == preprocessed.end())
        return function.emitError("expected @preprocess to have a result named ") << name;
      arguments.push_back(found->second);
    }
    FailureOr<SmallVector<ReferenceTensor>> values = evaluateWhole(function, arguments);
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
