#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace sinter;

TemplateGenerator sinter::lookupTemplate(FusionKind kind, func::FuncOp tensorKernel) {
  switch (kind) {
  case FusionKind::Attention:
    return instantiateAttention;
  case FusionKind::AttentionGrad:
    return instantiateAttentionGrad;
  case FusionKind::Gemm:
    return instantiateGemm;
  case FusionKind::Rows:
    if (!tensorKernel.front().getOps<EmbeddingGradOp>().empty())
      return instantiateEmbeddingGrad;
    return tensorKernel.front().getOps<SampleOp>().empty() ? nullptr : instantiateSample;
  default:
    return nullptr;
  }
}

/// All candidates of the manifest, by function.
static llvm::StringMap<TemplateCandidates> readCandidates() {
  llvm::StringMap<TemplateCandidates> candidates;
  llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(getDeviceHeader("Templates.json"));
  assert(manifest && "expected the manifest to be JSON");
  for (auto &[function, entry] : *manifest->getAsObject()->getObject("templates"))
    for (const llvm::json::Value &value : *entry.getAsObject()->getArray("parameters"))
      if (const llvm::json::Array *values = value.getAsObject()->getArray("candidates")) {
        TemplateCandidates &read = candidates[function];
        read.parameter = value.getAsObject()->getString("name")->str();
        for (const llvm::json::Value &candidate : *values)
          read.values.push_back(*candidate.getAsInteger());
      }
  return candidates;
}

std::optional<TemplateCandidates> sinter::getTemplateCandidates(StringRef function) {
  static const llvm::StringMap<TemplateCandidates> all = readCandidates();
  auto found = all.find(function);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}
