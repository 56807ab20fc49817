//===- RandomWeights.h - Weights for models that have none ----*- C++ -*-===//
//
// A config.json without weights still compiles and runs, for tests and measurements. Its weights
// are a function of the seed, the tensor's name and the element's index alone, so they do not
// depend on the order of tensors, on threads, or on whether a compiler or a runtime makes them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Weights/WeightFiles.h"

namespace sinter {

/// Fills `out`, elements of `dtype` (F32, F16 or BF16), with numbers of the given mean and standard
/// deviation. Their distribution is the sum of four uniform ones: close to normal, within 3.5
/// deviations.
void fillRandom(uint64_t seed, std::string_view name, double mean, double deviation, DType dtype,
                std::span<std::byte> out);

/// The tensors, in `dtype`, as weights: matrices and biases around 0 with deviation 0.02,
/// vectors that are no biases (the factors of norms) around 1. They live in a nameless temporary
/// file, so that their pages can be released like those of a checkpoint. Fails where that file
/// cannot be made.
Expected<WeightFiles> randomWeights(std::span<const ExpectedTensor> tensors, uint64_t seed,
                                    DType dtype = DType::F32);

} // namespace sinter
