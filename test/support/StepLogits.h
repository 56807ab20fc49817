//===- StepLogits.h - Executables whose steps return logits -----*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"
#include "frontends/Spec/ModelSpec.h"

namespace sinter::test {

/// What compiler/Reference/StepLogits.h does to the graph of a model that is to be compiled.
void returnLogits(CompileRequest &request, const ModelSpec &spec);

} // namespace sinter::test
