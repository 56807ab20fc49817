#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace sinter;

namespace {
/// What Templates.json says of a template.
struct TemplateEntry {
  std::optional<TemplateCandidates> candidates;
  SmallVector<std::string> arguments; ///< names, in order
};
} // namespace

static TemplateEntry readEntry(const llvm::json::Object &entry) {
  TemplateEntry read;
  for (const llvm::json::Value &value : *entry.getArray("parameters"))
    if (const llvm::json::Array *values = value.getAsObject()->getArray("candidates")) {
      read.candidates.emplace();
      read.candidates->parameter = value.getAsObject()->getString("name")->str();
      for (const llvm::json::Value &candidate : *values)
        read.candidates->values.push_back(*candidate.getAsInteger());
    }
  for (const llvm::json::Value &value : *entry.getArray("arguments"))
    read.arguments.push_back(value.getAsObject()->getString("name")->str());
  return read;
}

/// All templates of the manifest, by function.
static llvm::StringMap<TemplateEntry> readManifest() {
  llvm::StringMap<TemplateEntry> entries;
  llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(getDeviceHeader("Templates.json"));
  assert(manifest && "expected the manifest to be JSON");
  for (auto &[function, entry] : *manifest->getAsObject()->getObject("templates"))
    entries[function] = readEntry(*entry.getAsObject());
  return entries;
}

/// The template of a function, or null.
static const TemplateEntry *findEntry(StringRef function) {
  static const llvm::StringMap<TemplateEntry> all = readManifest();
  auto found = all.find(function);
  return found == all.end() ? nullptr : &found->second;
}

std::optional<TemplateCandidates> sinter::getTemplateCandidates(StringRef function) {
  const TemplateEntry *entry = findEntry(function);
  return entry ? entry->candidates : std::nullopt;
}

int64_t sinter::getTemplateArgument(DictionaryAttr instance, StringRef name) {
  const TemplateEntry *entry = findEntry(instance.getAs<StringAttr>("function").getValue());
  assert(entry && "expected a template of the manifest");
  const auto *found = llvm::find(entry->arguments, name);
  assert(found != entry->arguments.end() && "expected a template with the argument");
  return instance.getAs<DenseI64ArrayAttr>("arguments")[found - entry->arguments.begin()];
}
