#include "compiler/Analysis/EntryEditor.h"

using namespace mlir;
using namespace sinter;

BlockArgument sinter::findInput(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto bound = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput);
        bound && bound.getValue() == name)
      return function.getArgument(i);
  return nullptr;
}

EntryEditor::EntryEditor(func::FuncOp function)
    : function(function), builder(function.front().getTerminator()),
      values(function.front().getTerminator()->getOperands()) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    argumentAttributes.emplace_back(function.getArgAttrDict(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    attributes.push_back(function.getResultAttrDict(i));
}

EntryEditor::EntryEditor(StringRef name, func::FuncOp after) : builder(after.getContext()) {
  builder.setInsertionPointAfter(after);
  function = func::FuncOp::create(builder, after.getLoc(), name, builder.getFunctionType({}, {}));
  function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
  builder.setInsertionPointToEnd(function.addEntryBlock());
  builder.setInsertionPoint(func::ReturnOp::create(builder, after.getLoc()));
}

BlockArgument EntryEditor::getInput(StringRef name, RankedTensorType type) {
  BlockArgument &input = inputs[name];
  if (!input)
    input = findInput(function, name);
  if (!input)
    input = addArgument(type ? type : RankedTensorType::get({}, builder.getF32Type()),
                        SinterDialect::kInput, name);
  return input;
}

BlockArgument EntryEditor::addState(StringRef name, RankedTensorType type, std::optional<Role> role,
                                    NormalAttr initializer) {
  BlockArgument state = addArgument(type, SinterDialect::kState, name);
  if (role)
    argumentAttributes.back().set(SinterDialect::kRole, RoleAttr::get(builder.getContext(), *role));
  if (initializer)
    argumentAttributes.back().set(SinterDialect::kInitializer, initializer);
  return state;
}

BlockArgument EntryEditor::addArgument(Type type, StringRef attribute, StringRef name) {
  StringAttr text = builder.getStringAttr(name);
  argumentAttributes.emplace_back().set(attribute, text);
  return function.front().addArgument(type, NameLoc::get(text));
}

void EntryEditor::setState(BlockArgument state, Value next) {
  NamedAttrList &known = argumentAttributes[state.getArgNumber()];
  known.set(SinterDialect::kDonated, builder.getI64IntegerAttr(values.size()));
  values.push_back(next);
  attributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(SinterDialect::kState, known.get(SinterDialect::kState))));
}

void EntryEditor::addOutput(StringRef name, Value value) {
  values.push_back(value);
  attributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(SinterDialect::kOutput, builder.getStringAttr(name))));
}

void EntryEditor::eraseResults(StringRef attribute) {
  SmallVector<int64_t> places; ///< of results, among those that stay
  SmallVector<Value> keptValues;
  SmallVector<DictionaryAttr> keptAttributes;
  for (auto [value, known] : llvm::zip_equal(values, attributes)) {
    places.push_back(static_cast<int64_t>(keptValues.size()));
    if (known && known.contains(attribute))
      continue;
    keptValues.push_back(value);
    keptAttributes.push_back(known);
  }
  values = std::move(keptValues);
  attributes = std::move(keptAttributes);
  // Donations refer to results by position.
  for (NamedAttrList &known : argumentAttributes)
    if (auto donated = dyn_cast_or_null<IntegerAttr>(known.get(SinterDialect::kDonated)))
      known.set(SinterDialect::kDonated, builder.getI64IntegerAttr(places[donated.getInt()]));
}

void EntryEditor::finish() {
  function.front().getTerminator()->setOperands(values);
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  function.setFunctionType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllArgAttrs(llvm::map_to_vector(argumentAttributes, [&](NamedAttrList &known) {
    return known.getDictionary(builder.getContext());
  }));
  function.setAllResultAttrs(attributes);
}
