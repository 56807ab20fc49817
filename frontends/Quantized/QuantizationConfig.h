//===- QuantizationConfig.h - How a checkpoint's weights are quantized ------===//
//
// The `quantization_config` of a config.json. Activations that it wants rounded to 8 bits token by
// token, with scales found at run time, are; whatever else it says of them is read, and they are
// computed in the type of the products: that loses less than the checkpoint's makers took into
// account.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter {

enum class QuantizationMethod {
  CompressedTensors, ///< of llm-compressor and vLLM
  Fp8,               ///< transformers' "fp8": e4m3 with scales of blocks
  Awq,               ///< AutoAWQ's, version "gemm"
  Gptq,              ///< AutoGPTQ's and GPTQModel's
  Mxfp4,             ///< gpt-oss's: experts of OCP's MXFP4
};

/// How the weights of a kind are quantized.
struct WeightScheme {
  enum class Format { Packed, Int, Float }; ///< codes in words, as I8, as F8_E4M3
  enum class Scales { Tensor, Channel, Group, Block };
  Format format = Format::Packed;
  Scales scales = Scales::Group;
  int64_t bits = 4;
  bool isSymmetric = true; ///< without zero points
  int64_t groupSize = 0;   ///< columns of a Group; 0: all
  int64_t blockRows = 0, blockColumns = 0;
  bool isOfConv1D = false; ///< the model wants the weight as [in, out]
  bool roundsRows = false; ///< activations have 8 bits, too, with a scale a token
};

struct QuantizationConfig {
  QuantizationMethod method = QuantizationMethod::CompressedTensors;
  /// Of CompressedTensors one for each of its groups, else one.
  std::vector<WeightScheme> schemes;
  bool storesZeroLessOne = false; ///< of Gptq: files hold the zero point - 1
};

/// Reads the `quantization_config` in a config.json's text, which `source` names in errors; nothing
/// where there is none, or the text is no JSON object. Fails on a method that is not known and on
/// any key or value that may change what the weights are.
Expected<std::optional<QuantizationConfig>> readQuantizationConfig(std::string_view configText,
                                                                   std::string_view source);

} // namespace sinter
