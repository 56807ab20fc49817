#include "compiler/Codegen/Cuda/Templates.h"

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
