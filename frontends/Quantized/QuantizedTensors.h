//===- QuantizedTensors.h - Quantized layers as weights ---------*- C++ -*-===//
#pragma once

#include "frontends/Quantized/QuantizationConfig.h"
#include "runtime/Weights/Safetensors.h"

namespace sinter {

/// Makes of the tensors of each quantized layer (`X.weight_packed`, `X.weight_scale`, ...) the one
/// that the model asks for, `X.weight`, which is F32 and has a decoder; its `data` are those of the
/// codes. Experts of MXFP4 (`X_blocks`, `X_scales`) become `X`, all experts' matrices `[in, out]`.
/// Other tensors stay. The data must outlive the result. Fails, with the tensor and `source` named,
/// where one is missing or its type, shape or content does not fit.
Expected<std::vector<Tensor>> joinQuantizedTensors(const QuantizationConfig &config,
                                                   std::vector<Tensor> stored,
                                                   std::string_view source);

} // namespace sinter
