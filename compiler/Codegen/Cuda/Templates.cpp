#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace sinter;

/// The template of an op that runs alone, or null.
static TemplateGenerator lookupTemplate(Operation *alone) {
  if (isa_and_nonnull<EmbeddingGradOp>(alone))
    return instantiateEmbeddingGrad;
  return isa_and_nonnull<SampleOp>(alone) ? instantiateSample : nullptr;
}

TemplateGenerator sinter::lookupTemplate(FusionKind kind, func::FuncOp tensorKernel) {
  switch (kind) {
  case FusionKind::Attention:
    return instantiateAttention;
  case FusionKind::AttentionGrad:
    return instantiateAttentionGrad;
  case FusionKind::Gemm:
    return instantiateGemm;
  case FusionKind::Rows:
    return ::lookupTemplate(findLoneOp(tensorKernel));
  default:
    return nullptr;
  }
}

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
