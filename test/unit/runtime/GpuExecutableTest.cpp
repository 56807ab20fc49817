// Executables for GPUs: what the verifier believes of them, and what is known without one.
#include "runtime/Session/Session.h"
#include "test/unit/runtime/ExpectError.h"
#include <gtest/gtest.h>
#include <limits>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

// The one product of "run", changed.
Parts withGemm(const std::function<void(GemmParts &)> &change) {
  constexpr uint64_t m = 3, n = 8, k = 4;
  Parts parts = smallGpuModel(m, n, k);
  GemmParts product;
  product.m = m, product.n = n, product.k = k;
  product.lhs = slice(Space::Input, 0, m * k * 4);
  product.rhs = slice(Space::Parameter, 0, n * k * 4);
  product.out = slice(Space::Arena, 64, m * n * 4);
  product.rhsTransposed = true;
  product.rhsStride = k;
  product.workspace = slice(Space::Arena, 2048, 1024);
  change(product);
  parts.programs[1].commands[0] = gemm(product);
  return parts;
}

GemmParts::Step step(fb::PostOpKind kind, fb::DType dtype = fb::DType::F32) {
  return {kind, slice(Space::Parameter, 0, 3 * 8 * 4), dtype, 8};
}

fb::Slice resized(const fb::Slice &from, uint64_t bytes) {
  return slice(from.space(), from.offset(), bytes);
}

// "run" with an attention of rows of a product in its place, changed.
Parts withAttention(const std::function<void(AttentionParts &)> &change) {
  Parts parts = smallGpuModel(3, 8, 4);
  AttentionParts attention;
  uint64_t width = 32, rows = 4 * width * 2; // two heads, one of keys, one of values, of 8
  auto column = [&](uint64_t begin) {
    return slice(Space::Arena, 1024 + 2 * begin, rows - 2 * begin);
  };
  attention.query = column(0);
  attention.key = column(16);
  attention.value = column(24);
  attention.queryStrides = attention.keyStrides = attention.valueStrides =
      fb::HeadStrides(4 * width, width, 8);
  attention.out = slice(Space::Arena, 2048, 4 * 2 * 8 * 2);
  attention.logsumexp = slice(Space::Arena, 2176, 4 * 2 * 4);
  attention.workspace = slice(Space::Arena, 2304, 256);
  change(attention);
  parts.programs[1].commands[0] = sinter::runtime::testing::attention(attention);
  return parts;
}

TEST(GpuExecutableTest, AcceptsTheSmallModel) {
  auto executable = smallGpuModel().load();
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_FALSE((*executable)->isForCpu());
  EXPECT_TRUE(withGemm([](GemmParts &) {}).load());
  Parts cpu = smallModel();
  EXPECT_TRUE((*cpu.load())->isForCpu());
  cpu.device = "cpu";
  EXPECT_TRUE((*cpu.load())->isForCpu());
}

TEST(GpuExecutableTest, Attentions) {
  using A = AttentionParts;
  auto accepted = withAttention([](A &) {}).load();
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_TRUE(withAttention([](A &a) { a.logsumexp = a.workspace = {}; }).load());
  EXPECT_TRUE(withAttention([](A &a) {
                a.outDtype = fb::DType::F32;
                a.out = slice(Space::Arena, 2560, 256);
              }).load());

  auto refused = [](const char *why, const std::function<void(A &)> &change) {
    SCOPED_TRACE(why);
    expectError(withAttention(change), why);
  };
  const char *types = "is an attention of types other than bf16 and f16";
  refused(types, [](A &a) { a.dtype = fb::DType::F32; });
  refused(types, [](A &a) { a.dtype = static_cast<fb::DType>(99); });
  refused(types, [](A &a) { a.outDtype = fb::DType::F16; });
  refused("is an attention of 0 of something", [](A &a) { a.length = 0; });
  refused("of something", [](A &a) { a.headSize = uint64_t(1) << 60; });
  refused("has heads that are no multiple of the keys' heads", [](A &a) {
    a.keyHeads = 4;
    a.heads = 3;
  });
  refused("has no possible window and scale",
          [](A &a) { a.scale = std::numeric_limits<float>::infinity(); });
  refused("has no possible window and scale", [](A &a) { a.window = ~uint64_t(0); });
  // Operands: as large as their strides make them.
  refused("query has no strides", [](A &a) { a.queryStrides = {}; });
  refused("query is too small for its strides", [](A &a) { a.heads = 8; });
  refused("key is too small for its strides", [](A &a) { a.keys = 5; });
  refused("value is too small for its strides",
          [](A &a) { a.value = resized(a.value, a.value.bytes() - 1); });
  refused("value is too small for its strides", [](A &a) {
    a.batch = 2;
    a.valueStrides = fb::HeadStrides(129, 32, 8);
    a.query = resized(a.query, 1500);
    a.key = resized(a.key, 1500);
  });
  refused("has impossible strides",
          [](A &a) { a.keyStrides = fb::HeadStrides(0, ~uint64_t(0), 8); });
  refused("has impossible strides", [](A &a) {
    a.batch = uint64_t(1) << 30;
    a.queryStrides = fb::HeadStrides(uint64_t(1) << 40, 32, 8);
  });
  refused("key is not aligned to 16 bytes", [](A &a) { a.key = slice(Space::Arena, 1064, 216); });
  refused("leaves its space", [](A &a) { a.query = slice(Space::Arena, 1 << 20, 256); });
  // Results.
  refused("out has not the attention's size", [](A &a) { a.out = resized(a.out, 126); });
  refused("logsumexp has not the attention's size",
          [](A &a) { a.logsumexp = resized(*a.logsumexp, 64); });
  refused("out lies in a space that is only read here",
          [](A &a) { a.out = slice(Space::Parameter, 0, 128); });
  refused("out overlaps what is still read", [](A &a) { a.out = slice(Space::Arena, 1152, 128); });
  refused("out overlaps logsumexp", [](A &a) { a.logsumexp = slice(Space::Arena, 2064, 32); });
  refused("workspace is not in the arena", [](A &a) { a.workspace = slice(Space::State, 0, 64); });
  refused("workspace is not in the arena",
          [](A &a) { a.workspace = slice(Space::Arena, 2320, 64); });
  refused("workspace overlaps an operand",
          [](A &a) { a.workspace = slice(Space::Arena, 2048, 256); });

  Parts cpu = smallModel();
  Parts gpu = withAttention([](A &) {});
  cpu.programs[1].commands[0] = gpu.programs[1].commands[0];
  expectError(cpu, "is an attention of a library, which is for GPUs");
}

TEST(GpuExecutableTest, Devices) {
  Parts parts = smallGpuModel();
  parts.device = "cuda:sm_75";
  expectError(parts, "test.sinter: is for the device 'cuda:sm_75'; compile the model for cpu, or");
  parts.device = "abacus";
  expectError(parts, "is for the device 'abacus'");
}

TEST(GpuExecutableTest, Streams) {
  // The second command waits for the first.
  auto withOrder = [](uint32_t stream, std::vector<uint32_t> waits) {
    Parts parts = smallGpuModel();
    Parts::Command &command = parts.programs[1].commands[1];
    command.stream = stream;
    command.waits = std::move(waits);
    return parts;
  };
  EXPECT_TRUE(withOrder(0, {}).load());
  EXPECT_TRUE(withOrder(1, {0}).load());
  EXPECT_TRUE(withOrder(7, {}).load());
  expectError(withOrder(8, {}), "program 'run', command 1 (double): is of stream 8 of 8");
  expectError(withOrder(1, {1}), "waits for command 1, which is not before it");
  expectError(withOrder(1, {4000000000u}), "waits for command 4000000000, which is not before it");
  expectError(withOrder(0, {0}), "waits for command 0, which is of its own stream or of one that");
  expectError(withOrder(1, {0, 0}), "waits for command 0, which is of its own stream or of one");
  Parts parts = smallModel();
  parts.programs[1].commands[1].waits = {0};
  expectError(parts, "waits for command 0, which is of its own stream");
}

TEST(GpuExecutableTest, StreamsOfAProcessor) {
  // Of two collectives and a copy.
  auto withStreams = [](uint32_t first, uint32_t second, uint32_t copied) {
    Parts parts;
    parts.grid = {{"data", 2}};
    Parts::Program &run = parts.programs.emplace_back();
    run.name = "run";
    run.arenaBytes = 256;
    auto part = [](uint64_t offset, uint64_t bytes) { return slice(Space::Arena, offset, bytes); };
    run.commands = {collective(fb::CollectiveKind::AllGather, {0}, part(0, 8), part(64, 16)),
                    collective(fb::CollectiveKind::AllGather, {0}, part(0, 8), part(128, 16)),
                    copy(part(64, 16), part(192, 16))};
    run.commands[0].stream = first;
    run.commands[1].stream = second;
    run.commands[2].stream = copied;
    return parts;
  };
  EXPECT_TRUE(withStreams(0, 0, 0).load());
  EXPECT_TRUE(withStreams(1, 1, 0).load());
  constexpr char why[] = ", which a processor has for collectives alone, or not for all of them";
  expectError(withStreams(1, 0, 0), std::string("command 1 (collective): is of stream 0") + why);
  expectError(withStreams(2, 2, 0), std::string("command 0 (collective): is of stream 2") + why);
  expectError(withStreams(1, 1, 1), std::string("command 2 (copy): is of stream 1") + why);
}

TEST(GpuExecutableTest, Kernels) {
  Parts parts = smallGpuModel();
  parts.kernelProgram = 1;
  expectError(parts, "kernel 'addOne' is of program 1 of kernels, which does not exist");
  parts = smallGpuModel();
  for (uint32_t block : {0u, 1025u}) {
    parts.block = block;
    expectError(parts, "has blocks of " + std::to_string(block) + " threads");
  }
  parts = smallGpuModel();
  parts.sharedBytes = (256 << 10) + 1;
  expectError(parts, "asks for 262145 bytes of shared memory");
  parts = smallGpuModel();
  parts.waits = true;
  EXPECT_TRUE(parts.load());
  parts = smallModel();
  parts.waits = true;
  expectError(parts, "kernel 'double' is launched as on a GPU");
  parts = smallGpuModel();
  parts.kernelPrograms.clear();
  expectError(parts, "which does not exist");
  parts = smallGpuModel();
  parts.entries = {1 << 30};
  expectError(parts, "kernel 'addOne' has an entry, which is for processors");
  // A kernel is launched as it was made for.
  parts = smallGpuModel();
  parts.fingerprints = {{1, parts.fingerprintOf(1)}};
  EXPECT_TRUE(parts.load());
  for (uint32_t *field : {&parts.block, &parts.sharedBytes}) {
    *field += 1;
    expectError(parts, "command 1 (double): launches kernel 'doubleAll' otherwise than it was");
    *field -= 1;
  }
  parts.waits = true;
  expectError(parts, "launches kernel 'doubleAll' otherwise than it was made for");
  parts = smallGpuModel();
  parts.programs[1].commands[1] = launch(
      1, 3,
      {slice(Space::Arena, 64, 96), slice(Space::Constant, 0, 4), slice(Space::Output, 4, 92)});
  expectError(parts, "slice 2 is not aligned to 16 bytes");
}

TEST(GpuExecutableTest, Grids) {
  Parts parts = smallGpuModel();
  parts.programs[1].commands[2] = launch(2, uint64_t(1) << 31, {slice(Space::State, 0, 4)});
  expectError(parts, "has a grid of 2147483648 items");
}

TEST(GpuExecutableTest, Products) {
  using K = fb::PostOpKind;
  expectError(withGemm([](GemmParts &g) { g.m = 0; }), "lhs is too small");
  expectError(withGemm([](GemmParts &g) { g.m = 4; }),
              "lhs is too small for [4, 4] with row stride 4");
  expectError(withGemm([](GemmParts &g) { g.k = uint64_t(1) << 63; }), "lhs is too small");
  expectError(withGemm([](GemmParts &g) { g.lhsStride = ~uint64_t(0); }), "lhs is too small");
  expectError(withGemm([](GemmParts &g) { g.outStride = 200; }), "out is too small");
  expectError(withGemm([](GemmParts &g) { g.lhs = slice(Space::Arena, 64, 48); }),
              "out overlaps what is still read");
  expectError(withGemm([](GemmParts &g) { g.out = slice(Space::Arena, 66, 96); }),
              "not aligned to its elements");
  expectError(withGemm([](GemmParts &g) { g.steps.assign(17, step(fb::PostOpKind::Relu)); }),
              "has an epilogue of 17 steps");
  expectError(withGemm([](GemmParts &g) {
                g.steps = {{fb::PostOpKind::Bias, slice(Space::Arena, 1024, 28)}};
              }),
              "an epilogue's operand is too small for [1, 8]");
  expectError(withGemm([](GemmParts &g) {
                g.steps = {{fb::PostOpKind::Add, slice(Space::Arena, 68, 96), fb::DType::F32, 8}};
              }),
              "overlaps an epilogue's operand");
  expectError(withGemm([](GemmParts &g) { g.rhsStride = 3; }),
              "rhs is too small for [8, 4] with row stride 3");
  expectError(withGemm([](GemmParts &g) { g.lhsTransposed = true; }),
              "lhs is too small for [4, 3] with row stride 4");
  expectError(withGemm([](GemmParts &g) { g.dtype = fb::DType::I32; }),
              "is a product of types other than f32, bf16 and f16");
  expectError(withGemm([](GemmParts &g) { g.workspace = slice(Space::State, 0, 64); }),
              "workspace is not in the arena");
  expectError(withGemm([](GemmParts &g) { g.workspace = slice(Space::Arena, 2112, 64); }),
              "workspace is not in the arena, or not aligned to 256 bytes");
  expectError(withGemm([](GemmParts &g) { g.workspace = slice(Space::Arena, 0, 128); }),
              "workspace overlaps an operand");
  expectError(withGemm([](GemmParts &g) { g.workspace = slice(Space::Arena, 4000, 128); }),
              "workspace [4000, +128) leaves its space of 4096 bytes");
  EXPECT_TRUE(withGemm([](GemmParts &g) {
                g.steps = {step(K::Add), step(K::Bias), step(K::GeluTanh)};
              }).load());
  const std::vector<GemmParts::Step> wrong[] = {{step(K::Relu), step(K::Bias)},
                                                {step(K::Bias), step(K::Bias)},
                                                {step(K::Add), step(K::Add)},
                                                {step(K::Relu), step(K::Relu)},
                                                {step(K::Silu)},
                                                {step(K::Gelu)},
                                                {step(K::Multiply)},
                                                {step(K::Bias, fb::DType::BF16)}};
  for (const std::vector<GemmParts::Step> &steps : wrong)
    expectError(withGemm([&](GemmParts &g) { g.steps = steps; }),
                "has an epilogue that is not for GPUs");
  expectError(withGemm([](GemmParts &g) {
                g.steps = {{K::Add, slice(Space::Arena, 2048, 96), fb::DType::F32, 8}};
              }),
              "workspace overlaps an operand");
}

// A product of rows of fp8 in its place, changed.
Parts withFp8(const std::function<void(GemmParts &)> &change) {
  return withGemm([&](GemmParts &g) {
    g.m = 3, g.n = 16, g.k = 16;
    g.dtype = fb::DType::E4M3, g.outDtype = fb::DType::BF16;
    g.lhs = slice(Space::Arena, 512, 3 * 16), g.rhs = slice(Space::Arena, 1024, 16 * 16);
    g.out = slice(Space::Arena, 64, 3 * 16 * 2);
    g.rhsStride = 16;
    g.lhsScales = slice(Space::Arena, 1536, 3 * 4), g.rhsScales = slice(Space::Arena, 1600, 16 * 4);
    change(g);
  });
}

TEST(GpuExecutableTest, ProductsOfFp8HaveScalesOfRows) {
  using K = fb::PostOpKind;
  auto good = withFp8([](GemmParts &) {}).load();
  EXPECT_TRUE(good) << good.error().message();
  expectError(withFp8([](GemmParts &g) { g.lhsScales.reset(); }), "a scale");
  expectError(withFp8([](GemmParts &g) { g.rhsScales = slice(Space::Arena, 1600, 60); }),
              "a scale is too small for [1, 16]");
  expectError(withFp8([](GemmParts &g) { g.rhsScales = g.out; }),
              "a scale overlaps what is written");
  expectError(withFp8([](GemmParts &g) { g.rhsTransposed = false; }),
              "is a product of fp8 whose rows are not multiples of 16");
  expectError(withFp8([](GemmParts &g) { g.k = 8; }),
              "is a product of fp8 whose rows are not multiples of 16");
  expectError(withFp8([](GemmParts &g) { g.outDtype = fb::DType::E4M3; }),
              "is a product of types other than");
  expectError(withFp8([](GemmParts &g) { g.steps = {{K::Relu, {}, fb::DType::F32, 0}}; }),
              "has an epilogue that is not for GPUs");
  expectError(withGemm([](GemmParts &g) { g.lhsScales = slice(Space::Arena, 1536, 3 * 4); }),
              "has scales, which are for products of E4M3 and E5M2");
}

// A gradient in e5m2 by a weight in e4m3, changed.
Parts withGradient(const std::function<void(GemmParts &)> &change) {
  return withFp8([&](GemmParts &g) {
    g.dtype = fb::DType::E5M2, g.rhsDtype = fb::DType::E4M3;
    g.lhsScales = slice(Space::Arena, 1536, 4), g.rhsScales = slice(Space::Arena, 1600, 4);
    change(g);
  });
}

TEST(GpuExecutableTest, ProductsOfGradientsHaveScalesOfTensors) {
  auto good = withGradient([](GemmParts &) {}).load();
  EXPECT_TRUE(good) << good.error().message();
  expectError(withGradient([](GemmParts &g) { g.rhsDtype = fb::DType::E5M2; }),
              "is a product of two types that is not of E4M3 by E5M2");
  expectError(withGradient([](GemmParts &g) { g.dtype = fb::DType::BF16; }),
              "is a product of two types that is not of E4M3 by E5M2");
  expectError(withGradient([](GemmParts &g) { g.rhsDtype = {}; }),
              "is a product of E5M2 by E5M2, which no library has");
  expectError(withGradient([](GemmParts &g) {
                g.lhsScales = slice(Space::Arena, 1536, 3 * 4);
                g.rhsScales = slice(Space::Arena, 1600, 16 * 4);
              }),
              "is a product of two types with scales of rows");
  expectError(withGradient([](GemmParts &g) { g.rhsScales = slice(Space::Arena, 1600, 2); }),
              "is a product of two types with scales of rows");
}

TEST(GpuExecutableTest, FormsOfAnotherDevice) {
  Parts parts = smallModel();
  GemmParts product;
  product.m = 3, product.n = 70, product.k = 20;
  product.lhs = slice(Space::Input, 0, 3 * 20 * 4);
  product.rhs = slice(Space::Parameter, 0, 70 * 20 * 4);
  product.out = slice(Space::Arena, 64, 3 * 70 * 4);
  product.rhsTransposed = false;
  product.rhsStride = 70;
  parts.programs[1].commands[0] = gemm(product);
  expectError(parts, "is a product of a library, which is for GPUs");
  parts = smallModel();
  moveToGpu(parts, "machine code");
  expectError(parts, "packs, which is not for GPUs");
}

// The small model, whose kernel "double" can be launched in another way, too: as kernel 3.
Parts withAlternative(const Parts::Command &other) {
  Parts parts = smallGpuModel();
  parts.kernels.push_back("doubleToo");
  parts.tune = true;
  parts.programs[1].commands[1].alternatives = {other};
  return parts;
}

TEST(GpuExecutableTest, AlternativesAreVerifiedAsActions) {
  fb::Slice out = slice(Space::Output, 0, 3 * 8 * 4);
  EXPECT_TRUE(withAlternative(launch(3, 1, {out})).load());
  expectError(withAlternative(launch(1, 1, {out})),
              "launches kernel 'doubleAll' otherwise than it was made for");
  EXPECT_TRUE(withAlternative(fill(out, 1)).load());
  expectError(withAlternative(launch(4, 1, {out})), "launches kernel 4, which does not exist");
  expectError(withAlternative(launch(1, 1, {slice(Space::Arena, 4096, 4)})),
              "slice 0 [4096, +4) leaves its space of 4096 bytes");
  expectError(withAlternative(launch(1, uint64_t(1) << 31, {out})),
              "has a grid of 2147483648 items");
  expectError(withAlternative(fill(slice(Space::Parameter, 0, 4), 1)),
              "out lies in a space that is only read here");
  expectError(withAlternative(copy(slice(Space::Checkpoint, 0, 4), out)),
              "source lies in a space that does not exist here");
  expectError(withAlternative({static_cast<fb::Action>(99), launch(1, 1, {}).make, "", ""}),
              "is of no known kind");
  Parts parts = withAlternative(fill(out, 1));
  std::vector<Parts::Command> &others = parts.programs[1].commands[1].alternatives;
  others.resize(15, others[0]);
  EXPECT_TRUE(parts.load());
  others.resize(16, others[0]);
  expectError(parts, "command 1 (double): has 16 alternatives");
  Parts cpu = smallModel();
  cpu.programs[1].commands[1].alternatives = {cpu.programs[1].commands[1]};
  expectError(cpu, "has alternatives, which are for GPUs");
}

TEST(GpuExecutableTest, VerifierSurvivesEveryFlippedByte) {
  std::vector<std::byte> bytes =
      withAlternative(launch(3, 3, {slice(Space::Output, 0, 3 * 8 * 4)})).build();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (std::byte flip : {std::byte{0xff}, std::byte{1}}) {
      bytes[i] ^= flip;
      // What is accepted is of sizes that can be added up.
      if (auto executable = Executable::fromFlatbuffer(bytes, "flipped");
          executable && !(*executable)->isForCpu())
        EXPECT_TRUE(predictMemory(*executable));
      bytes[i] ^= flip;
    }
}

TEST(GpuExecutableTest, MemoryIsPredictedWithoutAGpu) {
  auto use = predictMemory(*smallGpuModel().load());
  ASSERT_TRUE(use) << use.error().message();
  EXPECT_EQ(use->parameter, 8 * 4 * 4 + 8 * 4u);
  EXPECT_EQ(use->arena, 4096u);
  EXPECT_EQ(use->constant, 64u);
  EXPECT_GT(use->code, 0u);
  // The scratch of `preprocess` and the tensor that a kernel of it reads, not the one that is
  // copied.
  EXPECT_EQ(use->preprocessArena, 2 * 8 * 4 * 4u);
  EXPECT_GE(use->host, use->input + use->output);
}

} // namespace
