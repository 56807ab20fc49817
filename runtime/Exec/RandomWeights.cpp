#include "runtime/Exec/RandomWeights.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include <cassert>
#include <xxhash.h>

namespace sinter::runtime {
namespace {

constexpr float deviation = 0.02f;

// The finalizer of SplitMix64: every bit of the result depends on every bit of the counter.
SINTER_INLINE uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

SINTER_INLINE float normalAt(uint64_t key, uint64_t index) {
  uint64_t bits = mix(key + index * 0x9e3779b97f4a7c15);
  int32_t sum = int32_t(bits & 0xffff) + int32_t(bits >> 16 & 0xffff) +
                int32_t(bits >> 32 & 0xffff) + int32_t(bits >> 48);
  // Four uniform numbers below 2^16: mean 2 * 65535, deviation 2^16 / sqrt(3).
  return float(sum - 2 * 65535) * (deviation * 1.7320508f / 65536.0f);
}

template <typename Element, typename Convert>
SINTER_INLINE void fill(Element *out, uint64_t begin, uint64_t end, uint64_t key, Convert convert) {
  for (uint64_t i = begin; i < end; ++i)
    out[i] = convert(normalAt(key, i));
}

SINTER_VECTOR_CLONES void fillRange(std::byte *out, DType dtype, uint64_t begin, uint64_t end,
                                    uint64_t key) {
  if (dtype == DType::F32)
    fill(reinterpret_cast<float *>(out), begin, end, key, [](float value) { return value; });
  else if (dtype == DType::BF16)
    fill(reinterpret_cast<uint16_t *>(out), begin, end, key, floatToBf16);
  else
    fill(reinterpret_cast<uint16_t *>(out), begin, end, key, floatToF16);
}

} // namespace

void fillRandomWeight(ThreadPool &pool, std::span<std::byte> out, DType dtype, size_t rank,
                      std::string_view name, uint64_t seed) {
  assert(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16);
  uint64_t count = out.size() / sizeOf(dtype);
  if (rank < 2) {
    float value = name.ends_with("bias") ? 0.0f : 1.0f;
    for (uint64_t i = 0; i < count; ++i)
      if (dtype == DType::F32)
        reinterpret_cast<float *>(out.data())[i] = value;
      else
        reinterpret_cast<uint16_t *>(out.data())[i] =
            dtype == DType::BF16 ? floatToBf16(value) : floatToF16(value);
    return;
  }
  uint64_t key = mix(seed ^ XXH3_64bits(name.data(), name.size()));
  pool.run(count, 1 << 16,
           [&](uint64_t begin, uint64_t end) { fillRange(out.data(), dtype, begin, end, key); });
}

} // namespace sinter::runtime
