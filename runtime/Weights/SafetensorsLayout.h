//===- SafetensorsLayout.h - Where a file's tensors go ----------*- C++ -*-===//
#pragma once

#include "runtime/Weights/Safetensors.h"

namespace sinter {

/// The first bytes of a safetensors file, up to the data, and the order in which the tensors' data
/// follow without gaps. Only names, types and shapes of the tensors matter.
struct SafetensorsLayout {
  std::string head;                         ///< length and header, a multiple of 64 bytes
  std::vector<const TensorToWrite *> order; ///< pointers into the tensors laid out
  uint64_t bytes = 0;                       ///< of the whole file
};

/// Lays out tensors: larger elements first, then by name. `what` names the file in the error that
/// a name used twice gives.
Expected<SafetensorsLayout> layOutSafetensors(std::span<const TensorToWrite> tensors,
                                              const std::map<std::string, std::string> &metadata,
                                              const std::string &what);

/// The bytes of a tensor's elements.
uint64_t byteSizeOf(const TensorToWrite &tensor);

} // namespace sinter
