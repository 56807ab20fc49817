#include "frontends/Graph/TextGraph.h"
#include "compiler/Pipelines/ErrorCollector.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Base/Nesting.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace sinter;

static SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(SinterDialect::kEntry);
  });
}

static Expected<OwningOpRef<ModuleOp>> parse(MLIRContext &context, const std::string &text,
                                             const std::string &file) {
  if (size_t levels = measureNesting(text); levels > kMostNesting)
    return fail(file,
                "it is nested " + std::to_string(levels) + " deep, and may be " +
                    std::to_string(kMostNesting),
                "mend the text");
  ErrorCollector errors(context);
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
  if (!module)
    return fail(errors.getPlace().empty() ? file : errors.getPlace(), errors.getFirst(),
                "mend the text");
  if (getEntries(*module).empty())
    return fail(file, "it has no entry", "mark a function of it with 'attributes {sinter.entry}'");
  return module;
}

//===----------------------------------------------------------------------===//
// What a module says of itself
//===----------------------------------------------------------------------===//

namespace {
class Describer {
public:
  TextDescription run(ModuleOp module) {
    for (func::FuncOp entry : getEntries(module)) {
      description.entries.push_back(entry.getName().str());
      for (BlockArgument argument : entry.getArguments())
        describe(entry, argument);
      for (unsigned i = 0; i < entry.getNumResults(); ++i)
        if (auto name = entry.getResultAttrOfType<StringAttr>(i, SinterDialect::kOutput);
            name && name.getValue() == "logits")
          sizes["vocab_size"] = cast<RankedTensorType>(entry.getResultTypes()[i]).getShape().back();
    }
    if (auto own = module->getAttrOfType<DictionaryAttr>(SinterDialect::kMetadata))
      for (NamedAttribute entry : own)
        description.metadata[entry.getName().str()] = cast<StringAttr>(entry.getValue()).str();
    if (!sizes.contains("max_seq") && sizes.contains("seq"))
      sizes["max_seq"] = sizes["seq"];
    for (const auto &[name, size] : sizes)
      description.metadata.try_emplace(name, std::to_string(size));
    return std::move(description);
  }

private:
  void describe(func::FuncOp entry, BlockArgument argument) {
    DictionaryAttr attributes = entry.getArgAttrDict(argument.getArgNumber());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!attributes || !type)
      return;
    auto role = attributes.getAs<RoleAttr>(SinterDialect::kRole);
    bool trained = role && role.getValue() == Role::Parameter;
    if (auto name = attributes.getAs<StringAttr>(trained ? SinterDialect::kState
                                                         : SinterDialect::kParameter))
      addParameter(name.getValue(), type,
                   attributes.getAs<NormalAttr>(SinterDialect::kInitializer));
    description.hasOptimizer |= trained;
    if (role && role.getValue() == Role::KvCache && type.getRank() == 4)
      sizes["max_seq"] = type.getDimSize(1);
    if (attributes.get(SinterDialect::kInput) == StringAttr::get(entry.getContext(), "tokens") &&
        type.getRank() == 2) {
      sizes["batch"] = type.getDimSize(0);
      sizes["seq"] = std::max(sizes["seq"], type.getDimSize(1));
      for (Operation *user : argument.getUsers())
        if (auto lookup = dyn_cast<LookupOpInterface>(user))
          sizes.try_emplace("vocab_size",
                            cast<RankedTensorType>(lookup.getTable().getType()).getDimSize(0));
    }
  }

  void addParameter(StringRef name, RankedTensorType type, NormalAttr normal) {
    if (!seen.insert(name.str()).second)
      return;
    Initializer initializer = normal ? Initializer{normal.getMean().convertToDouble(),
                                                   normal.getDeviation().convertToDouble()}
                                     : defaultInitializer(name, type.getRank());
    description.parameters.push_back({name.str(), type.getShape().vec(), initializer});
  }

  TextDescription description;
  std::map<std::string, int64_t> sizes;
  std::set<std::string> seen;
};
} // namespace

Expected<TextDescription> sinter::describeText(const std::string &text, const std::string &file) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SinterDialect, func::FuncDialect>();
  SINTER_TRY(OwningOpRef<ModuleOp> module, parse(context, text, file));
  return Describer().run(*module);
}

int64_t TextDescription::getNumber(const std::string &key) const {
  int64_t number = 0;
  if (auto found = metadata.find(key); found != metadata.end())
    (void)llvm::to_integer(found->second, number);
  return number;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

namespace {
class TextGraph : public GraphSource {
public:
  TextGraph(std::string text, std::string file, std::vector<std::string> entries)
      : text(std::move(text)), file(std::move(file)), entries(std::move(entries)) {}

  Expected<OwningOpRef<ModuleOp>> build(MLIRContext &context, const CompileRequest &,
                                        TargetAttr) const override {
    SINTER_TRY(OwningOpRef<ModuleOp> module, parse(context, text, file));
    SINTER_CHECK(selectEntries(*module));
    TextDescription description = Describer().run(*module);
    NamedAttrList metadata;
    for (const auto &[key, value] : description.metadata)
      metadata.set(key, StringAttr::get(&context, value));
    (*module)->setAttr(SinterDialect::kMetadata, metadata.getDictionary(&context));
    return module;
  }

  bool isWritten() const override { return true; }

private:
  Expected<void> selectEntries(ModuleOp module) const {
    SmallVector<func::FuncOp> found = getEntries(module);
    auto names = llvm::map_to_vector(found, [](func::FuncOp entry) { return entry.getName(); });
    for (const std::string &entry : entries)
      if (!llvm::is_contained(names, entry))
        return fail(file, "it has no entry '" + entry + "'",
                    "those that it has are " + llvm::join(names, ", "));
    for (func::FuncOp entry : found)
      if (!entries.empty() && !llvm::is_contained(entries, entry.getName()))
        entry.erase();
    return {};
  }

  std::string text, file;
  std::vector<std::string> entries;
};
} // namespace

std::shared_ptr<const GraphSource> sinter::makeTextGraph(std::string text, std::string file,
                                                         std::vector<std::string> entries) {
  return std::make_shared<TextGraph>(std::move(text), std::move(file), std::move(entries));
}
