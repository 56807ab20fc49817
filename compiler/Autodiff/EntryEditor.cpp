#include "compiler/Autodiff/EntryEditor.h"

using namespace mlir;
using namespace sinter;

EntryEditor::EntryEditor(func::FuncOp function)
    : function(function), builder(function.front().getTerminator()),
      values(function.front().getTerminator()->getOperands()) {
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

BlockArgument EntryEditor::getInput(StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto bound =
            function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kInput))
      if (bound.getValue() == name)
        return argument;
  return addArgument(RankedTensorType::get({}, builder.getF32Type()), SinterDialect::kInput, name);
}

BlockArgument EntryEditor::addState(StringRef name, RankedTensorType type) {
  return addArgument(type, SinterDialect::kState, name);
}

BlockArgument EntryEditor::addArgument(Type type, StringRef attribute, StringRef name) {
  unsigned index = function.getNumArguments();
  StringAttr text = builder.getStringAttr(name);
  (void)function.insertArgument(index, type,
                                builder.getDictionaryAttr(builder.getNamedAttr(attribute, text)),
                                NameLoc::get(text));
  return function.getArgument(index);
}

void EntryEditor::setState(BlockArgument state, Value next) {
  unsigned index = state.getArgNumber();
  function.setArgAttr(index, SinterDialect::kDonated, builder.getI64IntegerAttr(values.size()));
  values.push_back(next);
  attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      SinterDialect::kState, function.getArgAttr(index, SinterDialect::kState))));
}

void EntryEditor::addOutput(StringRef name, Value value) {
  values.push_back(value);
  attributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(SinterDialect::kOutput, builder.getStringAttr(name))));
}

void EntryEditor::eraseResults(StringRef attribute) {
  for (size_t i = values.size(); i-- > 0;) {
    if (!attributes[i] || !attributes[i].contains(attribute))
      continue;
    values.erase(values.begin() + i);
    attributes.erase(attributes.begin() + i);
    // Donations refer to results by position.
    for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
      if (auto donated = function.getArgAttrOfType<IntegerAttr>(argument, SinterDialect::kDonated);
          donated && donated.getInt() > static_cast<int64_t>(i))
        function.setArgAttr(argument, SinterDialect::kDonated,
                            builder.getI64IntegerAttr(donated.getInt() - 1));
  }
}

void EntryEditor::finish() {
  function.front().getTerminator()->setOperands(values);
  function.removeResAttrsAttr();
  function.setFunctionType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
}
