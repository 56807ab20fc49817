// Matrices of reproducible numbers in the types that products read.
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/HalfFloat.h"
#include <cstring>
#include <random>
#include <vector>

namespace sinter::runtime::testing {

/// Stores `value` as element `index` of `type` at `base`.
inline void storeAt(void *base, uint64_t index, DType type, float value) {
  auto *address = static_cast<std::byte *>(base) + index * sizeOf(type);
  uint16_t half = type == DType::F16 ? floatToF16(value) : floatToBf16(value);
  if (type == DType::F32)
    std::memcpy(address, &value, sizeof(value));
  else
    std::memcpy(address, &half, sizeof(half));
}

/// Element `index` of `type` at `base`.
inline float loadAt(const void *base, uint64_t index, DType type) {
  auto *address = static_cast<const std::byte *>(base) + index * sizeOf(type);
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, address, sizeof(value));
    return value;
  }
  uint16_t half;
  std::memcpy(&half, address, sizeof(half));
  return type == DType::BF16 ? bf16ToFloat(half) : f16ToFloat(half);
}

/// A buffer aligned as regions are.
struct Buffer {
  explicit Buffer(uint64_t bytes) : storage(bytes + 64) {}
  std::byte *data() {
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    return storage.data() + (64 - address % 64) % 64;
  }
  std::vector<std::byte> storage;
};

/// `count` normal numbers, representable in `type`.
inline Buffer randomBuffer(uint64_t count, DType type, unsigned seed) {
  Buffer buffer(count * sizeOf(type));
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (uint64_t i = 0; i < count; ++i)
    storeAt(buffer.data(), i, type, normal(generator));
  return buffer;
}

} // namespace sinter::runtime::testing
