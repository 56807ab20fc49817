#include "compiler/Sharding/ModelStages.h"
#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Analysis/CostModel.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "llvm/ADT/StringSet.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace sinter;

static bool isForward(Operation &op) { return getStage(op.getLoc()) == Stage::Forward; }

/// Whether the name of a place in a model ends in a layer's number.
static bool isLayer(StringRef name) {
  StringRef number = name.rsplit('.').second;
  return !number.empty() && llvm::all_of(number, llvm::isDigit);
}

/// The ops that inputs reach, in order. What is made of parameters alone may stand anywhere.
static SmallVector<Operation *> listReached(func::FuncOp entry) {
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> reached;
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttr(argument.getArgNumber(), SinterDialect::kInput))
      reached.insert(argument);
  for (Operation &op : entry.front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); })) {
      reached.insert(op.result_begin(), op.result_end());
      ops.push_back(&op);
    }
  return ops;
}

llvm::SetVector<StringAttr> sinter::listLayers(func::FuncOp entry) {
  llvm::SetVector<StringAttr> layers;
  for (Operation *op : listReached(entry))
    if (std::string name = getLayer(op->getLoc()); isForward(*op) && isLayer(name))
      layers.insert(StringAttr::get(entry.getContext(), name));
  return layers;
}

func::FuncOp sinter::findModelEntry(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput);
          name && name.getValue() == "tokens")
        return function;
  return nullptr;
}

bool sinter::infers(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttr(i, SinterDialect::kParameter))
      return true;
  return false;
}

llvm::BitVector sinter::findReadParameters(func::FuncOp entry) {
  llvm::DenseSet<Attribute> changed;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (Attribute state = entry.getResultAttr(i, SinterDialect::kState))
      changed.insert(state);
  llvm::BitVector read(entry.getNumArguments());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto role = entry.getArgAttrOfType<RoleAttr>(i, SinterDialect::kRole);
    read[i] = entry.getArgAttr(i, SinterDialect::kParameter) ||
              (role && role.getValue() == Role::Parameter &&
               !changed.contains(entry.getArgAttr(i, SinterDialect::kState)));
  }
  return read;
}

Expected<SmallVector<size_t>> sinter::parseStageLayers(StringRef text, size_t stages,
                                                       size_t layers) {
  auto bad = [&](const Twine &why) {
    std::string example;
    for (size_t stage = 0; stage < stages; ++stage) {
      size_t begin = stage * layers / stages, end = (stage + 1) * layers / stages;
      example += (stage ? "," : "") + std::to_string(begin) +
                 (end - begin > 1 ? "-" + std::to_string(end - 1) : "");
    }
    return fail("`stages` " + text.str(), why.str(), "write " + example + ", for example");
  };
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  if (parts.size() != stages)
    return bad("these are " + Twine(parts.size()) + ", and the grid has " + Twine(stages));
  SmallVector<size_t> ends;
  for (StringRef part : parts) {
    auto [first, last] = part.split('-');
    size_t begin = 0, end = 0;
    if (first.getAsInteger(10, begin) ||
        (last.empty() ? part.contains('-') : last.getAsInteger(10, end)))
      return bad("'" + Twine(part) + "' is no range of layers");
    end = last.empty() ? begin : end;
    if (begin != (ends.empty() ? 0 : ends.back()) || end < begin)
      return bad("'" + Twine(part) + "' does not go on with layer " +
                 Twine(ends.empty() ? 0 : ends.back()));
    ends.push_back(end + 1);
  }
  if (ends.back() != layers)
    return bad("the model has layers 0 to " + Twine(layers - 1));
  return ends;
}

/// The ends of `stages` parts of a list of costs, of which the dearest is as cheap as can be; none
/// where so many cannot be.
/// @param joined the layers with which no part but the first one begins
static SmallVector<size_t> balance(ArrayRef<double> costs, size_t stages,
                                   const llvm::BitVector &joined) {
  size_t count = costs.size();
  SmallVector<double> sums = {0};
  for (double cost : costs)
    sums.push_back(sums.back() + cost);
  // The dearest part of the first n in s parts, and where the last of these begins.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::pair<double, size_t>>> best(
      stages + 1, std::vector<std::pair<double, size_t>>(count + 1, {kNone, 0}));
  best[0][0].first = 0;
  for (size_t s = 1; s <= stages; ++s)
    for (size_t n = s; n <= count; ++n)
      for (size_t begin = s - 1; begin < n; ++begin)
        if (begin == 0 || !joined[begin])
          best[s][n] = std::min(best[s][n],
                                {std::max(best[s - 1][begin].first, sums[n] - sums[begin]), begin});
  if (best[stages][count].first == kNone)
    return {};
  SmallVector<size_t> ends(stages);
  for (size_t s = stages, n = count; s > 0; n = best[s--][n].second)
    ends[s - 1] = n;
  return ends;
}

/// The names of places before the first layer.
static llvm::StringSet<> listPlacesBefore(func::FuncOp entry) {
  llvm::StringSet<> before;
  for (Operation *op : listReached(entry)) {
    std::string name = getLayer(op->getLoc());
    if (isLayer(name))
      break;
    before.insert(name);
  }
  return before;
}

/// What each layer takes, with what is before the first one and behind the last one.
static SmallVector<double> predictLayers(func::FuncOp entry,
                                         const llvm::SetVector<StringAttr> &layers) {
  llvm::StringMap<size_t> index;
  for (auto [i, name] : llvm::enumerate(layers))
    index[name.getValue()] = i;
  SmallVector<double> costs(layers.size());
  TargetAttr target = TargetAttr::lookup(entry);
  llvm::StringSet<> before = listPlacesBefore(entry);
  for (Operation &op : entry.front().without_terminator()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost)
      continue;
    std::string name = getLayer(op.getLoc());
    auto known = index.find(name);
    size_t layer = known != index.end()    ? known->second
                   : before.contains(name) ? 0
                                           : layers.size() - 1;
    costs[layer] += target ? CostModel(target).getCost(&op).ns : double(cost.getFlops());
  }
  return costs;
}

/// The layers that are of one stage with the layer before them: a layer that uses the keys and
/// values of an earlier one, and those between. A stage has the cache that its layers read, and a
/// gradient comes back from one stage.
static llvm::BitVector findJoined(func::FuncOp entry, const llvm::SetVector<StringAttr> &layers) {
  llvm::BitVector joined(layers.size());
  auto find = [&](Operation *op) -> size_t {
    auto name = StringAttr::get(entry.getContext(), getLayer(op->getLoc()));
    return llvm::find(layers, name) - layers.begin();
  };
  for (auto attention : entry.getOps<AttentionOp>()) {
    Operation *keys = attention.getKey().getDefiningOp();
    size_t user = find(attention), maker = keys ? find(keys) : user;
    if (maker < user && user < layers.size())
      joined.set(maker + 1, user + 1);
  }
  return joined;
}

Expected<ModelStages> ModelStages::make(ModuleOp module, uint32_t stages, StringRef layerRanges) {
  func::FuncOp entry = findModelEntry(module);
  llvm::SetVector<StringAttr> layers;
  if (entry)
    layers = listLayers(entry);
  if (layers.size() < stages)
    return fail("`grid`",
                std::to_string(stages) + " stages of a pipeline are more than the model's " +
                    std::to_string(layers.size()) + " layers",
                "give fewer");
  SmallVector<double> costs = predictLayers(entry, layers);
  llvm::BitVector joined = findJoined(entry, layers);
  SmallVector<size_t> ends;
  if (layerRanges.empty()) {
    ends = balance(costs, stages, joined);
    if (ends.empty())
      return fail("`grid`",
                  std::to_string(stages) + " stages of a pipeline are more than the " +
                      std::to_string(layers.size() - joined.count()) +
                      " that layers make of which some use the keys and values of others",
                  "give fewer");
  } else {
    SINTER_TRY(ends, parseStageLayers(layerRanges, stages, layers.size()));
    for (size_t end : ends)
      if (end < layers.size() && joined[end])
        return fail("`stages` " + layerRanges.str(),
                    "layers " + std::to_string(end - 1) + " and " + std::to_string(end) +
                        " are of one stage: layers use keys and values of others",
                    "write other ranges, or leave it out");
  }
  ModelStages result;
  result.count = stages;
  double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  for (size_t begin = 0; size_t end : ends) {
    double own = std::accumulate(costs.begin() + begin, costs.begin() + end, 0.0);
    result.parts.push_back({begin, end, all == 0 ? 0 : own / all});
    begin = end;
  }
  uint32_t stage = 0;
  for (auto [i, name] : llvm::enumerate(layers)) {
    stage += i == ends[stage];
    result.stages[name.getValue()] = stage;
  }
  // All else that is no layer is the last stage's.
  for (const auto &name : listPlacesBefore(entry))
    result.stages.try_emplace(name.first(), 0);
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(SinterDialect::kEntry)) {
      result.placeParameters(function);
      result.placeCaches(function);
    }
  return result;
}

/// A parameter is of the first stage that reads it.
void ModelStages::placeParameters(func::FuncOp entry) {
  llvm::BitVector read = findReadParameters(entry);
  // What is made of parameters and constants alone is made where it is used (EntryStages).
  llvm::DenseSet<Operation *> made;
  for (Operation &op : entry.front().without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value operand) {
          auto argument = dyn_cast<BlockArgument>(operand);
          return argument ? read[argument.getArgNumber()] : made.contains(operand.getDefiningOp());
        }))
      made.insert(&op);
  for (BlockArgument argument : entry.getArguments()) {
    // Each stage preprocesses for itself what it reads of weights that are no states.
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kState);
    if (!name || !read[argument.getArgNumber()])
      continue;
    llvm::SetVector<uint32_t> readers;
    llvm::SetVector<Value> values;
    values.insert(argument);
    for (size_t i = 0; i < values.size(); ++i)
      for (Operation *user : values[i].getUsers()) {
        if (made.contains(user))
          values.insert(user->result_begin(), user->result_end());
        else if (!isa<func::ReturnOp>(user))
          readers.insert(getStage(user->getLoc()));
      }
    if (readers.empty())
      continue;
    uint32_t home = *llvm::min_element(readers);
    homes.try_emplace(name.getValue(), home);
    for (uint32_t reader : readers)
      if (reader != home)
        copies[name].insert(reader);
  }
}

/// A cache, or what a layer keeps in its place, is of the stage whose layer uses it, or what a rank
/// takes of it first.
void ModelStages::placeCaches(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto role = entry.getArgAttrOfType<RoleAttr>(index, SinterDialect::kRole);
    if (!role || (role.getValue() != Role::KvCache && role.getValue() != Role::Recurrent))
      continue;
    auto name = entry.getArgAttrOfType<StringAttr>(index, SinterDialect::kState);
    SmallVector<Value> values = {argument};
    for (size_t i = 0; i < values.size() && !homes.contains(name); ++i)
      for (Operation *user : values[i].getUsers()) {
        if (auto known = stages.find(getLayer(user->getLoc())); known != stages.end())
          homes.try_emplace(name.getValue(), known->second);
        else
          llvm::append_range(values, user->getResults());
      }
  }
}

std::optional<uint32_t> ModelStages::findStageWithoutParameters() const {
  for (uint32_t stage = 0; stage < count; ++stage)
    if (llvm::none_of(homes, [&](const auto &home) { return home.second == stage; }))
      return stage;
  return std::nullopt;
}

uint32_t ModelStages::getStage(Location location) const {
  auto known = stages.find(getLayer(location));
  return known == stages.end() ? count - 1 : known->second;
}

std::optional<uint32_t> ModelStages::getHome(StringRef state) const {
  if (auto known = homes.find(state); known != homes.end())
    return known->second;
  // "gradient.w", "adamw.m.w"
  for (size_t dot = state.find('.'); dot != StringRef::npos; dot = state.find('.', dot + 1))
    if (auto known = homes.find(state.drop_front(dot + 1)); known != homes.end())
      return known->second;
  return std::nullopt;
}
