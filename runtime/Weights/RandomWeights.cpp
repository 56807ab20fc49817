#include "runtime/Weights/RandomWeights.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include <cassert>
#include <xxhash.h>

namespace sinter::runtime {
namespace {

// The finalizer of SplitMix64: every bit of the result depends on every bit of the counter.
SINTER_INLINE uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

SINTER_INLINE float normalAt(uint64_t key, uint64_t index, float mean, float deviation) {
  uint64_t bits = mix(key + index * 0x9e3779b97f4a7c15);
  int32_t sum = int32_t(bits & 0xffff) + int32_t(bits >> 16 & 0xffff) +
                int32_t(bits >> 32 & 0xffff) + int32_t(bits >> 48);
  // Four uniform numbers below 2^16: mean 2 * 65535, deviation 2^16 / sqrt(3).
  return mean + float(sum - 2 * 65535) * (deviation * 1.7320508f / 65536.0f);
}

template <typename Element, typename Convert>
SINTER_INLINE void fill(Element *out, uint64_t begin, uint64_t end, uint64_t key, float mean,
                        float deviation, Convert convert) {
  for (uint64_t i = begin; i < end; ++i)
    out[i] = convert(normalAt(key, i, mean, deviation));
}

SINTER_VECTOR_CLONES void fillRange(std::byte *out, DType dtype, uint64_t begin, uint64_t end,
                                    uint64_t key, float mean, float deviation) {
  if (dtype == DType::F32)
    fill(reinterpret_cast<float *>(out), begin, end, key, mean, deviation,
         [](float value) { return value; });
  else if (dtype == DType::BF16)
    fill(reinterpret_cast<uint16_t *>(out), begin, end, key, mean, deviation, floatToBf16);
  else
    fill(reinterpret_cast<uint16_t *>(out), begin, end, key, mean, deviation, floatToF16);
}

} // namespace

void fillRandomWeight(ThreadPool &pool, std::span<std::byte> out, DType dtype,
                      const Initializer &initializer, std::string_view name, uint64_t seed) {
  assert(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16);
  uint64_t key = mix(seed ^ XXH3_64bits(name.data(), name.size()));
  float mean = static_cast<float>(initializer.mean);
  float deviation = static_cast<float>(initializer.deviation);
  pool.run(out.size() / sizeOf(dtype), 1 << 16, [&](uint64_t begin, uint64_t end) {
    fillRange(out.data(), dtype, begin, end, key, mean, deviation);
  });
}

} // namespace sinter::runtime
