//===- StepLogits.h - Executables whose steps return logits -----*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"

namespace sinter::test {

/// What compiler/Reference/StepLogits.h does to a graph, for a model that is to be compiled: its
/// graph takes the place of its spec.
void returnLogits(CompileRequest &request);

} // namespace sinter::test
