#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Weights/IntegerFormat.h"
#include "test/unit/runtime/Matrices.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;

namespace {

struct Case {
  uint64_t k;
  std::vector<uint64_t> ns;
  DType from, to;
  bool transposed;
  uint64_t extraStride = 0;
  uint64_t misalignment = 0;
  uint64_t width = 64;
};

void check(const Case &test) {
  SCOPED_TRACE(::testing::Message() << "k " << test.k << " from " << nameOf(test.from) << " to "
                                    << nameOf(test.to) << (test.transposed ? " transposed" : "")
                                    << " first n " << test.ns[0] << " width " << test.width);
  PackedRhs layout{test.k, 0, test.to, test.width};
  std::vector<Buffer> buffers;
  std::vector<PackSource> sources;
  for (uint64_t n : test.ns) {
    layout.n += n;
    uint64_t stride = (test.transposed ? test.k : n) + test.extraStride;
    uint64_t bytes = (test.transposed ? n : test.k) * stride * sizeOf(test.from);
    Buffer values = randomBuffer(bytes / sizeOf(test.from), test.from, static_cast<unsigned>(n));
    buffers.emplace_back(bytes + test.misalignment);
    std::memcpy(buffers.back().data() + test.misalignment, values.data(), bytes);
    sources.push_back({nullptr, test.from, n, stride, test.transposed});
  }
  for (size_t i = 0; i < sources.size(); ++i)
    sources[i].data = buffers[i].data() + test.misalignment;

  Buffer out(layout.getBytes());
  std::memset(out.data(), 0x55, layout.getBytes());
  ThreadPool pool(2);
  pack(pool, layout, sources, out.data());

  uint64_t inter = layout.getInterleave();
  for (uint64_t panel = 0; panel < layout.count(); ++panel)
    for (uint64_t p = 0; p < layout.getPaddedK(); ++p)
      for (uint64_t j = 0; j < test.width; ++j) {
        uint64_t column = panel * test.width + j;
        float expected = 0;
        if (p < test.k && column < layout.n) {
          size_t s = 0;
          for (; column >= sources[s].n; ++s)
            column -= sources[s].n;
          uint64_t index =
              test.transposed ? column * sources[s].stride + p : p * sources[s].stride + column;
          expected = loadAt(sources[s].data, index, test.from);
          if (test.to == DType::BF16)
            expected = bf16ToFloat(floatToBf16(expected));
        }
        uint64_t index = panel * layout.getPanelBytes() / sizeOf(test.to) +
                         (p / inter) * test.width * inter + j * inter + p % inter;
        ASSERT_EQ(loadAt(out.data(), index, test.to), expected)
            << "panel " << panel << " row " << p << " column " << j;
      }
}

TEST(PackTest, AllTypesAndOrientations) {
  for (DType from : {DType::F32, DType::BF16, DType::F16})
    for (DType to : {DType::F32, DType::BF16})
      for (bool transposed : {false, true})
        for (uint64_t k : {1, 2, 15, 16, 31, 32, 33, 64, 100})
          for (uint64_t n : {1, 17, 64, 65, 130})
            for (uint64_t width : {16, 32, 64})
              check({k, {n}, from, to, transposed, 0, 0, width});
}

TEST(PackTest, MoreRowsThanATaskHas) {
  for (DType to : {DType::F32, DType::BF16})
    for (bool transposed : {false, true})
      for (uint64_t k : {512, 513, 1100})
        for (uint64_t width : {16, 32, 64})
          check({k, {80}, DType::F32, to, transposed, 0, 0, width});
}

// Weight-only integers in panels: a byte each, or two columns of half a panel's distance in one.
void checkIntegers(DType to, uint64_t k, std::vector<uint64_t> ns, bool transposed, uint64_t width,
                   uint64_t together) {
  SCOPED_TRACE(::testing::Message() << nameOf(to) << " k " << k << " first n " << ns[0]
                                    << (transposed ? " transposed" : "") << " width " << width
                                    << " together " << together);
  PackedRhs layout{k, 0, to, width, /*isScales=*/false, together, /*isWeightOnly=*/true};
  uint64_t padded = (k + 31) / 32 * 32;
  ASSERT_EQ(layout.getPanelBytes(), padded * width / (to == DType::I4 ? 2 : 1));
  std::vector<std::vector<int8_t>> values;
  std::vector<PackSource> sources;
  for (uint64_t n : ns) {
    uint64_t stride = (transposed ? k : n) + 3;
    std::vector<int8_t> &bytes = values.emplace_back((transposed ? n : k) * stride);
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<int8_t>(to == DType::I4 ? i * 7 % 16 - 8 : i * 37 % 256);
    sources.push_back({nullptr, DType::I8, n, stride, transposed});
    layout.n += n;
  }
  for (size_t i = 0; i < sources.size(); ++i)
    sources[i].data = values[i].data();
  Buffer out(layout.getBytes());
  std::memset(out.data(), 0x55, layout.getBytes());
  ThreadPool pool(2);
  pack(pool, layout, sources, out.data());
  for (uint64_t column = 0; column < layout.count() * width; ++column)
    for (uint64_t p = 0; p < padded; ++p) {
      int8_t expected = 0;
      uint64_t of = column, s = 0;
      for (; s < sources.size() && of >= sources[s].n; ++s)
        of -= sources[s].n;
      if (s < sources.size() && p < k)
        expected = values[s][transposed ? of * sources[s].stride + p : p * sources[s].stride + of];
      const auto *panel =
          reinterpret_cast<const int8_t *>(out.data()) + column / width * layout.getPanelBytes();
      uint64_t j = column % width, half = width / 2;
      uint64_t columns = to == DType::I8 ? width : half;
      int8_t byte = panel[(p / together * columns + j % columns) * together + p % together];
      int8_t found = to == DType::I8 ? byte
                     : j < half      ? static_cast<int8_t>(static_cast<int8_t>(byte << 4) >> 4)
                                     : static_cast<int8_t>(byte >> 4);
      ASSERT_EQ(found, expected) << "row " << p << " column " << column;
    }
}

TEST(PackTest, Integers) {
  for (DType to : {DType::I8, DType::I4})
    for (bool transposed : {false, true})
      for (uint64_t width : {16, 32, 64})
        for (uint64_t k : {1, 2, 33, 600})
          for (uint64_t together : {2, 4}) {
            if (to == DType::I4 && together != 4)
              continue;
            checkIntegers(to, k, {1}, transposed, width, together);
            checkIntegers(to, k, {70, 5, 64}, transposed, width, together);
          }
}

// Bytes that are sixteen values alone: of values that are there twice the first one.
TEST(PackTest, CodesOfValues) {
  constexpr CodeValues kInOrder = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
  constexpr uint64_t n = 50, width = 32;
  for (const CodeValues &values : {twiceE2M1, kInOrder})
    for (bool transposed : {false, true})
      for (uint64_t k : {40, 200}) {
        uint64_t padded = (k + 31) / 32 * 32;
        std::vector<int8_t> bytes(k * n);
        for (size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = values[(i * 7 + i / 16) % 16];
        PackedRhs layout{k,
                         n,
                         DType::I4,
                         width,
                         /*isScales=*/false,
                         /*together=*/4,
                         /*isWeightOnly=*/true,
                         values};
        PackSource source{bytes.data(), DType::I8, n, transposed ? k : n, transposed};
        Buffer out(layout.getBytes());
        ThreadPool pool(2);
        pack(pool, layout, std::span(&source, 1), out.data());
        for (uint64_t column = 0; column < n; ++column)
          for (uint64_t p = 0; p < padded; ++p) {
            const auto *panel = reinterpret_cast<const uint8_t *>(out.data()) +
                                column / width * layout.getPanelBytes();
            uint64_t j = column % width, half = width / 2;
            uint8_t byte = panel[(p / 4 * half + j % half) * 4 + p % 4];
            int code = j < half ? byte & 15 : byte >> 4;
            ASSERT_TRUE(values != twiceE2M1 || code != 8);
            ASSERT_EQ(p < k ? values[code] : code,
                      p < k ? bytes[transposed ? column * k + p : p * n + column] : 0);
          }
      }
}

// Bytes that bytes are multiplied by: padded along k, and fours end with -128 times their sums.
TEST(PackTest, BytesThatAreMultipliedTogether) {
  constexpr uint64_t n = 70, width = 32;
  for (uint64_t together : {2, 4})
    for (bool transposed : {false, true})
      for (uint64_t k : {1, 3, 8, 515, 1030}) {
        SCOPED_TRACE(::testing::Message()
                     << together << " together, k " << k << (transposed ? " transposed" : ""));
        std::vector<int8_t> values(n * k);
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<int8_t>(i * 37 % 256);
        PackSource source{values.data(), DType::I8, n, transposed ? k : n, transposed};
        PackedRhs layout{k, n, DType::I8, width, /*isScales=*/false, together};
        uint64_t padded = (k + together - 1) / together * together;
        ASSERT_EQ(layout.getPanelBytes(), (padded + (together == 4 ? 4 : 0)) * width);
        Buffer out(layout.getBytes());
        std::memset(out.data(), 0x55, layout.getBytes());
        ThreadPool pool(2);
        pack(pool, layout, std::span(&source, 1), out.data());
        for (uint64_t column = 0; column < layout.count() * width; ++column) {
          const auto *panel = reinterpret_cast<const int8_t *>(out.data()) +
                              column / width * layout.getPanelBytes();
          int32_t sum = 0;
          for (uint64_t p = 0; p < padded; ++p) {
            bool inside = column < n && p < k;
            int8_t expected = !inside ? 0 : values[transposed ? column * k + p : p * n + column];
            sum += expected;
            ASSERT_EQ(panel[(p / together * width + column % width) * together + p % together],
                      expected)
                << "row " << p << " column " << column;
          }
          int32_t found;
          std::memcpy(&found, panel + padded * width + column % width * sizeof(found),
                      sizeof(found));
          if (together == 4)
            ASSERT_EQ(found, -128 * sum) << "column " << column;
        }
      }
}

// Nor are those of 16 bits in pairs.
TEST(PackTest, ScalesAreNotPadded) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (bool transposed : {false, true})
      for (uint64_t k : {1, 3, 24, 515})
        for (uint64_t n : {20, 70}) {
          SCOPED_TRACE(::testing::Message() << nameOf(type) << " k " << k << " n " << n
                                            << (transposed ? " transposed" : ""));
          PackedRhs layout{k, n, type, 16, /*isScales=*/true};
          uint64_t panels = (n + 15) / 16;
          ASSERT_EQ(layout.getBytes(), panels * k * 16 * sizeOf(type));
          Buffer values = randomBuffer(k * n, type, 7);
          PackSource source{values.data(), type, n, transposed ? k : n, transposed};
          Buffer out(layout.getBytes());
          std::memset(out.data(), 0x55, layout.getBytes());
          ThreadPool pool(2);
          pack(pool, layout, std::span(&source, 1), out.data());
          for (uint64_t column = 0; column < panels * 16; ++column)
            for (uint64_t p = 0; p < k; ++p) {
              uint64_t at = transposed ? column * k + p : p * n + column;
              ASSERT_EQ(loadAt(out.data(), (column / 16 * k + p) * 16 + column % 16, type),
                        column < n ? loadAt(values.data(), at, type) : 0.0f)
                  << "row " << p << " column " << column;
            }
        }
}

// Vectors round as HalfFloat.h does, element by element: NaNs, infinities, ties, small numbers.
TEST(PackTest, EveryHalfAndHardFloats) {
  std::vector<uint16_t> halves(65536);
  std::vector<float> floats(65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    halves[i] = static_cast<uint16_t>(i);
    // The upper half is every bf16, the lower one near a tie or the payload of a NaN.
    constexpr uint32_t low[] = {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff};
    floats[i] = std::bit_cast<float>(i << 16 | low[i % 6]);
  }
  // One row of 1024 panels, or one column of 65536 rows, 16 times: so many columns are a vector.
  ThreadPool pool(1);
  auto checkAll = [&](const void *data, DType from, DType to, auto bitsOf) {
    for (bool transposed : {false, true}) {
      PackedRhs layout{transposed ? 65536u : 1u, transposed ? 16u : 65536u, to};
      PackSource source{data, from, layout.n, transposed ? 0 : layout.n, transposed};
      Buffer out(layout.getBytes());
      pack(pool, layout, std::span(&source, 1), out.data());
      uint64_t pairs = layout.getInterleave();
      for (uint64_t i = 0; i < 65536; ++i) {
        uint64_t row = transposed ? i : 0, column = transposed ? 15 : i;
        const std::byte *panel = out.data() + column / layout.width * layout.getPanelBytes();
        uint64_t at = (row / pairs * layout.width + column % layout.width) * pairs + row % pairs;
        uint32_t bits = 0;
        std::memcpy(&bits, panel + at * sizeOf(to), sizeOf(to));
        ASSERT_EQ(bits, bitsOf(i)) << i << (transposed ? " transposed" : "");
      }
    }
  };
  auto bitsOf = [](float value) { return std::bit_cast<uint32_t>(value); };
  checkAll(halves.data(), DType::F16, DType::F32,
           [&](uint64_t i) { return bitsOf(f16ToFloat(halves[i])); });
  checkAll(halves.data(), DType::BF16, DType::F32,
           [&](uint64_t i) { return bitsOf(bf16ToFloat(halves[i])); });
  checkAll(floats.data(), DType::F32, DType::BF16,
           [&](uint64_t i) { return floatToBf16(floats[i]); });
  checkAll(halves.data(), DType::F16, DType::BF16,
           [&](uint64_t i) { return floatToBf16(f16ToFloat(halves[i])); });
}

TEST(PackTest, SourcesSideBySide) {
  for (bool transposed : {false, true})
    for (DType to : {DType::F32, DType::BF16}) {
      check({48, {64, 32, 32}, DType::F32, to, transposed});
      for (uint64_t width : {16, 32, 64})
        check({33, {7, 100, 1, 70}, DType::BF16, to, transposed, 0, 0, width});
    }
}

TEST(PackTest, StridedAndUnalignedSources) {
  for (bool transposed : {false, true})
    for (DType from : {DType::F32, DType::BF16, DType::F16})
      for (DType to : {DType::F32, DType::BF16}) {
        check({40, {70}, from, to, transposed, 13});
        check({40, {70}, from, to, transposed, 0, 1});
      }
}

} // namespace
