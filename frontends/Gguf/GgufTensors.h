//===- GgufTensors.h - A GGUF file's tensors by Hugging Face's names --------===//
//
// llama.cpp's converter renames tensors and rearranges some: rows of Llama's queries and keys are
// permuted for its rotation of neighbouring pairs, GPT-2's weights are transposed, GPT-NeoX's
// queries, keys and values are moved apart, Gemma's norms hold 1 + weight. Here all of that is
// undone, so that a GGUF file reads like the directory that it was made from.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Gguf/GgufFile.h"
#include "runtime/Weights/Safetensors.h"

namespace sinter {

/// The tensors in the file's order; those that are only of use to llama.cpp are left out. Tensors
/// in blocks, and what has to be rearranged, are F32 and have Tensor::decode. Fails on a name that
/// is not the architecture's (GgufArchitectures.h).
Expected<std::vector<Tensor>> nameGgufTensors(const GgufFile &file, std::string_view source,
                                              size_t fileIndex);

} // namespace sinter
