#include "frontends/Gguf/GgufBlocks.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

// A multiplication and an addition round apart, as in ggml's C code for any processor.
#pragma STDC FP_CONTRACT OFF

namespace sinter {
namespace {

constexpr int kBlock = 32, kSuper = 256;

/// The bytes of a block, read field by field in the order of the format.
class Fields {
public:
  explicit Fields(const std::byte *block) : at(reinterpret_cast<const uint8_t *>(block)) {}

  const uint8_t *bytes(size_t count) {
    const uint8_t *begin = at;
    at += count;
    return begin;
  }
  uint16_t u16() {
    const uint8_t *from = bytes(2);
    return static_cast<uint16_t>(from[0] | from[1] << 8);
  }
  uint32_t u32() {
    uint32_t low = u16();
    return low | uint32_t(u16()) << 16;
  }
  float f16() { return f16ToFloat(u16()); }

private:
  const uint8_t *at;
};

int low(uint8_t byte) { return byte & 15; }
int high(uint8_t byte) { return byte >> 4; }

//===----------------------------------------------------------------------===//
// Blocks of 32: elements 0 to 15 in the low halves of bytes, 16 to 31 in the high ones
//===----------------------------------------------------------------------===//

/// q - 8 of eight numbers below 16, a byte each.
uint64_t lessEight(uint64_t q) {
  constexpr uint64_t ones = 0x0101010101010101;
  return ((q | 128 * ones) - 8 * ones) ^ 128 * ones;
}

// x = d (q - 8)
void splitQ40(const std::byte *block, const BlockParts &parts) {
  constexpr uint64_t lowHalves = 0x0f0f0f0f0f0f0f0f;
  Fields fields(block);
  *parts.scales = fields.f16();
  const uint8_t *q = fields.bytes(16);
  for (int i = 0; i < 16; i += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, q + i, sizeof(bytes));
    uint64_t low = lessEight(bytes & lowHalves), high = lessEight(bytes >> 4 & lowHalves);
    std::memcpy(parts.integers + i, &low, sizeof(low));
    std::memcpy(parts.integers + i + 16, &high, sizeof(high));
  }
}

// x = d q + m
void splitQ41(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  *parts.scales = fields.f16();
  *parts.minima = fields.f16();
  const uint8_t *q = fields.bytes(16);
  for (int i = 0; i < 16; ++i) {
    parts.integers[i] = static_cast<int8_t>(low(q[i]));
    parts.integers[i + 16] = static_cast<int8_t>(high(q[i]));
  }
}

/// Elements of five bits; the fifth bit of element i is bit i of `h`.
template <typename Fn> void forEachFive(uint32_t h, const uint8_t *q, Fn fn) {
  for (int i = 0; i < 16; ++i) {
    fn(i, low(q[i]) | int(h >> i & 1) << 4);
    fn(i + 16, high(q[i]) | int(h >> (i + 16) & 1) << 4);
  }
}

// x = d (q - 16)
void splitQ50(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  *parts.scales = fields.f16();
  uint32_t h = fields.u32();
  forEachFive(h, fields.bytes(16), [&](int i, int q) { out[i] = static_cast<int8_t>(q - 16); });
}

// x = d q + m
void splitQ51(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  *parts.scales = fields.f16();
  *parts.minima = fields.f16();
  uint32_t h = fields.u32();
  forEachFive(h, fields.bytes(16),
              [&](int i, int q) { parts.integers[i] = static_cast<int8_t>(q); });
}

// x = d q
void splitQ80(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  *parts.scales = fields.f16();
  std::memcpy(out, fields.bytes(kBlock), kBlock);
}

/// What four bits stand for in the IQ4 types.
constexpr CodeValues kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

// x = d table[q]
void splitIq4Nl(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  *parts.scales = fields.f16();
  const uint8_t *q = fields.bytes(16);
  for (int i = 0; i < 16; ++i) {
    out[i] = kIq4Values[low(q[i])];
    out[i + 16] = kIq4Values[high(q[i])];
  }
}

// OCP's MXFP4: x = 2^(e - 127) times an e2m1 number, here twice that and half the power.
void splitMxfp4(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  *parts.scales = halfOfE8M0(*fields.bytes(1));
  int8_t *out = parts.integers;
  const uint8_t *q = fields.bytes(16);
  for (int i = 0; i < 16; ++i) {
    out[i] = twiceE2M1[low(q[i])];
    out[i + 16] = twiceE2M1[high(q[i])];
  }
}

//===----------------------------------------------------------------------===//
// Blocks of 256, with scales of parts
//===----------------------------------------------------------------------===//

// Sixteen parts of 16; two bits an element: x = d scale q - dmin min, scale and min of four bits.
void splitQ2K(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  const uint8_t *scales = fields.bytes(16), *q = fields.bytes(64);
  float d = fields.f16(), dmin = fields.f16();
  int8_t *out = parts.integers;
  for (int i = 0; i < 16; ++i) {
    parts.scales[i] = d * float(low(scales[i]));
    parts.minima[i] = -(dmin * float(high(scales[i])));
  }
  for (int half = 0; half < 2; ++half, q += 32)
    for (int shift = 0; shift < 8; shift += 2)
      for (int i = 0; i < 32; ++i)
        *out++ = static_cast<int8_t>(q[i] >> shift & 3);
}

// Sixteen parts of 16; two bits and, in `h`, a third one: x = d (scale - 32) (q - 4), scales of
// six bits.
void splitQ3K(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  const uint8_t *h = fields.bytes(32), *q = fields.bytes(64), *packed = fields.bytes(12);
  float d = fields.f16();
  for (int i = 0; i < 16; ++i) {
    int lower = i < 8 ? low(packed[i]) : high(packed[i - 8]);
    parts.scales[i] = d * float((lower | (packed[8 + i % 4] >> 2 * (i / 4) & 3) << 4) - 32);
  }
  for (int half = 0, bit = 0; half < 2; ++half, q += 32)
    for (int shift = 0; shift < 8; shift += 2, ++bit)
      for (int i = 0; i < 32; ++i)
        *out++ = static_cast<int8_t>((q[i] >> shift & 3) - (h[i] >> bit & 1 ? 0 : 4));
}

/// Scale and min, six bits each, of part `i` of eight.
struct ScaleAndMin {
  int scale, min;

  ScaleAndMin(const uint8_t *packed, int i)
      : scale(i < 4 ? packed[i] & 63 : low(packed[i + 4]) | packed[i - 4] >> 6 << 4),
        min(i < 4 ? packed[i + 4] & 63 : high(packed[i + 4]) | packed[i] >> 6 << 4) {}

  void write(float d, float dmin, int i, const BlockParts &parts) const {
    parts.scales[i] = d * float(scale);
    parts.minima[i] = -(dmin * float(min));
  }
};

// Eight parts of 32, of four bits: x = d scale q - dmin min.
void splitQ4K(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  float d = fields.f16(), dmin = fields.f16();
  const uint8_t *packed = fields.bytes(12), *q = fields.bytes(128);
  int8_t *out = parts.integers;
  for (int part = 0; part < 8; ++part) {
    ScaleAndMin(packed, part).write(d, dmin, part, parts);
    for (int i = 0; i < 32; ++i) {
      uint8_t byte = q[part / 2 * 32 + i];
      *out++ = static_cast<int8_t>(part % 2 ? high(byte) : low(byte));
    }
  }
}

// The same with a fifth bit in `h`.
void splitQ5K(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  float d = fields.f16(), dmin = fields.f16();
  const uint8_t *packed = fields.bytes(12), *h = fields.bytes(32), *q = fields.bytes(128);
  int8_t *out = parts.integers;
  for (int part = 0; part < 8; ++part) {
    ScaleAndMin(packed, part).write(d, dmin, part, parts);
    for (int i = 0; i < 32; ++i) {
      uint8_t byte = q[part / 2 * 32 + i];
      int fifth = (h[i] >> part & 1) << 4;
      *out++ = static_cast<int8_t>((part % 2 ? high(byte) : low(byte)) | fifth);
    }
  }
}

// Sixteen parts of 16, of four bits and two in `h`: x = d scale (q - 32), scales of eight bits.
void splitQ6K(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  const uint8_t *lower = fields.bytes(128), *h = fields.bytes(64), *ofParts = fields.bytes(16);
  float d = fields.f16();
  for (int i = 0; i < 16; ++i)
    parts.scales[i] = d * float(static_cast<int8_t>(ofParts[i]));
  for (int half = 0; half < 2; ++half, lower += 64, h += 32)
    for (int quarter = 0; quarter < 4; ++quarter)
      for (int i = 0; i < 32; ++i) {
        uint8_t byte = lower[quarter % 2 * 32 + i];
        int bits = (quarter < 2 ? low(byte) : high(byte)) | (h[i] >> 2 * quarter & 3) << 4;
        *out++ = static_cast<int8_t>(bits - 32);
      }
}

// Eight parts of 32: x = d (scale - 32) table[q], scales of six bits.
void splitIq4Xs(const std::byte *block, const BlockParts &parts) {
  Fields fields(block);
  int8_t *out = parts.integers;
  float d = fields.f16();
  uint16_t upper = fields.u16();
  const uint8_t *lower = fields.bytes(4), *q = fields.bytes(128);
  for (int part = 0; part < 8; ++part, q += 16, out += 32) {
    int bits = part % 2 ? high(lower[part / 2]) : low(lower[part / 2]);
    parts.scales[part] = d * float((bits | (upper >> 2 * part & 3) << 4) - 32);
    for (int i = 0; i < 16; ++i) {
      out[i] = kIq4Values[low(q[i])];
      out[i + 16] = kIq4Values[high(q[i])];
    }
  }
}

template <void (*Split)(const std::byte *block, const BlockParts &parts)>
void splitEach(const GgufType &type, const std::byte *blocks, size_t count,
               const BlockParts &parts) {
  size_t groups = type.blockElements / static_cast<size_t>(type.format.group);
  for (size_t i = 0; i < count; ++i)
    Split(blocks + i * type.blockBytes, {parts.integers + i * type.blockElements,
                                         parts.scales + i * groups, parts.minima + i * groups});
}

/// Codes of four bits, 32 of which share a scale.
template <DType ScaleType, const CodeValues &Values>
constexpr IntegerFormat kCodes = {
    .dtype = DType::I8, .group = 32, .scaleType = ScaleType, .values = Values};

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, DType::F32},
    {1, "F16", 1, 2, DType::F16},
    {2, "Q4_0", kBlock, 18, {}, splitEach<splitQ40>, {DType::I4, 32, DType::F16}},
    {3, "Q4_1", kBlock, 20, {}, splitEach<splitQ41>, {DType::I4, 32, DType::F16, true}},
    {6, "Q5_0", kBlock, 22, {}, splitEach<splitQ50>, {DType::I8, 32, DType::F16}},
    {7, "Q5_1", kBlock, 24, {}, splitEach<splitQ51>, {DType::I8, 32, DType::F16, true}},
    {8, "Q8_0", kBlock, 34, {}, splitEach<splitQ80>, {DType::I8, 32, DType::F16}},
    {10, "Q2_K", kSuper, 84, {}, splitEach<splitQ2K>, {DType::I4, 16, DType::F32, true}},
    {11, "Q3_K", kSuper, 110, {}, splitEach<splitQ3K>, {DType::I4, 16}},
    {12, "Q4_K", kSuper, 144, {}, splitEach<splitQ4K>, {DType::I4, 32, DType::F32, true}},
    {13, "Q5_K", kSuper, 176, {}, splitEach<splitQ5K>, {DType::I8, 32, DType::F32, true}},
    {14, "Q6_K", kSuper, 210, {}, splitEach<splitQ6K>, {DType::I8, 16}},
    {20, "IQ4_NL", kBlock, 18, {}, splitEach<splitIq4Nl>, kCodes<DType::F16, kIq4Values>},
    {23, "IQ4_XS", kSuper, 136, {}, splitEach<splitIq4Xs>, kCodes<DType::F32, kIq4Values>},
    {30, "BF16", 1, 2, DType::BF16},
    {39, "MXFP4", kBlock, 17, {}, splitEach<splitMxfp4>, kCodes<DType::BF16, twiceE2M1>},
};

} // namespace

void GgufType::dequantize(std::span<const std::byte> blocks, std::span<float> out) const {
  assert(blocks.size() / blockBytes * blockElements == out.size());
  std::array<int8_t, kSuper> integers;
  std::array<float, kSuper / 16> scales, minima;
  for (size_t i = 0; i < blocks.size() / blockBytes; ++i) {
    splitBlocks(*this, blocks.data() + i * blockBytes, 1,
                {integers.data(), scales.data(), minima.data()});
    float *elements = out.data() + i * blockElements;
    for (uint32_t element = 0; element < blockElements; ++element) {
      elements[element] = float(integers[element]) * scales[element / format.group];
      if (format.hasMinima)
        elements[element] += minima[element / format.group];
    }
  }
}

void GgufType::split(std::span<const std::byte> blocks, const BlockParts &parts) const {
  size_t count = blocks.size() / blockBytes;
  splitBlocks(*this, blocks.data(), count, parts);
  if (!format.hasMinima || format.dtype != DType::I4)
    return;
  for (size_t element = 0; element < count * blockElements; ++element)
    parts.integers[element] -= 8;
  for (size_t group = 0; group < count * blockElements / format.group; ++group)
    parts.minima[group] += 8 * parts.scales[group];
}

void GgufType::copyScales(std::span<const std::byte> blocks, std::byte *out) const {
  for (size_t at = 0; at < blocks.size(); at += blockBytes, out += sizeof(uint16_t))
    std::memcpy(out, blocks.data() + at, sizeof(uint16_t));
}

const GgufType *findGgufType(uint32_t id) {
  const GgufType *found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string_view nameOfGgufType(uint32_t id) {
  constexpr std::pair<uint32_t, std::string_view> others[] = {
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
      {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
      {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"}};
  if (const GgufType *type = findGgufType(id))
    return type->name;
  for (const auto &[number, name] : others)
    if (number == id)
      return name;
  return "of a type that is not known";
}

std::span<const GgufType> ggufTypes() { return kTypes; }

} // namespace sinter
