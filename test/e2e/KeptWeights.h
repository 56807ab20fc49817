//===- KeptWeights.h - The weights of kept models ---------------*- C++ -*-===//
#pragma once

#include "frontends/Spec/ModelSpec.h"
#include "runtime/Weights/WeightSource.h"
#include <filesystem>
#include <memory>

namespace sinter::test {

/// The tensors of `folder`/model.safetensors. Where there is no such file (test/e2e/wide), f32 made
/// of their names (fillRandomWeight, seed 0): matrices with a deviation of one over the root of
/// their columns, vectors with 0.2 around what they begin with. make_reference_models.py makes the
/// same. Failures are failures of the test.
std::unique_ptr<runtime::WeightSource> openWeights(const std::filesystem::path &folder,
                                                   const ModelSpec &spec);

} // namespace sinter::test
