#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace sinter;

SmallVector<ReferenceTensor> sinter::evaluateFunction(func::FuncOp function,
                                                      ArrayRef<ReferenceTensor> arguments) {
  return evaluateBlock(function.front(), arguments);
}

/// The name under which an attribute of an argument or result binds it, or an empty one.
static StringRef getName(DictionaryAttr attributes, StringRef attribute) {
  auto name = attributes ? attributes.getAs<StringAttr>(attribute) : StringAttr();
  return name ? name.getValue() : StringRef();
}

ReferenceTensor sinter::makeArgument(func::FuncOp function, unsigned index, uint64_t seed) {
  DictionaryAttr attributes = function.getArgAttrDict(index);
  std::string name = "argument " + std::to_string(index);
  for (StringRef attribute :
       {SinterDialect::kParameter, SinterDialect::kState, SinterDialect::kInput})
    if (StringRef found = getName(attributes, attribute); !found.empty())
      name = found.str();

  ReferenceTensor tensor(cast<RankedTensorType>(function.getArgumentTypes()[index]));
  // State is zero at first, as the runtime has it.
  if (!getName(attributes, SinterDialect::kState).empty())
    return tensor;
  std::mt19937_64 random(llvm::xxh3_64bits(name) ^ seed);
  bool integers = isa<IntegerType>(tensor.getType().getElementType());
  std::uniform_int_distribution<int> small(0, name == "tokens" ? 63 : 0), positive(1, 4);
  std::normal_distribution<double> normal(0.0, 0.5);
  for (double &value : tensor.data())
    value = !integers ? normal(random) : name == "count" ? positive(random) : small(random);
  tensor.round();
  return tensor;
}

FailureOr<NamedTensors> sinter::evaluateEntry(ModuleOp module, StringRef entry, uint64_t seed) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function)
    return module.emitError("expected an entry function named ") << entry;
  NamedTensors prepared;
  SmallVector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringRef name = getName(function.getArgAttrDict(i), SinterDialect::kPrepared);
    if (name.empty()) {
      arguments.push_back(makeArgument(function, i, seed));
      continue;
    }
    if (prepared.empty()) {
      auto results = evaluateEntry(module, SinterDialect::kPrepareEntry, seed);
      if (failed(results))
        return failure();
      prepared = std::move(*results);
    }
    auto found = prepared.find(("prepared:" + name).str());
    if (found == prepared.end())
      return function.emitError("expected @prepare to have a result named ") << name;
    arguments.push_back(found->second);
  }

  SmallVector<ReferenceTensor> values = evaluateFunction(function, arguments);
  NamedTensors results;
  for (auto [i, value] : llvm::enumerate(values)) {
    DictionaryAttr attributes = function.getResultAttrDict(i);
    std::string name = "result " + std::to_string(i);
    if (StringRef output = getName(attributes, SinterDialect::kOutput); !output.empty())
      name = output.str();
    else if (StringRef state = getName(attributes, SinterDialect::kState); !state.empty())
      name = ("state:" + state).str();
    else if (StringRef parameter = getName(attributes, SinterDialect::kPrepared);
             !parameter.empty())
      name = ("prepared:" + parameter).str();
    results[name] = std::move(value);
  }
  return results;
}

double sinter::relativeError(const NamedTensors &actual, const NamedTensors &expected) {
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
    double error = std::sqrt(difference / norm);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}
