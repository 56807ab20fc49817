#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/support/Environment.h"
#include "test/unit/cuda/SmallModel.h"
#include "test/unit/runtime/Matrices.h"
#include <cmath>
#include <cublasLt.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fake::FakeCuda;
using fake::FakeOptions;
using fb::Space;
using sinter::test::Variable;

namespace {
class CudaSessionTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    open();
  }
  void TearDown() override {
    if (!gpu)
      return;
    for (const std::string &complaint : gpu->complaints())
      ADD_FAILURE() << complaint;
    if (!lost) {
      EXPECT_EQ(gpu->statistics().handles, 0u);
      EXPECT_EQ(gpu->statistics().allocated, 0u);
    }
    gpu.reset();
  }

  // Another GPU than that of a test's beginning.
  void open(FakeOptions options = {}) {
    gpu.reset();
    options.cache = SINTER_FAKE_CACHE;
    gpu = std::make_unique<FakeCuda>(options);
  }

  Expected<std::unique_ptr<Session>> bind(const Parts &parts, bool debug = false,
                                          std::vector<std::string> copiedStates = {}) {
    BindOptions options;
    options.copiedStates = std::move(copiedStates);
    options.threads = 2;
    options.weights = &weights;
    options.debug = debug;
    options.onWarning = [this](const Error &error) { warnings.push_back(error.message()); };
    return Session::bind(*parts.load(), options);
  }
  std::unique_ptr<Session> bound(const Parts &parts = model()) {
    auto session = bind(parts);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }
  std::string bindError(const Parts &parts) {
    auto session = bind(parts);
    return session ? "" : session.error().message();
  }

  void fillInput(Session &session, float seed) {
    auto x = session.input(0, "x", DType::F32)->as<float>();
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = seed + float(i);
  }
  void expectOutput(Session &session, float seed) {
    auto y = session.output(0, "y", DType::F32)->as<float>();
    for (uint64_t i = 0; i < m; ++i)
      for (uint64_t j = 0; j < n; ++j) {
        double sum = weights.kept.at("w.bias")[j];
        for (uint64_t p = 0; p < k; ++p)
          sum += double(seed + float(i * k + p)) * (weights.kept.at("w.weight")[j * k + p] + 1);
        EXPECT_NEAR(y[i * n + j], 2 * sum, 1e-2) << i << " " << j;
      }
  }
  void runOnce(Session &session, float seed) {
    fillInput(session, seed);
    auto ran = session.run(0);
    ASSERT_TRUE(ran) << ran.error().message();
    expectOutput(session, seed);
  }

  float runsOf(Session &session) {
    float runs = 0;
    EXPECT_TRUE(session.readState("runs", std::as_writable_bytes(std::span(&runs, 1))));
    return runs;
  }

  std::unique_ptr<FakeCuda> gpu;
  bool lost = false; ///< on purpose: then nothing can be given back any more
  Weights weights;
  std::vector<std::string> warnings;
};

TEST_F(CudaSessionTest, WalksFirstAndReplaysThen) {
  auto session = bound();
  unsigned launched = gpu->calls("cuLaunchKernel");
  runOnce(*session, 1);
  EXPECT_EQ(gpu->statistics().graphs, 0u);
  EXPECT_EQ(gpu->statistics().captures, 1u);
  EXPECT_EQ(gpu->calls("cuLaunchKernel") - launched, 4u); // walked, and captured for what comes
  unsigned waited = gpu->calls("cuStreamSynchronize");
  for (int i = 2; i < 5; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(gpu->statistics().graphs, 3u);
  EXPECT_EQ(gpu->calls("cuLaunchKernel") - launched, 4u);
  EXPECT_EQ(gpu->calls("cuStreamSynchronize") - waited, 3u);
  EXPECT_EQ(runsOf(*session), 4); // a capture runs nothing
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CudaSessionTest, GraphsCanBeSwitchedOff) {
  Variable off("SINTER_CUDA_GRAPH", "0");
  auto session = bound();
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(gpu->statistics().captures, 0u);
}

TEST_F(CudaSessionTest, AFailedCaptureIsToldOfOnceAndWalks) {
  auto session = bound();
  gpu->failCall("cuGraphInstantiate", CUDA_ERROR_NOT_SUPPORTED);
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(gpu->calls("cuStreamBeginCapture"), 1u);
  EXPECT_EQ(gpu->statistics().graphs, 0u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "capturing a graph: CUDA error 801; every step is launched command by command, which "
            "takes longer");
}

TEST_F(CudaSessionTest, AnyOrderOfThreadsGivesTheSame) {
  for (unsigned seed : {1u, 2u}) {
    FakeOptions options;
    options.checked = true;
    using Order = simt::Schedule::Order;
    options.schedule = {seed == 1 ? Order::Reverse : Order::Shuffled, seed};
    open(options);
    weights = Weights();
    auto session = bound();
    runOnce(*session, 1);
    runOnce(*session, 2);
    session.reset();
    EXPECT_TRUE(gpu->complaints().empty()) << gpu->complaints().front();
  }
}

TEST_F(CudaSessionTest, EveryFormOfAProduct) {
  struct Case {
    fb::DType dtype, outDtype;
    bool rhsTransposed, lhsTransposed;
    std::vector<fb::PostOpKind> steps;
    bool inPlace = false;
  };
  using K = fb::PostOpKind;
  constexpr auto f32 = fb::DType::F32, bf16 = fb::DType::BF16, f16 = fb::DType::F16;
  const Case cases[] = {
      {f32, f32, false, false, {}},
      {f32, f32, true, true, {K::Relu}},
      {f32, f32, false, true, {K::Bias, K::Add, K::GeluTanh}},
      {bf16, f32, true, false, {K::Add}, true},
      {bf16, bf16, false, false, {K::Add, K::Bias, K::Relu}},
      {f16, f16, true, true, {K::Bias, K::GeluTanh}},
  };
  constexpr uint64_t rows = 5, columns = 7, depth = 6;
  for (const Case &each : cases) {
    bool right = each.rhsTransposed;
    // Strides that are longer than rows.
    uint64_t lhsStride = (each.lhsTransposed ? rows : depth) + 3;
    uint64_t rhsStride = (right ? depth : columns) + 1, outStride = columns + 2;
    uint64_t addStride = each.inPlace ? outStride : columns + 4;
    auto dtype = static_cast<DType>(each.dtype), outDtype = static_cast<DType>(each.outDtype);
    uint64_t lhsCount = (each.lhsTransposed ? depth : rows) * lhsStride;
    uint64_t rhsCount = (right ? columns : depth) * rhsStride;
    Parts parts;
    parts.programs.resize(1);
    Parts::Program &run = parts.programs[0];
    run.name = "run";
    auto place = [&](const char *name, fb::DType type, uint64_t count) {
      uint64_t bytes = count * sizeOf(static_cast<DType>(type));
      fb::Slice at = slice(Space::Input, run.inputBytes, bytes);
      run.inputs.push_back({name, type, {int64_t(count)}, at});
      run.inputBytes += (bytes + 63) / 64 * 64;
      return at;
    };
    fb::Slice lhs = place("lhs", each.dtype, lhsCount), rhs = place("rhs", each.dtype, rhsCount);
    fb::Slice bias = place("bias", each.outDtype, columns);
    fb::Slice addend = place("addend", each.outDtype, rows * addStride);
    uint64_t outBytes = rows * outStride * sizeOf(outDtype);
    run.outputBytes = outBytes;
    fb::Slice out = slice(Space::Output, 0, outBytes);
    run.outputs = {{"out", each.outDtype, {int64_t(rows * outStride)}, out}};
    GemmParts product;
    product.m = rows, product.n = columns, product.k = depth;
    product.lhs = lhs, product.rhs = rhs, product.out = out;
    product.dtype = each.dtype, product.outDtype = each.outDtype;
    product.lhsStride = lhsStride, product.outStride = outStride;
    product.rhsTransposed = each.rhsTransposed, product.rhsStride = rhsStride;
    product.lhsTransposed = each.lhsTransposed;
    for (K kind : each.steps)
      product.steps.push_back({kind,
                               kind == K::Add && each.inPlace ? out
                               : kind == K::Add               ? addend
                                                              : bias,
                               each.outDtype, kind == K::Add ? addStride : 0});
    if (each.inPlace)
      run.commands.push_back(copy(addend, out));
    run.commands.push_back(gemm(product));
    moveToGpu(parts, "machine code");
    auto session = bind(parts);
    ASSERT_TRUE(session) << session.error().message();
    auto values = [&](const char *name, fb::DType type, uint64_t count, unsigned seed) {
      Buffer made = randomBuffer(count, static_cast<DType>(type), seed);
      auto view = *(*session)->input(0, name, static_cast<DType>(type));
      std::memcpy(view.bytes.data(), made.data(), view.bytes.size());
      return view.bytes.data();
    };
    auto *a = values("lhs", each.dtype, lhsCount, 1), *b = values("rhs", each.dtype, rhsCount, 2);
    auto *c = values("bias", each.outDtype, columns, 3);
    auto *d = values("addend", each.outDtype, rows * addStride, 4);
    for (int round = 0; round < 2; ++round) { // walked and replayed
      ASSERT_TRUE((*session)->run(0));
      auto *got = (*session)->output(0, "out", outDtype)->bytes.data();
      for (uint64_t i = 0; i < rows; ++i)
        for (uint64_t j = 0; j < columns; ++j) {
          float sum = 0;
          for (uint64_t p = 0; p < depth; ++p)
            sum += loadAt(a, each.lhsTransposed ? p * lhsStride + i : i * lhsStride + p, dtype) *
                   loadAt(b, right ? j * rhsStride + p : p * rhsStride + j, dtype);
          for (K kind : each.steps)
            sum = kind == K::Bias  ? sum + loadAt(c, j, outDtype)
                  : kind == K::Add ? sum + loadAt(d, i * addStride + j, outDtype)
                  : kind == K::Relu
                      ? std::max(sum, 0.0f)
                      : 0.5f * sum *
                            (1 + std::tanh(0.7978845608f * (sum + 0.044715f * sum * sum * sum)));
          EXPECT_NEAR(loadAt(got, i * outStride + j, outDtype), sum,
                      outDtype == DType::F32 ? 1e-4 : 0.05)
              << i << " " << j;
        }
    }
  }
}

TEST_F(CudaSessionTest, TunedProductsAreRemembered) {
  std::string pattern = ::testing::TempDir() + "sinter-tune-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  Variable cache("SINTER_CACHE_DIR", folder.string());
  // Products that are run while the model is bound.
  uint64_t shift = 0;
  auto bindAndRun = [&] {
    weights = Weights();
    unsigned ran = gpu->statistics().products;
    Parts parts = model();
    parts.tune = true;
    fb::Slice product = slice(Space::Arena, 64 + shift, m * n * 4);
    GemmParts linear;
    linear.m = m, linear.n = n, linear.k = k;
    linear.lhs = slice(Space::Input, 0, m * k * 4), linear.out = product;
    linear.rhs = slice(Space::Parameter, 0, n * k * 4);
    linear.steps = {{fb::PostOpKind::Bias, slice(Space::Parameter, n * k * 4, n * 4)}};
    linear.rhsTransposed = true, linear.rhsStride = k;
    parts.programs[1].commands[0] = gemm(linear);
    parts.programs[1].commands[1] =
        launch(1, m, {product, slice(Space::Constant, 0, 4), slice(Space::Output, 0, m * n * 4)},
               "double", "layer.0", {fb::DType::F32});
    auto session = bound(parts);
    ran = gpu->statistics().products - ran;
    EXPECT_EQ(session->getAlternatives().size(), 1u);
    EXPECT_NE(session->getAlternatives()[0].find(" of cuBLASLt for 3 x 8 x 4, of "),
              std::string::npos);
    runOnce(*session, 1);
    EXPECT_EQ(runsOf(*session), 1);
    return ran;
  };
  EXPECT_GE(bindAndRun(), 9u); // each algorithm, once to load it and some times to time it
  EXPECT_EQ(bindAndRun(), 0u);
  // What was chosen for one alignment need not do for another.
  shift = 16;
  EXPECT_NE(bindAndRun(), 0u);
  EXPECT_EQ(bindAndRun(), 0u);
  std::filesystem::remove_all(folder);
}

TEST_F(CudaSessionTest, ProductsAreNotTriedUnlessToldTo) {
  auto session = bound();
  EXPECT_EQ(gpu->statistics().products, 0u);
}

TEST_F(CudaSessionTest, AllIsGivenBack) {
  auto session = bound();
  runOnce(*session, 1);
  Trace trace(100);
  session->setTrace(&trace);
  runOnce(*session, 2);
  EXPECT_GT(gpu->statistics().allocated, 0u);
  EXPECT_GT(gpu->statistics().handles, 0u);
  session.reset();
  EXPECT_EQ(gpu->statistics().allocated, 0u);
  EXPECT_EQ(gpu->statistics().usedBytes, 0u);
  EXPECT_EQ(gpu->statistics().handles, 0u);
}

TEST_F(CudaSessionTest, MemoryIsThatOfThePlan) {
  auto predicted = predictMemory(*model().load());
  ASSERT_TRUE(predicted) << predicted.error().message();
  auto session = bound();
  MemoryUse use = session->getMemory();
  EXPECT_EQ(predicted->getPeak(), use.getPeak());
  EXPECT_EQ(predicted->host, use.host);
  EXPECT_EQ(use.checkpoint, n * k * 4 + n * 4);
  EXPECT_EQ(use.preprocessArena, 2 * n * k * 4); // the weight as stored beside the scratch
  EXPECT_GE(use.reserved, use.getResident() - use.code);
  EXPECT_GE(gpu->statistics().usedBytes, use.getResident() - use.code);
}

TEST_F(CudaSessionTest, WhatPreprocessingTakesIsGoneBeforeTheStepsTakeTheirs) {
  Parts parts = model();
  for (Parts::Program &program : parts.programs) {
    program.arenaBytes = 1 << 20;
    program.commands.push_back(fill(slice(Space::Arena, (1 << 20) - 64, 64), 0));
  }
  auto session = bound(parts);
  EXPECT_LT(session->getMemory().reserved, 2u << 20);
}

TEST_F(CudaSessionTest, PredictingNeedsNoGpu) {
  auto predicted = predictMemory(*model().load());
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->state, 64u);
  EXPECT_EQ(gpu->calls("cuInit"), 0u);
}

TEST_F(CudaSessionTest, RandomWeightsAreTheProcessors) {
  auto executable = *model().load();
  auto once = [&](uint64_t seed) {
    BindOptions options;
    options.threads = 2;
    options.seed = seed;
    auto session = std::move(*Session::bind(executable, options));
    fillInput(*session, 1);
    EXPECT_TRUE(session->run(0));
    auto y = session->output(0, "y", DType::F32)->as<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  EXPECT_EQ(once(7), once(7));
  EXPECT_NE(once(7), once(8));
}

TEST_F(CudaSessionTest, StatesAreReadAndWritten) {
  // More than fits the buffers that copies go through.
  constexpr size_t count = (40 << 20) / 4 + 3;
  Parts parts = model();
  parts.stateBytes = 64 + count * 4;
  parts.states.push_back(
      {"large", fb::DType::F32, {int64_t(count)}, slice(Space::State, 64, count * 4)});
  auto session = bound(parts);
  auto view = session->state("large");
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->bytes.empty());
  EXPECT_EQ(view->shape, std::vector<int64_t>{int64_t(count)});
  std::vector<float> sent(count), received(count, 1);
  auto get = [&] {
    ASSERT_TRUE(session->readState("large", std::as_writable_bytes(std::span(received))));
  };
  get();
  EXPECT_EQ(received, sent); // zeros
  std::iota(sent.begin(), sent.end(), 0.0f);
  std::vector<float> copy = sent;
  ASSERT_TRUE(session->writeState("large", std::as_bytes(std::span(sent))));
  std::fill(sent.begin(), sent.end(), NAN); // on return it is no longer read
  get();
  EXPECT_EQ(received, copy);
  ASSERT_TRUE(session->clearState());
  get();
  EXPECT_EQ(received, std::vector<float>(count));
  EXPECT_FALSE(session->readState("none", {}));
  EXPECT_FALSE(session->writeState("none", {}));
}

// Begins to copy the state after two runs, and runs on before it waits for the copy.
TEST_F(CudaSessionTest, StatesAreCopiedWhileProgramsRun) {
  for (bool debug : {false, true})
    for (const char *graphs : {"1", "0"}) {
      Variable variable("SINTER_CUDA_GRAPH", graphs);
      weights = Weights();
      auto session = bind(model(/*waits=*/true), debug, {"runs"});
      ASSERT_TRUE(session) << session.error().message();
      std::span<std::byte> memory = (*session)->copyMemory(sizeof(float));
      ASSERT_EQ(memory.size(), sizeof(float));
      auto *copied = reinterpret_cast<const float *>(memory.data());
      unsigned captured = gpu->statistics().captures;
      for (int i = 0; i < 2; ++i)
        runOnce(**session, 1);
      // What comes before the state is changed, and the rest.
      EXPECT_EQ(gpu->statistics().captures - captured, !debug && *graphs == '1' ? 2u : 0u);
      Session::StateCopy copies[] = {{"runs", memory}};
      unsigned waited = gpu->calls("cuStreamSynchronize") + gpu->calls("cuEventSynchronize");
      ASSERT_TRUE((*session)->beginCopies(copies));
      EXPECT_EQ(gpu->calls("cuStreamSynchronize") + gpu->calls("cuEventSynchronize"), waited);
      EXPECT_EQ(*copied, 0); // the fake gives nobody what he does not wait for
      for (int i = 0; i < 2; ++i)
        runOnce(**session, 1);
      ASSERT_TRUE((*session)->finishCopies());
      EXPECT_EQ(*copied, 2);
      EXPECT_EQ(runsOf(**session), 4);
      // What changes states otherwise comes after it, too.
      ASSERT_TRUE((*session)->beginCopies(copies));
      ASSERT_TRUE((*session)->clearState());
      ASSERT_TRUE((*session)->finishCopies());
      EXPECT_EQ(*copied, 4);
    }
}

TEST_F(CudaSessionTest, CopiesToOrdinaryMemoryAreWaitedFor) {
  gpu->failCall("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY, 3);
  auto session = bind(model(), false, {"runs"});
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE((*session)->copyMemory(sizeof(float)).empty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("pinned memory for copies of states"), std::string::npos);
  runOnce(**session, 1);
  float runs = 0;
  Session::StateCopy copies[] = {{"runs", std::as_writable_bytes(std::span(&runs, 1))}};
  ASSERT_TRUE((*session)->beginCopies(copies));
  EXPECT_EQ(runs, 1);
}

TEST_F(CudaSessionTest, AnyCallOfACopyMayFail) {
  for (const char *call : {"cuEventRecord", "cuStreamWaitEvent", "cuMemcpyDtoHAsync"}) {
    weights = Weights();
    auto session = bind(model(), false, {"runs"});
    ASSERT_TRUE(session) << session.error().message();
    Session::StateCopy copies[] = {{"runs", (*session)->copyMemory(sizeof(float))}};
    gpu->failCall(call, CUDA_ERROR_UNKNOWN);
    EXPECT_FALSE((*session)->beginCopies(copies)) << call;
    EXPECT_TRUE((*session)->beginCopies(copies)) << call;
    gpu->failCall("cuEventSynchronize", CUDA_ERROR_UNKNOWN);
    EXPECT_FALSE((*session)->finishCopies()) << call;
  }
}

TEST_F(CudaSessionTest, ProfilesAddUp) {
  auto session = bound();
  Trace trace(100);
  session->setTrace(&trace);
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(trace.getEvents().size(), 12u);
  std::vector<ProfileRow> rows = profile(trace, session->getExecutable(), {}, {});
  ASSERT_EQ(rows.size(), 4u);
  int64_t sum = 0;
  for (const ProfileRow &row : rows) {
    EXPECT_EQ(row.count, 3u);
    EXPECT_GE(row.measuredNs, 0);
    sum += row.measuredNs;
  }
  EXPECT_EQ(sum, measuredTime(trace));
  EXPECT_EQ(rows.back().label, unattributedLabel);
  EXPECT_GT(rows.front().measuredNs, 0);
}

TEST_F(CudaSessionTest, TheFirstCommandThatIsNotFiniteIsNamed) {
  auto session = bound();
  fillInput(*session, 1);
  auto none = session->runToNonFinite(0);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_FALSE(none->has_value());
  session.reset();
  weights = Weights();
  Parts parts = model();
  float factor = NAN;
  std::memcpy(parts.constants.data(), &factor, 4);
  session = bound(parts);
  fillInput(*session, 1);
  auto found = session->runToNonFinite(0);
  ASSERT_TRUE(found && found->has_value());
  EXPECT_EQ((*found)->label, "double");
  EXPECT_EQ((*found)->layer, "layer.0");
  EXPECT_EQ((*found)->value, "nan");
  gpu->failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_FALSE(session->runToNonFinite(0));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(CudaSessionTest, TooLargeForTheGpu) {
  FakeOptions options;
  options.memoryBytes = 1 << 20;
  open(options);
  Parts parts = model();
  parts.stateBytes = uint64_t(3) << 30;
  uint64_t bytes = parts.stateBytes - 64;
  parts.states.push_back(
      {"cache", fb::DType::F32, {int64_t(bytes / 4)}, slice(Space::State, 64, bytes)});
  EXPECT_EQ(bindError(parts),
            "test.sinter: needs 3.0 GiB of the memory of Fake GPU (caches 3.0 GiB, activations 0.0 "
            "MiB, preprocessing the weights 0.0 MiB), 1.0 MiB are available; use a smaller model, "
            "batch, sequence or type");
  EXPECT_EQ(gpu->calls("cuMemAllocFromPoolAsync"), 0u);
}

TEST_F(CudaSessionTest, MemoryThatSomebodyElseTookMeanwhile) {
  gpu->failCall("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 4);
  EXPECT_EQ(bindError(model()),
            "64 bytes of Fake GPU for caches: CUDA_ERROR_OUT_OF_MEMORY (out of memory); use a "
            "smaller model, batch, sequence or type, or end what else runs on the GPU");
}

TEST_F(CudaSessionTest, DebugModeNamesTheCommandThatFailed) {
  auto session = *bind(model(), /*debug=*/true);
  gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  lost = true;
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "test.sinter: program 'run', command 1 (double, layer.0), kernel 'doubleAll': "
            "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered); report this");
  EXPECT_TRUE(result.error().defect);
  EXPECT_FALSE(session->run(0)); // the context is lost
}

TEST_F(CudaSessionTest, WithoutDebugModeTheErrorSaysHowToFindTheCommand) {
  auto session = bound();
  gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  lost = true;
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what,
            "test.sinter: program 'run' (SINTER_CUDA_DEBUG=1 finds the command)");
  session.reset();
  open();
  weights = Weights();
  Variable debug("SINTER_CUDA_DEBUG", "1");
  session = bound();
  gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  lost = true;
  result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("kernel 'doubleAll'"), std::string::npos);
}

TEST_F(CudaSessionTest, DebugModeShowsWhatIsReadBeforeItIsWritten) {
  Parts parts = model();
  parts.programs[1].commands.erase(parts.programs[1].commands.begin());
  auto session = *bind(parts, /*debug=*/true);
  ASSERT_TRUE(session->run(0));
  EXPECT_TRUE(std::isnan(session->output(0, "y", DType::F32)->as<float>()[0]));
}

TEST_F(CudaSessionTest, AGpuThatIsLost) {
  auto session = bound();
  runOnce(*session, 1);
  gpu->breakDevice(CUDA_ERROR_ECC_UNCORRECTABLE);
  lost = true;
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "test.sinter: program 'run' (SINTER_CUDA_DEBUG=1 finds the command): "
            "CUDA_ERROR_ECC_UNCORRECTABLE (uncorrectable ECC error encountered); look at the GPU "
            "with nvidia-smi and restart it");
  EXPECT_FALSE(result.error().defect);
}

TEST_F(CudaSessionTest, NoGpu) {
  Parts parts = model();
  gpu->failCall("cuInit", CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(bindError(parts), "the NVIDIA driver: CUDA error 802; look at the GPU with nvidia-smi "
                              "and restart it");
  FakeOptions options;
  options.devices = 0;
  open(options);
  EXPECT_EQ(bindError(parts), "a GPU: the NVIDIA driver finds none; use a machine with an NVIDIA "
                              "GPU, or `target` cpu");
}

TEST_F(CudaSessionTest, ADriverThatIsTooOld) {
  Parts parts = model();
  FakeOptions options;
  options.driverVersion = 11080;
  open(options);
  EXPECT_EQ(bindError(parts),
            "the NVIDIA driver: it is for CUDA 11.8, Sinter needs 12.0; install a "
            "newer driver, or use `target` cpu");
}

TEST_F(CudaSessionTest, AGpuThatIsTooOld) {
  Parts parts = model();
  FakeOptions options;
  options.major = 8;
  open(options);
  EXPECT_EQ(bindError(parts),
            "test.sinter: is for GPUs of compute capability 9.0 and later, Fake GPU has 8.0; "
            "compile the model for this GPU");
}

TEST_F(CudaSessionTest, AGpuOfAnotherArchitectureGetsCodeOfItsOwn) {
  std::string pattern = ::testing::TempDir() + "sinter-cubins-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  Variable cache("SINTER_CACHE_DIR", folder.string());
  Parts parts = model();
  FakeOptions options;
  options.major = 10;
  open(options);
  for (int i = 0; i < 2; ++i) {
    weights = Weights();
    auto session = bound(parts);
    runOnce(*session, 1);
    EXPECT_EQ(gpu->statistics().compiled, 1u);
  }
  parts.kernelPrograms[0].source = "what is this";
  std::string error = bindError(parts);
  EXPECT_EQ(error.find("kernels0.cu for sm_100: "), 0u) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_F(CudaSessionTest, CodeThatTheDriverDoesNotTake) {
  std::string pattern = ::testing::TempDir() + "sinter-cubins-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  Variable cache("SINTER_CACHE_DIR", folder.string());
  Parts parts = model();
  parts.kernels[1] = "doubleNone";
  EXPECT_EQ(bindError(parts),
            "test.sinter: kernel 'doubleNone': CUDA_ERROR_NOT_FOUND (named symbol not found); look "
            "at the GPU with nvidia-smi and restart it");
  parts = model();
  parts.kernelPrograms[0].cubins["sm_90a"] = "of tomorrow";
  bound(parts); // out of its source
  weights = Weights();
  parts.kernelPrograms[0].source = "nor is this anything";
  std::string error = bindError(parts);
  EXPECT_EQ(error.find("test.sinter: its kernels for sm_90a: CUDA_ERROR_"), 0u) << error;
  EXPECT_NE(error.find("; install a newer NVIDIA driver"), std::string::npos) << error;
  std::filesystem::remove_all(folder);
}

TEST_F(CudaSessionTest, LargeSharedMemoryIsAskedFor) {
  Parts parts = model();
  parts.sharedBytes = 100000; // which no launch may have that was not asked for
  auto session = bound(parts);
  runOnce(*session, 1);
  EXPECT_EQ(gpu->calls("cuKernelSetAttribute"), 3u);
  gpu->failCall("cuKernelSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(bindError(parts).find("with 100000 bytes of shared memory"), std::string::npos);
}

TEST_F(CudaSessionTest, NoAlgorithmForAProduct) {
  gpu->failCall("cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_NE(bindError(model()).find("cuBLASLt says CUBLAS_STATUS_NOT_SUPPORTED"),
            std::string::npos);
}

TEST(CudaSessionWithoutDriverTest, TheErrorSaysWhatIsMissing) {
  if (cuda::cudaApi())
    GTEST_SKIP() << "this machine has a driver";
  auto session = Session::bind(*smallGpuModel(m, n, k).load());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().what, "libcuda.so.1");
  EXPECT_EQ(session.error().why.find("is not in the system's library path"), 0u);
  EXPECT_EQ(session.error().remedy.find("install NVIDIA's driver for CUDA "), 0u);
  EXPECT_FALSE(session.error().defect);
}

// Whatever fails while binding, the error is one line and nothing stays behind (TearDown).
TEST_F(CudaSessionTest, AnyCallMayFailWhileBinding) {
  Parts parts = model();
  for (const char *call : {"cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuStreamCreate",
                           "cuLibraryGetKernel",
                           "cuMemGetInfo",
                           "cuMemPoolCreate",
                           "cuMemPoolSetAttribute",
                           "cuMemAllocFromPoolAsync",
                           "cuMemHostAlloc",
                           "cuEventCreate",
                           "cuMemcpyHtoDAsync",
                           "cuMemsetD8Async",
                           "cuEventRecord",
                           "cuEventSynchronize",
                           "cuLaunchKernel",
                           "cuMemcpyDtoDAsync",
                           "cuStreamSynchronize"}) {
    weights = Weights();
    gpu->failCall(call, CUDA_ERROR_UNKNOWN);
    std::string error = bindError(parts);
    EXPECT_NE(error.find("CUDA error 999"), std::string::npos) << call << ": " << error;
    EXPECT_EQ(gpu->statistics().allocated + gpu->statistics().handles, 0u) << call;
  }
  for (const char *call :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceSetAttribute"}) {
    weights = Weights();
    gpu->failCall(call, CUBLAS_STATUS_NOT_INITIALIZED);
    std::string error = bindError(parts);
    EXPECT_NE(error.find("cuBLASLt says CUBLAS_STATUS_NOT_INITIALIZED"), std::string::npos)
        << call << ": " << error;
    EXPECT_EQ(gpu->statistics().allocated + gpu->statistics().handles, 0u) << call;
  }
}

TEST_F(CudaSessionTest, AnyCallMayFailWhileRunning) {
  for (const char *call :
       {"cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"}) {
    weights = Weights();
    auto session = bound();
    gpu->failCall(call, CUDA_ERROR_UNKNOWN);
    auto result = session->run(0);
    ASSERT_FALSE(result) << call;
    EXPECT_NE(result.error().message().find("test.sinter: program 'run'"), std::string::npos);
  }
  for (const char *call : {"cuStreamBeginCapture", "cuGraphInstantiate", "cuGraphUpload"}) {
    weights = Weights();
    warnings.clear();
    auto session = bound();
    gpu->failCall(call, CUDA_ERROR_UNKNOWN);
    for (int i = 0; i < 2; ++i)
      runOnce(*session, 1);
    EXPECT_EQ(warnings.size(), 1u) << call;
  }
}

} // namespace
