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
  case FusionKind::Rows: {
    auto gradients = tensorKernel.front().getOps<EmbeddingGradOp>();
    return gradients.empty() ? nullptr : instantiateEmbeddingGrad;
  }
  default:
    return nullptr;
  }
}
