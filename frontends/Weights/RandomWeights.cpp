#include "frontends/Weights/RandomWeights.h"
#include "frontends/Weights/SafetensorsLayout.h"
#include "runtime/Base/HalfFloat.h"
#include <cassert>
#include <cmath>
#include <cstring>
#include <xxhash.h>

namespace sinter {
namespace {

/// The finalizer of splitmix64: neighbouring indices give unrelated bits.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Element `index` of a stream: mean 0, deviation 1.
float standardNumber(uint64_t key, uint64_t index) {
  uint64_t bits = mix(key + index * 0x9e3779b97f4a7c15u);
  int32_t sum = int32_t(bits & 0xffff) + int32_t(bits >> 16 & 0xffff) +
                int32_t(bits >> 32 & 0xffff) + int32_t(bits >> 48);
  // The sum of four uniform numbers in [0, 65535] has variance 4 * (65536^2 - 1) / 12.
  constexpr float scale = 1.0f / 37837.2f;
  return static_cast<float>(sum - 2 * 65535) * scale;
}

template <typename T, typename Convert>
void fill(uint64_t key, float mean, float deviation, std::span<std::byte> out, Convert convert) {
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    T value = convert(mean + deviation * standardNumber(key, i));
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
}

} // namespace

void fillRandom(uint64_t seed, std::string_view name, double mean, double deviation, DType dtype,
                std::span<std::byte> out) {
  uint64_t key = mix(XXH3_64bits_withSeed(name.data(), name.size(), seed));
  float center = static_cast<float>(mean), width = static_cast<float>(deviation);
  if (dtype == DType::F32)
    return fill<float>(key, center, width, out, [](float value) { return value; });
  if (dtype == DType::BF16)
    return fill<uint16_t>(key, center, width, out, floatToBf16);
  assert(dtype == DType::F16 && "random weights are F32, F16 or BF16");
  fill<uint16_t>(key, center, width, out, floatToF16);
}

Expected<WeightFiles> randomWeights(std::span<const ExpectedTensor> tensors, uint64_t seed,
                                    DType dtype) {
  std::vector<TensorToWrite> laidOut;
  for (const ExpectedTensor &tensor : tensors)
    laidOut.push_back({tensor.name, dtype, tensor.shape, {}});
  SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(laidOut, {}, "random weights"));
  SINTER_TRY(MappedFile file, MappedFile::make(layout.bytes, [&](std::span<std::byte> bytes) {
               std::memcpy(bytes.data(), layout.head.data(), layout.head.size());
               bytes = bytes.subspan(layout.head.size());
               for (const TensorToWrite *tensor : layout.order) {
                 bool isFactor = tensor->shape.size() == 1 && !tensor->name.ends_with("bias");
                 uint64_t size = byteSizeOf(*tensor);
                 fillRandom(seed, tensor->name, isFactor ? 1 : 0, 0.02, dtype, bytes.first(size));
                 bytes = bytes.subspan(size);
               }
             }));
  return WeightFiles::fromFile(std::move(file), "random weights");
}

} // namespace sinter
