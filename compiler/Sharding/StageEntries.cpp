#include "compiler/Sharding/StageEntries.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;
using runtime::PipelinePass;

std::string sinter::getCopyName(StringRef parameter, uint32_t stage) {
  return ("copy" + Twine(stage) + "." + parameter).str();
}

StageEntries::StageEntries(func::FuncOp entry, const ModelStages &model, const EntryStages &stages,
                           int64_t &channels)
    : entry(entry), model(model), stages(stages), channels(channels), isInference(infers(entry)),
      readParameters(findReadParameters(entry)) {}

void StageEntries::run() {
  findUsers();
  if (isInference)
    addInputs();
  for (Operation &op : entry.front().without_terminator()) {
    std::optional<StagePlace> place = stages.find(&op);
    if (!place)
      continue;
    for (Value operand : op.getOperands())
      use(operand, *place);
    Part &part = getPart(*place);
    OpBuilder::atBlockEnd(&part.function.front()).clone(op, part.mapping);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    addResult(i);
  Operation *last = entry;
  for (auto &[place, part] : parts) {
    finish(part);
    part.function->moveAfter(last);
    last = part.function;
  }
}

//===----------------------------------------------------------------------===//
// Who uses what
//===----------------------------------------------------------------------===//

void StageEntries::addUser(Value value, StagePlace place) {
  if (std::optional<StagePlace> made = stages.find(value); made && *made != place)
    users[value][place] = true;
}

void StageEntries::findUsers() {
  for (Operation &op : entry.front().without_terminator())
    if (std::optional<StagePlace> place = stages.find(&op))
      for (Value operand : op.getOperands())
        addUser(operand, *place);
  for (OpOperand &returned : entry.front().getTerminator()->getOpOperands())
    for (StagePlace place : listResultPlaces(returned.getOperandNumber()))
      addUser(returned.get(), place);
}

/// Who runs the entry gives each stage the same.
void StageEntries::addInputs() {
  for (uint32_t stage = 0; stage < model.getCount(); ++stage)
    for (BlockArgument argument : entry.getArguments())
      if (entry.getArgAttr(argument.getArgNumber(), SinterDialect::kInput))
        use(argument, {stage, PipelinePass::Forward});
}

/// Where a result is returned: what is put out of an inference in each stage, to the others as it
/// comes back.
SmallVector<StagePlace> StageEntries::listResultPlaces(unsigned index) {
  SmallVector<StagePlace> places = {getResultPlace(index)};
  if (isInference && entry.getResultAttr(index, SinterDialect::kOutput))
    for (uint32_t stage = 0; stage < model.getCount(); ++stage)
      if (stage != places.front().stage)
        places.push_back({stage, PipelinePass::Backward});
  return places;
}

/// What becomes of a state is where the state is; what else is returned, where it is made.
StagePlace StageEntries::getResultPlace(unsigned index) {
  Value value = entry.front().getTerminator()->getOperand(index);
  std::optional<StagePlace> made = stages.find(value);
  auto state = entry.getResultAttrOfType<StringAttr>(index, SinterDialect::kState);
  if (!state)
    return made.value_or(StagePlace{model.getCount() - 1, PipelinePass::Forward});
  uint32_t home = model.getHome(state.getValue()).value_or(0);
  if (made && made->stage == home)
    return *made;
  // Behind all that reads what it was.
  StagePlace place{home, made ? PipelinePass::Backward : PipelinePass::Forward};
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttr(argument.getArgNumber(), SinterDialect::kState) == state)
      for (Operation *user : argument.getUsers())
        if (std::optional<StagePlace> reader = stages.find(user))
          place = std::max(place, *reader);
  return place;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

StageEntries::Part &StageEntries::getPart(StagePlace place) {
  auto [known, isNew] = parts.try_emplace(place);
  Part &part = known->second;
  if (!isNew)
    return part;
  OpBuilder builder(entry);
  part.function = func::FuncOp::create(
      builder, entry.getLoc(), runtime::nameOfPass(entry.getName().str(), place.stage, place.pass),
      builder.getFunctionType({}, {}));
  part.function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
  part.function->setAttr(kPipelineStage, builder.getI64IntegerAttr(place.stage));
  part.function.addEntryBlock();
  return part;
}

/// A value of the whole entry in a part of it.
Value StageEntries::use(Value value, StagePlace place) {
  Part &part = getPart(place);
  if (Value known = part.mapping.lookupOrNull(value))
    return known;
  Value made;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    made = useArgument(argument, place);
  } else if (stages.find(value)) {
    made = useOfAnotherPart(value, place);
  } else {
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      use(operand, place);
    OpBuilder::atBlockEnd(&part.function.front()).clone(*op, part.mapping);
    return part.mapping.lookup(value);
  }
  part.mapping.map(value, made);
  return made;
}

Value StageEntries::useArgument(BlockArgument argument, StagePlace place) {
  unsigned index = argument.getArgNumber();
  NamedAttrList attributes(entry.getArgAttrDict(index));
  attributes.erase(SinterDialect::kDonated);
  if (auto name = cast_or_null<StringAttr>(attributes.get(SinterDialect::kState));
      name && readParameters[index]) {
    if (model.getHome(name.getValue()) != place.stage) {
      attributes.set(SinterDialect::kState,
                     StringAttr::get(entry.getContext(), getCopyName(name, place.stage)));
      attributes.erase(SinterDialect::kRole);
      attributes.erase(SinterDialect::kInitializer);
    }
  }
  Part &part = getPart(place);
  part.arguments.push_back(attributes);
  return part.function.front().addArgument(argument.getType(), argument.getLoc());
}

/// The attributes of a value as a result of the part that makes it, where it stays in flight.
NamedAttrList &StageEntries::makeFlight(Value value, StagePlace made) {
  Part &part = parts.at(made);
  auto [known, isNew] = part.flights.try_emplace(value, part.values.size());
  if (isNew) {
    std::string name = (entry.getName() + "." + Twine(names.size())).str();
    names[value] = name;
    part.values.push_back(part.mapping.lookup(value));
    part.results.emplace_back().set(kFlight, StringAttr::get(entry.getContext(), name));
  }
  return part.results[known->second];
}

Value StageEntries::useOfAnotherPart(Value value, StagePlace place) {
  StagePlace made = *stages.find(value);
  NamedAttrList &sent = makeFlight(value, made);
  Part &part = getPart(place);
  NamedAttrList &attributes = part.arguments.emplace_back();
  auto flight = StringAttr::get(entry.getContext(), names.at(value));
  // Of the passes of another stage that use it, the first one receives it.
  auto own = llvm::make_filter_range(
      users.at(value), [&](const auto &user) { return user.first.stage == place.stage; });
  bool receives = made.stage != place.stage && (*own.begin()).first == place;
  if (receives) {
    Builder builder(entry.getContext());
    SmallVector<int64_t> targets;
    if (auto known = dyn_cast_or_null<DenseI64ArrayAttr>(sent.get(kSend)))
      targets.assign(known.asArrayRef().begin(), known.asArrayRef().end());
    targets.append({place.stage, channels});
    sent.set(kSend, builder.getDenseI64ArrayAttr(targets));
    attributes.set(kReceive, builder.getDenseI64ArrayAttr({made.stage, channels++}));
    if (place.stage + 1 != made.stage && made.stage + 1 != place.stage)
      farSenders.insert(made.stage);
  }
  if (!receives || std::next(own.begin()) != own.end())
    attributes.set(kFlight, flight);
  return part.function.front().addArgument(value.getType(), value.getLoc());
}

void StageEntries::addResult(unsigned index) {
  for (StagePlace place : listResultPlaces(index)) {
    Value value = use(entry.front().getTerminator()->getOperand(index), place);
    Part &part = getPart(place);
    part.values.push_back(value);
    part.results.emplace_back(entry.getResultAttrDict(index));
  }
}

void StageEntries::finish(Part &part) {
  OpBuilder builder = OpBuilder::atBlockEnd(&part.function.front());
  func::ReturnOp::create(builder, entry.getLoc(), part.values);
  llvm::DenseMap<Attribute, int64_t> resultOfState;
  for (auto [i, result] : llvm::enumerate(part.results))
    if (Attribute state = result.get(SinterDialect::kState))
      resultOfState[state] = static_cast<int64_t>(i);
  for (NamedAttrList &argument : part.arguments)
    if (Attribute state = argument.get(SinterDialect::kState))
      if (auto result = resultOfState.find(state); result != resultOfState.end())
        argument.set(SinterDialect::kDonated, builder.getI64IntegerAttr(result->second));
  auto dictionaries = [&](ArrayRef<NamedAttrList> lists) {
    return llvm::map_to_vector(
        lists, [&](NamedAttrList list) { return list.getDictionary(entry.getContext()); });
  };
  part.function.setType(builder.getFunctionType(part.function.front().getArgumentTypes(),
                                                ValueRange(part.values).getTypes()));
  part.function.setAllArgAttrs(dictionaries(part.arguments));
  part.function.setAllResultAttrs(dictionaries(part.results));
}
