//===- GgufBlocks.h - The element types of GGUF files -----------*- C++ -*-===//
//
// GGUF stores rows of a tensor in blocks: 32 elements, or 256 of the "K" types, that share scales.
// Dequantized they are f32; the formulas and the order of their operations are those of ggml
// (ggml-quants.c), so that equal blocks give equal bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Weights/IntegerFormat.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// Where the parts of blocks go: element = integer * scale + minimum.
struct BlockParts {
  int8_t *integers;
  float *scales;
  float *minima; ///< not written where the format has none
};

/// How one element type of GGUF lies in a file.
struct GgufType {
  uint32_t id = 0; ///< as files write it
  std::string_view name;
  uint32_t blockElements = 1, blockBytes = 1;
  /// Set for types that are elements as they are: F32, F16, BF16.
  std::optional<DType> plain = std::nullopt;
  /// Splits so many blocks; null for plain types. Codes of types with minima count from 0 on.
  void (*splitBlocks)(const GgufType &type, const std::byte *blocks, size_t count,
                      const BlockParts &parts) = nullptr;
  IntegerFormat format = {};

  /// Dequantizes whole blocks. @pre `blocks` is a multiple of blockBytes, `out` has their elements
  void dequantize(std::span<const std::byte> blocks, std::span<float> out) const;

  /// Splits whole blocks, into integers that are signed: those of four bits with minima lose 8.
  /// @pre there is splitBlocks, and room for their elements, scales and minima
  void split(std::span<const std::byte> blocks, const BlockParts &parts) const;

  /// Whether blocks begin with their only scale as it is kept: all do whose scales are of f16.
  bool beginWithScales() const { return format.scaleType == DType::F16; }

  /// Copies the scales of whole blocks. @pre blocks begin with them
  void copyScales(std::span<const std::byte> blocks, std::byte *out) const;
};

/// The type of this number; null where weights of it cannot be read.
const GgufType *findGgufType(uint32_t id);

/// ggml's name of a type that findGgufType() does not know, for messages: "IQ2_XXS", or "type 99".
std::string_view nameOfGgufType(uint32_t id);

/// All types that can be read, in the order of their numbers.
std::span<const GgufType> ggufTypes();

} // namespace sinter
