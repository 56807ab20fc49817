#include "compiler/Reference/GeneratedInputs.h"
#include "dialects/Sinter/SinterDialect.h"
#include "runtime/Weights/IntegerFormat.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter;

StringRef sinter::getBoundName(DictionaryAttr attributes, StringRef attribute) {
  auto name = attributes ? attributes.getAs<StringAttr>(attribute) : StringAttr();
  return name ? name.getValue() : StringRef();
}

RankedTensorType sinter::getWholeType(DictionaryAttr attributes, Type type) {
  auto whole = attributes ? attributes.getAs<TypeAttr>(SinterDialect::kWhole) : nullptr;
  return cast<RankedTensorType>(whole ? whole.getValue() : type);
}

int64_t sinter::findInWhole(BoxAttr box, RankedTensorType part, int64_t element) {
  int64_t place = 0, stride = 1;
  for (int64_t dim = part.getRank() - 1; dim >= 0; --dim) {
    place += (box.getOffsets()[dim] + element % part.getDimSize(dim)) * stride;
    element /= part.getDimSize(dim);
    stride *= box.getWhole().getDimSize(dim);
  }
  return place;
}

/// How many tokens of what vocabulary an entry takes.
static void readTokens(BlockArgument tokens, GeneratedInputs &entry) {
  entry.chunk = cast<RankedTensorType>(tokens.getType()).getDimSize(1);
  for (Operation *user : tokens.getUsers())
    if (auto lookup = dyn_cast<LookupOpInterface>(user))
      entry.vocabulary = cast<RankedTensorType>(lookup.getTable().getType()).getDimSize(0);
}

EntryInputs sinter::makeEntryInputs(ModuleOp module, const GeneratedInputs &inputs) {
  EntryInputs entries;
  GeneratedInputs common = inputs;
  for (auto function : module.getOps<func::FuncOp>()) {
    GeneratedInputs &entry = entries[function.getName().str()] = inputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (StringRef name = getBoundName(attributes, SinterDialect::kParameter); !name.empty())
        common.parameters.insert(name.str());
      if (getBoundName(attributes, SinterDialect::kInput) == "tokens" && type.getRank() == 2)
        readTokens(function.getArgument(i), entry);
      auto role = attributes ? attributes.getAs<RoleAttr>(SinterDialect::kRole) : RoleAttr();
      if (role && role.getValue() == Role::KvCache)
        entry.maxSequence = type.getDimSize(1);
    }
  }
  for (auto &[name, entry] : entries)
    entry.parameters = common.parameters;
  return entries;
}

/// Numbers that depend on a name and a seed alone.
static std::mt19937_64 seedBy(StringRef name, uint64_t seed) {
  return std::mt19937_64(llvm::xxh3_64bits(name) ^ seed);
}

static ReferenceTensor makeNormal(StringRef name, RankedTensorType type, uint64_t seed,
                                  double deviation) {
  ReferenceTensor tensor(type);
  std::mt19937_64 random = seedBy(name, seed);
  std::normal_distribution<double> normal(0.0, deviation);
  for (double &value : tensor.data())
    value = normal(random);
  tensor.round();
  return tensor;
}

ReferenceTensor GeneratedInputs::makeDirection(StringRef name, RankedTensorType type) const {
  return makeNormal(("direction of " + name).str(), type, seed, 1.0);
}

static ReferenceTensor makeIntegers(StringRef name, RankedTensorType type, uint64_t seed) {
  ReferenceTensor tensor(type);
  std::mt19937_64 random = seedBy(name, seed);
  int64_t largest = (int64_t(1) << (type.getElementTypeBitWidth() - 1)) - 1;
  std::uniform_int_distribution<int64_t> any(-largest, largest);
  for (double &value : tensor.data())
    value = static_cast<double>(any(random));
  return tensor;
}

/// The deviation of a parameter's numbers: wide rows of large ones, and integers times large
/// scales, would saturate every softmax behind them.
static double getDeviation(StringRef name, RankedTensorType type) {
  if (name.ends_with(scalesSuffix))
    return 0.01;
  if (name.ends_with(minimaSuffix))
    return 0.05;
  int64_t width = type.getRank() > 1 ? type.getShape().back() : 1;
  return std::min(0.5, 2.0 / std::sqrt(static_cast<double>(width)));
}

ReferenceTensor GeneratedInputs::makeParameter(StringRef name, RankedTensorType type,
                                               bool isFixed) const {
  if (isa<IntegerType>(type.getElementType()))
    return makeIntegers(name, type, seed);
  ReferenceTensor tensor = makeNormal(name, type, seed, getDeviation(name, type));
  if (shift == 0 || isFixed || (!shifted.empty() && name != shifted))
    return tensor;
  ReferenceTensor direction = makeDirection(name, type);
  for (auto [value, along] : llvm::zip_equal(tensor.data(), direction.data()))
    value += shift * along;
  return tensor;
}

int64_t GeneratedInputs::makeCount(int64_t slot, int64_t step) const {
  std::mt19937_64 random = seedBy("count " + std::to_string(slot * 64 + step), seed);
  return std::uniform_int_distribution<int64_t>(1, std::max<int64_t>(1, chunk))(random);
}

int64_t GeneratedInputs::makeStart(int64_t slot, int64_t step) const {
  std::mt19937_64 random = seedBy("start " + std::to_string(slot), seed);
  int64_t room = std::max<int64_t>(0, maxSequence - steps * chunk);
  int64_t start = std::uniform_int_distribution<int64_t>(0, room)(random);
  if (maxSequence > 0)
    for (int64_t before = 0; before < step; ++before)
      start += makeCount(slot, before);
  return start;
}

ReferenceTensor GeneratedInputs::makeInput(StringRef name, RankedTensorType type,
                                           int64_t step) const {
  ReferenceTensor tensor(type);
  if (name == "count" || name == "start") {
    for (int64_t slot = 0; slot < tensor.getNumElements(); ++slot)
      tensor[slot] =
          static_cast<double>(name == "count" ? makeCount(slot, step) : makeStart(slot, step));
    return tensor;
  }
  std::string stepName = (name + " of step " + Twine(step)).str();
  if (name == "tokens" || name == "targets" || name == "seed") {
    std::mt19937_64 random = seedBy(stepName, seed);
    std::uniform_int_distribution<int64_t> any(0, vocabulary - 1);
    for (double &value : tensor.data())
      value = static_cast<double>(any(random));
    return tensor;
  }
  if (isa<IntegerType>(type.getElementType()))
    return tensor;
  double number = llvm::StringSwitch<double>(name)
                      .Case("loss_weight", 0.1)
                      .Case("loss_scale", 8)
                      .Case("learning_rate", 0.05)
                      .Case("adamw_learning_rate", 0.02)
                      .Case("bias_correction1", 1 - std::pow(0.9, step + 1))
                      .Case("bias_correction2", 1 - std::pow(0.95, step + 1))
                      .Case("update", static_cast<double>(step + 1))
                      .Default(0);
  if (number == 0)
    return makeNormal(stepName, type, seed, 0.5);
  llvm::fill(tensor.data(), number);
  return tensor;
}

ReferenceTensor GeneratedInputs::makeState(StringRef name, DictionaryAttr attributes,
                                           RankedTensorType type) const {
  if (auto box = attributes.getAs<BoxAttr>(SinterDialect::kBox)) {
    NamedAttrList others(attributes);
    others.erase(SinterDialect::kBox);
    ReferenceTensor whole =
        makeState(box.getName(), others.getDictionary(attributes.getContext()), box.getWhole());
    ReferenceTensor part(type);
    for (int64_t i = 0; i < part.getNumElements(); ++i)
      part[i] = whole[findInWhole(box, type, i)];
    return part;
  }
  auto role = attributes.getAs<RoleAttr>(SinterDialect::kRole);
  if (role && role.getValue() == Role::Gradient)
    return makeNormal(name, type, seed, 1.0);
  return parameters.contains(std::string_view(name)) ? makeParameter(name, type)
                                                     : ReferenceTensor(type);
}

ReferenceTensor GeneratedInputs::make(func::FuncOp function, unsigned index, int64_t step) const {
  DictionaryAttr attributes = function.getArgAttrDict(index);
  RankedTensorType type = getWholeType(attributes, function.getArgumentTypes()[index]);
  if (StringRef name = getBoundName(attributes, SinterDialect::kState); !name.empty())
    return makeState(name, attributes, type);
  if (StringRef name = getBoundName(attributes, SinterDialect::kParameter); !name.empty()) {
    ReferenceTensor parameter =
        makeParameter(name, type, attributes.contains(SinterDialect::kFixed));
    if (auto values = attributes.getAs<DenseI8ArrayAttr>(SinterDialect::kValues))
      for (double &value : parameter.data())
        value = values[static_cast<int64_t>(value) & 15];
    return parameter;
  }
  StringRef name = getBoundName(attributes, SinterDialect::kInput);
  return makeInput(name.empty() ? "argument " + std::to_string(index) : name.str(), type, step);
}
