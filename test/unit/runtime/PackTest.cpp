#include "runtime/Device/Cpu/Pack.h"
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

  Buffer out(layout.bytes());
  std::memset(out.data(), 0x55, layout.bytes());
  ThreadPool pool(2);
  pack(pool, layout, sources, out.data());

  uint64_t inter = layout.interleave();
  for (uint64_t panel = 0; panel < layout.count(); ++panel)
    for (uint64_t p = 0; p < layout.paddedK(); ++p)
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
        uint64_t index = panel * layout.panelBytes() / sizeOf(test.to) +
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
      Buffer out(layout.bytes());
      pack(pool, layout, std::span(&source, 1), out.data());
      uint64_t pairs = layout.interleave();
      for (uint64_t i = 0; i < 65536; ++i) {
        uint64_t row = transposed ? i : 0, column = transposed ? 15 : i;
        const std::byte *panel = out.data() + column / layout.width * layout.panelBytes();
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
