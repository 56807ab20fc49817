//===- SinterOps.td - All ops of the graph dialect ----------*- tablegen -*-===//
#ifndef SINTER_OPS
#define SINTER_OPS

include "dialects/Sinter/AttentionOps.td"
include "dialects/Sinter/CollectiveOps.td"
include "dialects/Sinter/ElementwiseOps.td"
include "dialects/Sinter/ExpertOps.td"
include "dialects/Sinter/FusionOps.td"
include "dialects/Sinter/GradientOps.td"
include "dialects/Sinter/IndexOps.td"
include "dialects/Sinter/LinearOps.td"
include "dialects/Sinter/LossOps.td"
include "dialects/Sinter/OptimizerOps.td"
include "dialects/Sinter/RandomOps.td"
include "dialects/Sinter/ReductionOps.td"

#endif // SINTER_OPS
