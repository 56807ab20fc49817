#include "runtime/Exec/Session.h"
#include "test/unit/cuda/Environment.h"
#include "test/unit/cuda/FakeNvrtc.h"
#include "test/unit/cuda/TestDriver.h"
#include "test/unit/cuda/TestProducts.h"
#include "test/unit/runtime/Matrices.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using cuda::testing::FakeNvrtc;
using cuda::testing::LaunchArguments;
using cuda::testing::TestDriver;
using cuda::testing::TestProducts;
using cuda::testing::Variable;
using fb::Space;

namespace {

constexpr uint64_t m = 3, n = 8, k = 4;

struct Weights : WeightSource {
  Weights() : weight(n * k), bias(n) {
    std::iota(weight.begin(), weight.end(), 0.5f);
    std::iota(bias.begin(), bias.end(), -3.0f);
  }
  std::optional<StoredTensor> find(std::string_view name) const override {
    if (name == "w.weight")
      return StoredTensor{DType::F32, {int64_t(n), int64_t(k)}, std::as_bytes(std::span(weight))};
    return StoredTensor{DType::F32, {int64_t(n)}, std::as_bytes(std::span(bias))};
  }
  // Whoever reads a tensor after this reads wrong numbers.
  void release(std::string_view name) const override {
    std::vector<float> &gone =
        const_cast<Weights *>(this)->*(name == "w.weight" ? &Weights::weight : &Weights::bias);
    kept[std::string(name)] = gone;
    std::fill(gone.begin(), gone.end(), NAN);
  }
  std::vector<float> weight, bias;
  mutable std::map<std::string, std::vector<float>> kept;
};

class CudaSessionTest : public ::testing::Test {
protected:
  CudaSessionTest() {
    driver.addKernel("addOne", 2, [](const LaunchArguments &a) {
      for (uint64_t i = 0; i < n * k; ++i)
        a.as<float>(1)[i] = a.as<float>(0)[i] + 1;
    });
    driver.addKernel("doubleAll", 3, [this](const LaunchArguments &a) {
      EXPECT_EQ(a.grid, m);
      EXPECT_EQ(a.block, 32u);
      for (uint64_t i = 0; i < m * n; ++i)
        a.as<float>(2)[i] = a.as<float>(0)[i] * *a.as<float>(1);
      if (planted)
        a.as<float>(2)[0] = *planted;
    });
    driver.addKernel("countRun", 1, [](const LaunchArguments &a) { *a.as<float>(0) += 1; });
  }

  Expected<std::unique_ptr<Session>> bind(const Parts &parts, bool debug = false) {
    SessionOptions options;
    options.threads = 2;
    options.weights = &weights;
    options.debug = debug;
    options.onWarning = [this](const Error &error) { warnings.push_back(error.message()); };
    return Session::bind(*parts.load(), options);
  }
  std::unique_ptr<Session> bound(const Parts &parts = smallGpuModel(m, n, k)) {
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

  TestDriver driver;
  TestProducts products;
  Weights weights;
  std::vector<std::string> warnings;
  std::optional<float> planted;
};

TEST_F(CudaSessionTest, WalksFirstAndReplaysThen) {
  auto session = bound();
  driver.forgetCalls();
  runOnce(*session, 1);
  EXPECT_EQ(driver.calls("cuGraphLaunch"), 0);
  EXPECT_EQ(driver.calls("cuLaunchKernel"), 4); // walked, and captured for the runs to come
  EXPECT_EQ(driver.calls("cuGraphInstantiate"), 1);
  driver.forgetCalls();
  for (int i = 2; i < 5; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(driver.calls("cuGraphLaunch"), 3);
  EXPECT_EQ(driver.calls("cuLaunchKernel"), 0);
  EXPECT_EQ(driver.calls("cuStreamSynchronize"), 3);
  // A capture runs nothing: four runs, four counts.
  float runs = 0;
  ASSERT_TRUE(session->readState("runs", std::as_writable_bytes(std::span(&runs, 1))));
  EXPECT_EQ(runs, 4);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CudaSessionTest, GraphsCanBeSwitchedOff) {
  Variable off("SINTER_CUDA_GRAPH", "0");
  auto session = bound();
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(driver.calls("cuStreamBeginCapture"), 0);
}

TEST_F(CudaSessionTest, AFailedCaptureIsToldOfOnceAndWalks) {
  driver.mayCapture = false;
  auto session = bound();
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(driver.calls("cuStreamBeginCapture"), 1);
  EXPECT_EQ(driver.calls("cuGraphLaunch"), 0);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "capturing a graph: CUDA error 900; every step is launched command by command, which "
            "takes longer");
  EXPECT_EQ(driver.graphs, 0);
}

TEST_F(CudaSessionTest, EveryFormOfAProduct) {
  struct Case {
    fb::DType dtype, outDtype;
    fb::RhsForm form;
    bool lhsTransposed;
    std::vector<fb::PostOpKind> steps;
    bool inPlace = false;
  };
  using K = fb::PostOpKind;
  using F = fb::RhsForm;
  constexpr auto f32 = fb::DType::F32, bf16 = fb::DType::BF16, f16 = fb::DType::F16;
  const Case cases[] = {
      {f32, f32, F::Plain, false, {}},
      {f32, f32, F::Transposed, true, {K::Relu}},
      {f32, f32, F::Plain, true, {K::Bias, K::Add, K::GeluTanh}},
      {bf16, f32, F::Transposed, false, {K::Add}, true},
      {bf16, bf16, F::Plain, false, {K::Add, K::Bias, K::Relu}},
      {f16, f16, F::Transposed, true, {K::Bias, K::GeluTanh}},
  };
  constexpr uint64_t rows = 5, columns = 7, depth = 6;
  for (const Case &each : cases) {
    bool right = each.form == F::Transposed;
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
    product.rhsForm = each.form, product.rhsStride = rhsStride;
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
    moveToGpu(parts);
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

TEST_F(CudaSessionTest, TheLibraryIsToldOfAlignments) {
  auto session = bound();
  // A: the weight, B: the input, C and D: 64 bytes behind the arena's begin.
  EXPECT_EQ(products.alignments, (std::vector<uint32_t>{256, 256, 64, 64}));
  EXPECT_EQ(products.asked, 1);
}

TEST_F(CudaSessionTest, TunedProductsAreRemembered) {
  std::string pattern = ::testing::TempDir() + "sinter-tune-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  Variable cache("SINTER_CACHE_DIR", folder.string()), tune("SINTER_CUDA_TUNE", "1");
  auto ranAtBind = [&] {
    weights = Weights();
    products.ran.clear();
    auto session = bound();
    std::vector<int> ran = products.ran;
    runOnce(*session, 1);
    float runs = 0;
    EXPECT_TRUE(session->readState("runs", std::as_writable_bytes(std::span(&runs, 1))));
    EXPECT_EQ(runs, 1);
    return ran;
  };
  EXPECT_GE(ranAtBind().size(), 3u); // each algorithm
  EXPECT_EQ(products.asked, 8);
  products.asked = 0;
  EXPECT_TRUE(ranAtBind().empty());
  EXPECT_EQ(products.asked, 0);
  // A damaged file is made anew.
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder / "products"))
    std::filesystem::resize_file(entry.path(), 10);
  EXPECT_GE(ranAtBind().size(), 3u);
  EXPECT_TRUE(ranAtBind().empty());
  std::filesystem::remove_all(folder);
}

TEST_F(CudaSessionTest, AllIsGivenBack) {
  {
    auto session = bound();
    runOnce(*session, 1);
    Trace trace(100);
    session->setTrace(&trace);
    runOnce(*session, 2);
    EXPECT_GT(driver.used, 0u);
  }
  EXPECT_EQ(driver.used, 0u);
  EXPECT_EQ(driver.pinned, 0u);
  EXPECT_EQ(driver.libraries + driver.graphs + driver.events + driver.contexts + driver.pools +
                driver.streams + products.handles + products.descriptions,
            0);
}

TEST_F(CudaSessionTest, MemoryIsThatOfThePlan) {
  auto predicted = predictMemory(*smallGpuModel(m, n, k).load());
  ASSERT_TRUE(predicted) << predicted.error().message();
  auto session = bound();
  MemoryUse use = session->memory();
  EXPECT_EQ(predicted->peak(), use.peak());
  EXPECT_EQ(predicted->host, use.host);
  EXPECT_EQ(use.checkpoint, n * k * 4 + n * 4);
  EXPECT_EQ(use.prepareArena, 2 * n * k * 4); // the weight as stored beside the scratch
  EXPECT_EQ(driver.used, use.resident() - use.code);
  EXPECT_EQ(driver.pinned, use.host);
  EXPECT_EQ(use.reserved, driver.reservedHigh);
}

TEST_F(CudaSessionTest, WhatPreparingTakesIsGoneBeforeTheStepsTakeTheirs) {
  Parts parts = smallGpuModel(m, n, k);
  parts.programs[0].arenaBytes = 1 << 20;
  parts.programs[1].arenaBytes = 1 << 20;
  auto session = bound(parts);
  EXPECT_LT(driver.usedHigh, (2u << 20));
}

TEST_F(CudaSessionTest, PredictingNeedsNoGpu) {
  driver.devices = 0;
  auto predicted = predictMemory(*smallGpuModel(m, n, k).load());
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->state, 64u);
  EXPECT_EQ(driver.calls("cuInit"), 0);
}

TEST_F(CudaSessionTest, RandomWeightsAreTheProcessors) {
  auto executable = *smallGpuModel(m, n, k).load();
  auto once = [&](uint64_t seed) {
    SessionOptions options;
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
  Parts parts = smallGpuModel(m, n, k);
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

TEST_F(CudaSessionTest, ProfilesAddUp) {
  auto session = bound();
  Trace trace(100);
  session->setTrace(&trace);
  for (int i = 0; i < 3; ++i)
    runOnce(*session, float(i));
  EXPECT_EQ(trace.events().size(), 12u);
  std::vector<ProfileRow> rows = profile(trace, session->executable(), {});
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
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  planted = NAN;
  auto found = session->runToNonFinite(0);
  ASSERT_TRUE(found && found->has_value());
  EXPECT_EQ((*found)->label, "double");
  EXPECT_EQ((*found)->layer, "layer.0");
  EXPECT_EQ((*found)->value, "nan");
  driver.fail("cuLaunchKernel", CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_FALSE(session->runToNonFinite(0));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(CudaSessionTest, TooLargeForTheGpu) {
  driver.capacity = 1 << 20;
  Parts parts = smallGpuModel(m, n, k);
  parts.stateBytes = uint64_t(3) << 30;
  EXPECT_EQ(bindError(parts),
            "test.sinter: needs 3.0 GiB of the memory of Test GPU (caches 3.0 GiB, activations 0.0 "
            "MiB, preparing the weights 0.0 MiB), 1.0 MiB are available; use a smaller model, "
            "batch, capacity or type");
  EXPECT_EQ(driver.used, 0u);
}

TEST_F(CudaSessionTest, MemoryThatSomebodyElseTookMeanwhile) {
  driver.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 4);
  EXPECT_EQ(bindError(smallGpuModel(m, n, k)),
            "64 bytes of Test GPU for caches: CUDA_ERROR_OUT_OF_MEMORY; use a smaller model, "
            "batch, capacity or type, or end what else runs on the GPU");
  EXPECT_EQ(driver.used, 0u);
}

TEST_F(CudaSessionTest, DebugModeNamesTheCommandThatFailed) {
  driver.addKernel("doubleAll", 3,
                   [this](const LaunchArguments &) { driver.fault(CUDA_ERROR_ILLEGAL_ADDRESS); });
  auto session = *bind(smallGpuModel(m, n, k), /*debug=*/true);
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "test.sinter: program 'run', command 1 (double, layer.0), kernel 'doubleAll': "
            "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered); report this");
  EXPECT_TRUE(result.error().defect);
  EXPECT_FALSE(session->run(0)); // the context is lost
}

TEST_F(CudaSessionTest, WithoutDebugModeTheErrorSaysHowToFindTheCommand) {
  driver.addKernel("doubleAll", 3,
                   [this](const LaunchArguments &) { driver.fault(CUDA_ERROR_ILLEGAL_ADDRESS); });
  {
    auto session = bound();
    auto result = session->run(0);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().what,
              "test.sinter: program 'run' (SINTER_CUDA_DEBUG=1 finds the command)");
  }
  driver.fault(CUDA_SUCCESS);
  weights = Weights();
  Variable debug("SINTER_CUDA_DEBUG", "1");
  auto session = bound();
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("kernel 'doubleAll'"), std::string::npos);
}

TEST_F(CudaSessionTest, DebugModeShowsWhatIsReadBeforeItIsWritten) {
  Parts parts = smallGpuModel(m, n, k);
  parts.programs[1].commands.erase(parts.programs[1].commands.begin());
  auto session = *bind(parts, /*debug=*/true);
  ASSERT_TRUE(session->run(0));
  EXPECT_TRUE(std::isnan(session->output(0, "y", DType::F32)->as<float>()[0]));
}

TEST_F(CudaSessionTest, AGpuThatIsLost) {
  auto session = bound();
  runOnce(*session, 1);
  driver.fail("cuGraphLaunch", CUDA_ERROR_DEVICE_UNAVAILABLE);
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().remedy, "look at the GPU with nvidia-smi and restart it");
  EXPECT_FALSE(result.error().defect);
}

TEST_F(CudaSessionTest, NoGpu) {
  driver.devices = 0;
  EXPECT_EQ(bindError(smallGpuModel(m, n, k)),
            "a GPU: the NVIDIA driver finds none; use a machine with an "
            "NVIDIA GPU, or --target cpu");
  driver.fail("cuInit", CUDA_ERROR_NO_DEVICE);
  EXPECT_NE(bindError(smallGpuModel(m, n, k)).find("finds none"), std::string::npos);
  driver.fail("cuInit", CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(bindError(smallGpuModel(m, n, k)),
            "the NVIDIA driver: CUDA error 802; look at the GPU with "
            "nvidia-smi and restart it");
}

TEST_F(CudaSessionTest, ADriverThatIsTooOld) {
  driver.version = 11080;
  EXPECT_EQ(bindError(smallGpuModel(m, n, k)),
            "the NVIDIA driver: it is for CUDA 11.8, Sinter needs 12.0; "
            "install a newer driver, or use --target cpu");
}

TEST_F(CudaSessionTest, AGpuThatIsTooOld) {
  driver.major = 8;
  EXPECT_EQ(bindError(smallGpuModel(m, n, k)),
            "test.sinter: is for GPUs of compute capability 9.0 and later, Test GPU has 8.0; "
            "compile the model for this GPU");
}

TEST_F(CudaSessionTest, AGpuOfAnotherArchitectureGetsCodeOfItsOwn) {
  driver.major = 10;
  FakeNvrtc nvrtc;
  std::string pattern = ::testing::TempDir() + "sinter-cubins-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  Variable cache("SINTER_CACHE_DIR", folder.string());
  Parts parts = smallGpuModel(m, n, k);
  parts.kernelPrograms[0].source = "cubin addOne doubleAll countRun";
  for (int i = 0; i < 2; ++i) {
    weights = Weights();
    auto session = bound(parts);
    runOnce(*session, 1);
    EXPECT_EQ(nvrtc.compilations(), 1);
  }
  parts.kernelPrograms[0].source = "wrong";
  EXPECT_EQ(bindError(parts), "kernels0.cu for sm_100: fake.cu(3): error: wrong; report this");
  std::filesystem::remove_all(folder);
}

TEST_F(CudaSessionTest, CodeThatTheDriverDoesNotTake) {
  Parts parts = smallGpuModel(m, n, k);
  parts.kernelPrograms[0].cubins["sm_90a"] = "of tomorrow";
  EXPECT_EQ(bindError(parts),
            "test.sinter: its kernels for sm_90a: CUDA error 209; install a newer "
            "NVIDIA driver");
  parts.kernelPrograms[0].cubins["sm_90a"] = std::string("cubin addOne\0", 13);
  EXPECT_NE(bindError(parts).find("test.sinter: kernel 'doubleAll': CUDA error 500"),
            std::string::npos);
  EXPECT_EQ(driver.libraries, 0);
}

TEST_F(CudaSessionTest, LargeSharedMemoryIsAskedFor) {
  Parts parts = smallGpuModel(m, n, k);
  parts.sharedBytes = 100000;
  auto session = bound(parts);
  EXPECT_EQ(driver.sharedLimits,
            (std::map<std::string, int>{
                {"addOne", 100000}, {"countRun", 100000}, {"doubleAll", 100000}}));
  driver.fail("cuKernelSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(bindError(parts).find("with 100000 bytes of shared memory"), std::string::npos);
}

TEST_F(CudaSessionTest, NoAlgorithmForAProduct) {
  products.algorithms = 0;
  EXPECT_NE(bindError(smallGpuModel(m, n, k)).find("cuBLASLt has no algorithm for it"),
            std::string::npos);
  EXPECT_EQ(products.descriptions, 0);
}

// Whatever fails while binding, the error is one line and nothing stays behind.
TEST_F(CudaSessionTest, AnyCallMayFailWhileBinding) {
  for (const char *call : {"cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuStreamCreate",
                           "cuLibraryLoadData",
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
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    std::string error = bindError(smallGpuModel(m, n, k));
    EXPECT_NE(error.find("CUDA error 999"), std::string::npos) << call << ": " << error;
    EXPECT_EQ(driver.used + driver.pinned, 0u) << call;
    EXPECT_EQ(driver.libraries + driver.events + driver.contexts + driver.pools + driver.streams, 0)
        << call;
  }
}

TEST_F(CudaSessionTest, AnyCallMayFailWhileRunning) {
  for (const char *call :
       {"cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"}) {
    weights = Weights();
    auto session = bound();
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    auto result = session->run(0);
    ASSERT_FALSE(result) << call;
    EXPECT_NE(result.error().message().find("test.sinter: program 'run'"), std::string::npos);
  }
  for (const char *call :
       {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphUpload"}) {
    weights = Weights();
    warnings.clear();
    auto session = bound();
    driver.fail(call, CUDA_ERROR_UNKNOWN);
    for (int i = 0; i < 2; ++i)
      runOnce(*session, 1);
    EXPECT_EQ(warnings.size(), 1u) << call;
  }
}

} // namespace
