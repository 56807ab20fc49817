#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace sinter {
#define GEN_PASS_DEF_HOISTPARAMETERSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// Equality of ops with the same operands.
struct SameComputation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a),
                                                const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }
};

/// An entry @preprocess while it grows: each parameter and each computation once.
class Preprocessing {
public:
  /// For the ranks that run `entry`.
  explicit Preprocessing(func::FuncOp entry)
      : builder(OpBuilder::atBlockBegin(entry->getParentOfType<ModuleOp>().getBody())) {
    function = func::FuncOp::create(builder, entry->getParentOfType<ModuleOp>().getLoc(),
                                    getPreprocessName(entry), builder.getFunctionType({}, {}));
    function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
    if (entry->hasAttr(kPipelineStage))
      function->setAttr(kPipelineStage, builder.getI64IntegerAttr(
                                            getPipelinePlace(entry, getPipelineStage(entry))));
    function.addEntryBlock();
    builder.setInsertionPointToEnd(&function.front());
  }

  /// The name under which @preprocess gives `value` of an entry.
  StringAttr add(func::FuncOp entry, Value value) {
    Value copy = import(entry, value);
    auto [found, isNew] = names.try_emplace(copy);
    if (isNew)
      found->second = builder.getStringAttr("p" + Twine(names.size() - 1));
    return found->second;
  }

  /// Sets the function's type and the names of its results; removes it if it has none.
  void finish() {
    if (names.empty())
      return function->erase();
    SmallVector<Value> results = llvm::map_to_vector(names, [](auto &pair) { return pair.first; });
    func::ReturnOp::create(builder, function.getLoc(), results);
    function.setFunctionType(builder.getFunctionType(
        llvm::to_vector(function.front().getArgumentTypes()), ValueRange(results).getTypes()));
    auto bind = [&](StringRef attribute, StringAttr name) {
      return builder.getDictionaryAttr(builder.getNamedAttr(attribute, name));
    };
    function.setAllArgAttrs(parameters);
    function.setAllResultAttrs(llvm::map_to_vector(
        names, [&](auto &pair) { return bind(SinterDialect::kPreprocessed, pair.second); }));
  }

private:
  Value import(func::FuncOp entry, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return importParameter(entry, argument);
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, import(entry, operand));
    Operation *copy = builder.clone(*op, mapping);
    auto [found, isNew] = computations.insert(copy);
    if (!isNew)
      copy->erase();
    return (*found)->getResult(result.getResultNumber());
  }

  Value importParameter(func::FuncOp entry, BlockArgument argument) {
    auto name =
        entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kParameter);
    Value &copy = arguments[name.getValue()];
    if (!copy) {
      copy = function.front().addArgument(argument.getType(), argument.getLoc());
      parameters.push_back(entry.getArgAttrDict(argument.getArgNumber()));
    }
    return copy;
  }

  OpBuilder builder;
  func::FuncOp function;
  llvm::StringMap<Value> arguments;
  SmallVector<DictionaryAttr> parameters; ///< what each argument says of itself
  llvm::DenseSet<Operation *, SameComputation> computations;
  llvm::MapVector<Value, StringAttr> names;
};

/// Whether an op widens what was rounded before: whoever knows both reads the narrow numbers, as a
/// library does a bias.
static bool widensRounded(Operation *op) {
  auto wide = dyn_cast<CastOp>(op);
  auto narrow = wide ? wide.getOperand().getDefiningOp<CastOp>() : nullptr;
  return narrow && getElementTypeOrSelf(narrow).getIntOrFloatBitWidth() <
                       getElementTypeOrSelf(wide).getIntOrFloatBitWidth();
}

struct HoistParametersPass : sinter::impl::HoistParametersPassBase<HoistParametersPass> {
  using HoistParametersPassBase::HoistParametersPassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        if (runtime::isPreprocess(function.getName().str()))
          return; // Hoisted already.
        entries.push_back(function);
      }
    std::map<std::string, Preprocessing> preprocessings;
    for (func::FuncOp entry : entries) {
      auto [known, isNew] = preprocessings.try_emplace(getPreprocessName(entry), entry);
      hoistFrom(entry, known->second);
    }
    for (auto &[name, preprocessing] : preprocessings)
      preprocessing.finish();
  }

private:
  void hoistFrom(func::FuncOp entry, Preprocessing &preprocessing) {
    llvm::DenseSet<Value> values = findParameterValues(entry);
    // What depends on a parameter, or is a table of numbers: else there is nothing to gain.
    llvm::DenseSet<Value> worthwhile;
    auto &block = entry.front();
    for (BlockArgument argument : block.getArguments())
      if (values.contains(argument))
        worthwhile.insert(argument);
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value v) { return worthwhile.contains(v); }) ||
          (op.hasTrait<OpTrait::ConstantLike>() && !isSplatConstant(&op)))
        worthwhile.insert(op.result_begin(), op.result_end());

    // The frontier: computed values that ops outside use. What a kernel does with addresses alone
    // stays in the entry, so that its operand is the frontier.
    llvm::MapVector<Value, StringAttr> frontier;
    llvm::DenseSet<Operation *> staying;
    for (Operation &op : llvm::reverse(block)) {
      bool hoistable = !op.hasTrait<OpTrait::IsTerminator>() && op.getNumResults() > 0 &&
                       values.contains(op.getResult(0)) && worthwhile.contains(op.getResult(0)) &&
                       !op.hasTrait<OpTrait::ConstantLike>();
      bool used =
          llvm::any_of(op.getUsers(), [&](Operation *user) { return staying.contains(user); });
      bool addresses = isa<BroadcastOp, SliceOp, ReshapeOp>(op);
      if (!hoistable || (used && (addresses || widensRounded(&op))))
        staying.insert(&op);
      else if (used)
        for (Value result : op.getResults())
          frontier.insert({result, nullptr});
    }
    if (frontier.empty())
      return;
    SmallVector<Value> hoisted =
        llvm::map_to_vector(frontier, [](auto &pair) { return pair.first; });
    std::reverse(hoisted.begin(), hoisted.end());
    // Two values of an entry may turn out to be one.
    llvm::MapVector<StringAttr, Value> preprocessed;
    SmallVector<StringAttr> names;
    for (Value value : hoisted) {
      names.push_back(preprocessing.add(entry, value));
      preprocessed.insert({names.back(), value});
    }
    unsigned first = entry.getNumArguments();
    addArguments(entry, preprocessed);
    int64_t bytes = 0;
    for (auto [value, name] : llvm::zip_equal(hoisted, names)) {
      unsigned index = first + std::distance(preprocessed.begin(), preprocessed.find(name));
      Value(value).replaceUsesWithIf(entry.getArgument(index), [&](OpOperand &use) {
        return staying.contains(use.getOwner());
      });
      bytes += getStorageBytes(value.getType());
    }
    eraseDeadOps(block);
    eraseUnusedParameters(entry);
    remark::passed(
        entry.getLoc(),
        remark::RemarkOpts::name("Hoisted").category("sinter-layout").function(entry.getName()))
        << llvm::formatv("{0} values of {1:F1} MB are preprocessed once", hoisted.size(),
                         bytes / 1e6)
               .str();
  }

  /// Appends an argument for each preprocessed value, of its type.
  void addArguments(func::FuncOp entry, const llvm::MapVector<StringAttr, Value> &preprocessed) {
    SmallVector<unsigned> indices(preprocessed.size(), entry.getNumArguments());
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locations;
    auto key = StringAttr::get(&getContext(), SinterDialect::kPreprocessed);
    for (auto &[name, value] : preprocessed) {
      types.push_back(value.getType());
      attributes.push_back(DictionaryAttr::get(&getContext(), NamedAttribute(key, name)));
      locations.push_back(value.getLoc());
    }
    (void)entry.insertArguments(indices, types, attributes, locations);
  }

  void eraseUnusedParameters(func::FuncOp entry) {
    BitVector unused(entry.getNumArguments());
    for (BlockArgument argument : entry.getArguments())
      if (argument.use_empty() &&
          entry.getArgAttr(argument.getArgNumber(), SinterDialect::kParameter))
        unused.set(argument.getArgNumber());
    (void)entry.eraseArguments(unused);
  }
};
} // namespace
