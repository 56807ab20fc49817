#include "compiler/Analysis/KernelLayouts.h"
#include "runtime/Base/Float8.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {

struct AttentionCase {
  int64_t batch, length, heads, keyHeads, headSize, maxSequence;
  std::string attributes = "causal";
  /// "f32" and "bf16" of query, cache and result; of a cache "i8" and "f8E4M3FN", too.
  std::string query = "f32", cache = "f32", result = "f32";
  /// "" is dense.
  std::string keyLayout = "#sinter.key_panels<width = 16, interleave = 1>";
  std::string valueLayout = "#sinter.head_major";
  bool start = true, first = false, alibi = false, logsumexp = false, dropout = false;

  bool hasScales() const { return cache == "i8" || cache == "f8E4M3FN"; }
  /// The number of the first argument behind query, key, value and what comes before a seed.
  unsigned getSeedArgument() const { return 3u + start + first + alibi; }
};

void PrintTo(const AttentionCase &c, std::ostream *out) {
  *out << "batch=" << c.batch << ",length=" << c.length << ",heads=" << c.heads << "/" << c.keyHeads
       << ",size=" << c.headSize << ",maxSequence=" << c.maxSequence;
}

std::string makeKernel(const AttentionCase &c) {
  auto encoded = [](const std::string &layout) { return layout.empty() ? "" : ", " + layout; };
  std::string q =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", c.batch, c.length, c.heads, c.headSize, c.query);
  std::string o = llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", c.batch, c.length, c.heads,
                                c.headSize, c.result);
  auto cache = [&](const std::string &layout) {
    return llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}{5}>", c.batch, c.maxSequence, c.keyHeads,
                         c.headSize, c.cache, encoded(layout))
        .str();
  };
  if (c.logsumexp)
    o += llvm::formatv(", tensor<{0}x{1}x{2}xf32>", c.batch, c.length, c.heads);
  std::string k = cache(c.keyLayout), v = cache(c.valueLayout);
  std::string s = llvm::formatv("tensor<{0}xi32>", c.batch);
  std::string a = llvm::formatv("tensor<{0}xf32>", c.heads);
  std::string parameters = "%q: " + q + ", %k: " + k + ", %v: " + v;
  std::string operands = "%q, %k, %v", types = q + ", " + k + ", " + v;
  if (c.start) {
    parameters += ", %s: " + s;
    operands += ", %s";
    types += ", " + s;
  }
  if (c.first) {
    std::string f = llvm::formatv("tensor<{0}x{1}xi32>", c.batch, c.length);
    parameters += ", %f: " + f;
    operands += ", %f";
    types += ", " + f;
  }
  if (c.alibi) {
    parameters += ", %a: " + a;
    operands += ", %a";
    types += ", " + a;
  }
  if (c.dropout) {
    parameters += ", %r: tensor<2xi32>";
    operands += ", %r";
    types += ", tensor<2xi32>";
  }
  if (c.hasScales()) {
    std::string scales = llvm::formatv("tensor<{0}x{1}x{2}x1xf32{3}>", c.batch, c.maxSequence,
                                       c.keyHeads, encoded(c.valueLayout));
    parameters += ", %ks: " + scales + ", %vs: " + scales;
    operands += ", %ks, %vs";
    types += ", " + scales + ", " + scales;
  }
  return llvm::formatv(R"(
    func.func private @kernel({0}) -> ({1}) attributes {{sinter.kernel = "attention"} {{
      %0{7} = sinter.attention {2}
        {{scale = 0.3, {3}operandSegmentSizes = array<i32: 1, 1, 1, {5}, {8}, {6}, {10}, {11}, {11}>}
        : ({4}) -> ({1})
      return {9} : {1}
    })",
                       parameters, o, operands,
                       (c.attributes.empty() ? "" : c.attributes + ", ") +
                           (c.dropout ? "dropout = 0.25, stream = 2, " : ""),
                       types, c.start ? 1 : 0, c.alibi ? 1 : 0, c.logsumexp ? ":2" : "",
                       c.first ? 1 : 0, c.logsumexp ? "%0#0, %0#1" : "%0", c.dropout ? 1 : 0,
                       c.hasScales() ? 1 : 0)
      .str();
}

/// Normal numbers; documents of seven tokens and more; starts that leave room for the chunk, the
/// last slot's filling max_sequence; positive slopes and scales.
MakeArgument makeArguments(const AttentionCase &c) {
  return [c](unsigned index, RankedTensorType type) {
    ReferenceTensor tensor = makeNormal(type, index + 1);
    if (type.getElementType().isInteger(8))
      for (double &value : tensor.data())
        value = std::clamp(std::nearbyint(40 * value), -127.0, 127.0);
    if (c.hasScales() && index >= c.getSeedArgument() + c.dropout) {
      for (double &value : tensor.data())
        value = static_cast<float>(0.03 * (1 + std::abs(value)));
      return tensor;
    }
    if (c.dropout && index == c.getSeedArgument()) {
      tensor[0] = 0x7fffffff;
      tensor[1] = -5;
      return tensor;
    }
    if (type.getElementType().isInteger(32) && type.getRank() == 2)
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor[i] = i % c.length / (7 + i / c.length) * (7 + i / c.length);
    else if (type.getElementType().isInteger(32))
      for (int64_t b = 0; b < c.batch; ++b)
        tensor[b] =
            b + 1 == c.batch ? c.maxSequence - c.length : (b * 37) % (c.maxSequence - c.length + 1);
    if (type.getRank() == 1 && type.getElementType().isF32())
      for (int64_t h = 0; h < c.heads; ++h)
        tensor[h] = 0.5 / (h + 1);
    return tensor;
  };
}

void checkAttention(const AttentionCase &c, double tolerance, TargetAttr target = {}) {
  expectSameAsReference(makeKernel(c), tolerance, target, makeArguments(c));
}

class AttentionShapes : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionShapes, F32) {
  for (TargetAttr target : getHostTargets())
    checkAttention(GetParam(), 2e-6, target);
}
TEST_P(AttentionShapes, Bf16Cache) {
  AttentionCase c = GetParam();
  c.cache = "bf16";
  if (!c.keyLayout.empty())
    c.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
  checkAttention(c, 6e-3);
}
TEST_P(AttentionShapes, Bf16CacheWithoutPairs) {
  AttentionCase c = GetParam();
  c.cache = "bf16";
  checkAttention(c, 2e-6);
}
TEST_P(AttentionShapes, Bf16) {
  AttentionCase c = GetParam();
  c.query = c.cache = c.result = "bf16";
  if (!c.keyLayout.empty())
    c.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
  checkAttention(c, 8e-3);
}

/// Keys and values of 8 bits in the layout of their own.
AttentionCase withBytes(AttentionCase c, const char *type) {
  c.cache = type;
  if (!c.keyLayout.empty())
    c.keyLayout = "#sinter.key_panels<width = 64, interleave = 1>";
  return c;
}

TEST_P(AttentionShapes, Int8Cache) { checkAttention(withBytes(GetParam(), "i8"), 2e-6); }
TEST_P(AttentionShapes, Fp8Cache) { checkAttention(withBytes(GetParam(), "f8E4M3FN"), 2e-6); }

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionShapes,
    testing::Values(AttentionCase{1, 1, 2, 2, 64, 100}, AttentionCase{2, 1, 4, 4, 64, 64},
                    AttentionCase{3, 1, 8, 2, 20, 77}, AttentionCase{2, 1, 5, 1, 48, 129},
                    AttentionCase{1, 16, 2, 2, 64, 16}, AttentionCase{2, 13, 6, 3, 80, 45},
                    AttentionCase{1, 100, 3, 1, 8, 130}, AttentionCase{1, 70, 1, 1, 256, 200},
                    AttentionCase{2, 3, 2, 2, 1, 9}, AttentionCase{1, 64, 2, 2, 33, 300}));

TEST(Attention, NotCausal) { checkAttention({2, 9, 4, 2, 32, 75, ""}, 2e-6); }
TEST(Attention, Window) {
  checkAttention({2, 90, 4, 2, 32, 200, "causal, window = 17 : i64"}, 2e-6);
}
TEST(Attention, WindowOfOneRow) {
  checkAttention({2, 1, 4, 2, 32, 200, "causal, window = 40 : i64"}, 2e-6);
}
TEST(Attention, WindowNotCausal) {
  checkAttention({2, 30, 4, 2, 32, 100, "window = 5 : i64"}, 2e-6);
}
TEST(Attention, Softcap) {
  checkAttention({2, 20, 4, 2, 24, 90, "causal, softcap = 2.0 : f64"}, 2e-6);
}

TEST(Attention, Alibi) {
  AttentionCase c{2, 20, 4, 2, 24, 90};
  c.alibi = true;
  checkAttention(c, 2e-6);
}

TEST(Attention, AlibiSoftcapWindowInBf16) {
  AttentionCase c{2, 20, 6, 2, 24, 91, "causal, softcap = 5.0 : f64, window = 33 : i64"};
  c.alibi = true;
  c.cache = "bf16";
  c.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
  checkAttention(c, 8e-3);
}

TEST(Attention, First) {
  AttentionCase c{2, 120, 4, 2, 24, 120};
  c.start = false;
  c.first = true;
  checkAttention(c, 2e-6);
  c.keyLayout = c.valueLayout = "";
  checkAttention(c, 2e-6);
}

TEST(Attention, FirstWindowAlibiNotCausal) {
  AttentionCase c{2, 70, 2, 2, 24, 90, "window = 33 : i64"};
  c.first = c.alibi = true;
  checkAttention(c, 2e-6);
}

// The logarithm of a sum of exponentials of scores: relative to its own size as exact as they are.
TEST(Attention, Logsumexp) {
  AttentionCase c{2, 100, 4, 2, 24, 130};
  c.logsumexp = true;
  checkAttention(c, 2e-6);
  c.attributes += ", softcap = 2.0 : f64";
  c.first = c.alibi = true;
  checkAttention(c, 2e-6);
}

TEST(Attention, LogsumexpOfOneKey) {
  AttentionCase c{1, 1, 2, 2, 8, 1, ""};
  c.start = false;
  c.logsumexp = true;
  checkAttention(c, 2e-6);
}

TEST(Attention, LogsumexpOfPairs) {
  AttentionCase c{2, 50, 4, 2, 32, 70};
  c.cache = "bf16";
  c.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
  c.logsumexp = true;
  checkAttention(c, 6e-3);
}

TEST(Attention, Dropout) {
  AttentionCase c{2, 60, 4, 2, 24, 80};
  c.dropout = c.logsumexp = true;
  for (TargetAttr target : getHostTargets())
    checkAttention(c, 2e-6, target);
  c.keyLayout = c.valueLayout = "";
  c.first = c.alibi = true;
  checkAttention(c, 2e-6);
}

TEST(Attention, DropoutOfPairs) {
  AttentionCase c{2, 50, 4, 2, 32, 70};
  c.cache = "bf16";
  c.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
  c.dropout = true;
  checkAttention(c, 6e-3);
}

TEST(Attention, WithoutStart) {
  AttentionCase c{2, 50, 4, 4, 16, 50};
  c.start = false;
  checkAttention(c, 2e-6);
}

TEST(Attention, DenseCaches) {
  AttentionCase c{2, 21, 4, 2, 40, 70};
  c.keyLayout = c.valueLayout = "";
  checkAttention(c, 2e-6);
}

// Dense keys of bf16 are multiplied by pairs where panels of them are.
TEST(Attention, DenseCachesOfPairs) {
  AttentionCase c{2, 21, 4, 2, 33, 91};
  c.cache = "bf16";
  c.keyLayout = c.valueLayout = "";
  checkAttention(c, 6e-3);
  c.dropout = c.logsumexp = true;
  checkAttention(c, 6e-3);
}

/// Keys and values of bf16, in panels of pairs or dense.
AttentionCase withPairs(AttentionCase c, bool dense) {
  c.cache = "bf16";
  c.keyLayout = dense ? "" : "#sinter.key_panels<width = 16, interleave = 2>";
  if (dense)
    c.valueLayout = "";
  return c;
}

// Heads of whole steps of a matrix unit: tiles of 16 rows and fewer, a last block of one row, an
// odd number of panels, and all that scores may have beside products.
TEST(Attention, PairsOfWholeSteps) {
  for (bool dense : {false, true}) {
    checkAttention(withPairs({1, 129, 2, 2, 64, 144}, dense), 6e-3);
    checkAttention(withPairs({2, 4, 4, 1, 32, 77}, dense), 6e-3);
    checkAttention(withPairs({1, 1, 8, 2, 96, 211}, dense), 6e-3);
    checkAttention(withPairs({2, 9, 4, 2, 32, 75, ""}, dense), 6e-3);
    AttentionCase all{2, 20, 6, 2, 64, 91, "causal, softcap = 5.0 : f64, window = 33 : i64"};
    all.alibi = all.logsumexp = true;
    checkAttention(withPairs(all, dense), 8e-3);
    AttentionCase documents{2, 60, 4, 2, 32, 80};
    documents.first = documents.dropout = documents.logsumexp = true;
    checkAttention(withPairs(documents, dense), 6e-3);
    AttentionCase narrow{1, 70, 2, 1, 128, 70};
    narrow.query = narrow.result = "bf16";
    checkAttention(withPairs(narrow, dense), 8e-3);
  }
}

// A row has the same bits beside any others, wherever its queries are cut, and from keys in panels
// and dense ones.
TEST(Attention, SameBitsInEveryCut) {
  constexpr int64_t length = 80;
  auto run = [](const AttentionCase &c) {
    KernelJit jit(getContext(), makeKernel(c), getHostTarget());
    EXPECT_EQ(jit.getError(), "");
    auto type = [&](unsigned i) {
      return cast<RankedTensorType>(jit.getKernel().getArgumentTypes()[i]);
    };
    int64_t elements = c.heads * c.headSize;
    ReferenceTensor queries =
        makeNormal(cast<RankedTensorType>(type(0).clone({1, length, c.heads, c.headSize})), 1);
    std::vector<double> rows;
    for (int64_t start = 0; start < length; start += c.length) {
      ReferenceTensor query(type(0)), first(type(3));
      for (int64_t i = 0; i < query.getNumElements(); ++i)
        query[i] = queries[start * elements + i];
      first[0] = static_cast<double>(start);
      const ReferenceTensor arguments[] = {query, makeNormal(type(1), 2), makeNormal(type(2), 3),
                                           first};
      std::vector<GuardedStorage> storage;
      for (auto [i, argument] : llvm::enumerate(arguments))
        storage.emplace_back(type(i)).write(argument);
      storage.emplace_back(cast<RankedTensorType>(jit.getKernel().getResultTypes().front()));
      SmallVector<void *> slices;
      for (const GuardedStorage &slice : storage)
        slices.push_back(slice.data());
      jit.run(slices, 0, jit.getGrid());
      ReferenceTensor result = storage.back().read();
      rows.insert(rows.end(), result.data().begin(), result.data().end());
    }
    return rows;
  };
  for (int64_t headSize : {64, 40}) {
    AttentionCase whole{1, length, 4, 2, headSize, 100};
    whole.cache = "bf16";
    if (pairsKeys(BFloat16Type::get(&getContext()), headSize, getHostTarget()))
      whole.keyLayout = "#sinter.key_panels<width = 16, interleave = 2>";
    AttentionCase dense = whole;
    dense.keyLayout = dense.valueLayout = "";
    std::vector<double> expected = run(whole);
    EXPECT_TRUE(run(dense) == expected) << headSize << ", dense";
    for (int64_t part : {20, 4}) {
      whole.length = part;
      EXPECT_TRUE(run(whole) == expected) << headSize << ", " << part << " queries at a time";
    }
  }
}

TEST(Attention, CachesOfBytes) {
  for (const char *type : {"i8", "f8E4M3FN"}) {
    AttentionCase dense{2, 21, 4, 2, 40, 70};
    dense.keyLayout = dense.valueLayout = "";
    checkAttention(withBytes(dense, type), 2e-6);
    AttentionCase all{2, 20, 6, 2, 24, 91, "causal, softcap = 5.0 : f64, window = 33 : i64"};
    all.alibi = all.logsumexp = true;
    checkAttention(withBytes(all, type), 2e-6);
    AttentionCase documents{2, 60, 4, 2, 24, 80};
    documents.first = documents.dropout = true;
    checkAttention(withBytes(documents, type), 2e-6);
    AttentionCase narrow{2, 9, 4, 2, 32, 75, ""};
    narrow.query = narrow.result = "bf16";
    checkAttention(withBytes(narrow, type), 4e-3);
  }
}

// Every integer of 8 bits and every code of e4m3 but NaN is widened to its number: each is the one
// value that a slot sees.
TEST(Attention, EveryByteOfACache) {
  for (const char *type : {"i8", "f8E4M3FN"}) {
    AttentionCase c = withBytes({256, 1, 1, 1, 1, 1, ""}, type);
    c.start = false;
    expectSameAsReference(makeKernel(c), 0, {}, [](unsigned index, RankedTensorType type) {
      ReferenceTensor tensor(type);
      for (int64_t b = 0; b < tensor.getNumElements(); ++b) {
        auto code = static_cast<uint8_t>(b);
        bool isNaN = (code & 0x7f) == 0x7f;
        tensor[b] = index > 2                            ? 1.0
                    : type.getElementType().isInteger(8) ? static_cast<int8_t>(code)
                    : isa<Float8E4M3FNType>(type.getElementType())
                        ? (isNaN ? 0.0f : e4m3ToFloat(code))
                        : 0.0;
      }
      return tensor;
    });
  }
}

TEST(Attention, QueryInsideMergedProduct) {
  expectSameAsReference(R"(
    #keys = #sinter.key_panels<width = 16, interleave = 1>
    func.func private @kernel(%x: tensor<10x64xf32>, %k: tensor<2x40x2x8xf32, #keys>,
                              %v: tensor<2x40x2x8xf32, #sinter.head_major>, %s: tensor<2xi32>)
        -> tensor<10x32xbf16> attributes {sinter.kernel = "attention"} {
      %0 = sinter.slice %x {offsets = array<i64: 0, 0>} : (tensor<10x64xf32>) -> tensor<10x32xf32>
      %1 = sinter.reshape %0 : (tensor<10x32xf32>) -> tensor<2x5x4x8xf32>
      %2 = sinter.attention %1, %k, %v, %s
        {scale = 0.3, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
        : (tensor<2x5x4x8xf32>, tensor<2x40x2x8xf32, #keys>,
           tensor<2x40x2x8xf32, #sinter.head_major>, tensor<2xi32>) -> tensor<2x5x4x8xf32>
      %3 = sinter.cast %2 : (tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xbf16>
      %4 = sinter.reshape %3 : (tensor<2x5x4x8xbf16>) -> tensor<10x32xbf16>
      return %4 : tensor<10x32xbf16>
    })",
                        3e-3, {}, [](unsigned index, RankedTensorType type) {
                          ReferenceTensor tensor = makeNormal(type, index + 1);
                          if (type.getElementType().isInteger(32)) {
                            tensor[0] = 20;
                            tensor[1] = 0;
                          }
                          return tensor;
                        });
}

TEST(Attention, QueryInsideEachHead) {
  expectSameAsReference(R"(
    #keys = #sinter.key_panels<width = 16, interleave = 1>
    func.func private @kernel(%x: tensor<2x5x96xf32>, %k: tensor<2x40x4x8xf32, #keys>,
                              %v: tensor<2x40x4x8xf32, #sinter.head_major>)
        -> tensor<2x5x4x8xf32> attributes {sinter.kernel = "attention"} {
      %0 = sinter.reshape %x : (tensor<2x5x96xf32>) -> tensor<2x5x4x24xf32>
      %1 = sinter.slice %0 {offsets = array<i64: 0, 0, 0, 8>}
        : (tensor<2x5x4x24xf32>) -> tensor<2x5x4x8xf32>
      %2 = sinter.attention %1, %k, %v
        {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
        : (tensor<2x5x4x8xf32>, tensor<2x40x4x8xf32, #keys>,
           tensor<2x40x4x8xf32, #sinter.head_major>) -> tensor<2x5x4x8xf32>
      return %2 : tensor<2x5x4x8xf32>
    })",
                        2e-6);
}

TEST(AttentionErrors, LogsumexpInBf16) {
  expectError(R"(
    func.func private @kernel(%q: tensor<1x4x1x8xf32>) -> (tensor<1x4x1x8xf32>, tensor<1x4x1xbf16>)
        attributes {sinter.kernel = "attention"} {
      %0:2 = sinter.attention %q, %q, %q
        {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
        : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>)
        -> (tensor<1x4x1x8xf32>, tensor<1x4x1xbf16>)
      return %0#0, %0#1 : tensor<1x4x1x8xf32>, tensor<1x4x1xbf16>
    })",
              "expected logsumexp of f32");
}

TEST(AttentionErrors, TooManyWeightsToDrop) {
  AttentionCase c{32, 8192, 4, 1, 8, 8192};
  c.dropout = true;
  expectError(makeKernel(c), "expected 2^32 weights at the most for a dropout");
}

TEST(AttentionErrors, HeadTooWide) {
  expectError(makeKernel({1, 1, 1, 1, 1025, 16}), "expected heads of 1024 elements at the most");
}

TEST(AttentionErrors, OtherPanels) {
  AttentionCase c{1, 1, 1, 1, 16, 16};
  c.keyLayout = "#sinter.key_panels<width = 8, interleave = 1>";
  expectError(makeKernel(c), "expected key_panels of a multiple of 16 positions");
  c.keyLayout = "#sinter.key_panels<width = 4, interleave = 1>";
  expectError(makeKernel(c), "expected key_panels of a multiple of 8 positions", "cpu:x86-64-v3");
  c.keyLayout = "#sinter.head_major";
  expectError(makeKernel(c), "expected keys dense or in key_panels");
}

TEST(AttentionErrors, ScalesInPanels) {
  AttentionCase c = withBytes({1, 1, 1, 1, 16, 64}, "i8");
  std::string text = makeKernel(c);
  for (size_t at; (at = text.find("1x1xf32, #sinter.head_major")) != std::string::npos;)
    text.replace(at, 27, "1x1xf32, #sinter.key_panels<width = 16, interleave = 1>");
  expectError(text, "expected scales dense or head_major");
}

TEST(AttentionErrors, ValuesInPanels) {
  AttentionCase c{1, 1, 1, 1, 16, 16};
  c.valueLayout = "#sinter.key_panels<width = 16, interleave = 1>";
  expectError(makeKernel(c), "expected values dense or head_major");
}

TEST(AttentionErrors, TransposedQuery) {
  expectError(R"(
    func.func private @kernel(%x: tensor<1x4x5x8xf32>, %k: tensor<1x40x4x8xf32>)
        -> tensor<1x5x4x8xf32> attributes {sinter.kernel = "attention"} {
      %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1, 3>}
        : (tensor<1x4x5x8xf32>) -> tensor<1x5x4x8xf32>
      %1 = sinter.attention %0, %k, %k
        {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
        : (tensor<1x5x4x8xf32>, tensor<1x40x4x8xf32>, tensor<1x40x4x8xf32>) -> tensor<1x5x4x8xf32>
      return %1 : tensor<1x5x4x8xf32>
    })",
              "expected an input of the kernel, or a strided part of one");
}

} // namespace
