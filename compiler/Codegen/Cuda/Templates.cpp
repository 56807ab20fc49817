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
  default:
    return nullptr;
  }
}
