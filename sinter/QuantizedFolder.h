//===- QuantizedFolder.h - A quantized model on disk ------------*- C++ -*-===//
#pragma once

#include "sinter/Model.h"
#include "sinter/WeightQuantizer.h"
#include <deque>

namespace sinter {

/// What compressed-tensors calls the quantization of all layers.
struct QuantizationFormat {
  WeightEncoding encoding;
  bool isPacked = false;             ///< codes in words of 32 bits; else as I8 or F8_E4M3
  bool quantizesActivations = false; ///< says that activations are quantized, by token
  bool isOfConv1D = false;           ///< GPT-2's layers, whose weights are [in, out]
};

/// A Hugging Face directory in the making: it is written beside its name and renamed when it is
/// whole.
class QuantizedFolder {
public:
  /// Fails where `path` is there and is no empty directory, or cannot be made.
  static Expected<QuantizedFolder> create(const std::filesystem::path &path);
  QuantizedFolder(QuantizedFolder &&) = default;
  /// Removes what was not finished.
  ~QuantizedFolder();

  /// Adds tensors to the next file of weights: one as it is stored, or a quantized layer `name`,
  /// whose tensors are `name`.weight_packed or .weight, and its scales. What is added must live
  /// until writeFile().
  void add(const std::string &name, const Tensor &tensor);
  /// Returns the bytes of the layer's tensors.
  uint64_t add(const std::string &name, const EncodedMatrix &matrix,
               const QuantizationFormat &format);
  Expected<void> writeFile();

  /// Writes the index of the files, config.json with what was done, and the model's other files,
  /// and gives the directory its name. `wide` are the layers that are not quantized.
  Expected<void> finish(const Model &model, const QuantizationFormat &format,
                        const std::vector<std::string> &wide);

  uint64_t getBytes() const { return written; } ///< of the files of weights

private:
  QuantizedFolder() = default;
  std::span<const std::byte> keep(std::vector<std::byte> bytes);
  Expected<void> writeText(const std::string &name, const std::string &text) const;

  std::filesystem::path path, aside;
  std::vector<TensorToWrite> tensors;          ///< of the next file
  std::deque<std::vector<std::byte>> made;     ///< what some of them hold
  std::vector<std::vector<std::string>> files; ///< the names in each
  uint64_t written = 0, tensorBytes = 0;
};

} // namespace sinter
