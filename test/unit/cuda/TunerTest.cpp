#include "runtime/Device/Cuda/Tuner.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/support/Environment.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cublasLt.h>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using cuda::CudaContext;
using cuda::Tuner;
using fake::FakeCuda;
using fb::Space;
using sinter::test::Variable;

namespace {
namespace fs = std::filesystem;

constexpr size_t count = 8;
// Two alternatives that differ in what they compute, so that it can be seen which was taken; what
// changes a state, in two alternatives; and what takes memory for an index.
constexpr const char *tunerKernels = R"(
extern "C" __global__ void __launch_bounds__(32) slow(const float *in, float *out) {
  if (threadIdx.x < 8) {
    volatile float sum = 1;
    for (int i = 0; i < 4000; ++i)
      sum = sum + 0.0f;
    out[threadIdx.x] = in[threadIdx.x] + sum;
  }
}
extern "C" __global__ void __launch_bounds__(32) fast(const float *in, float *out) {
  if (threadIdx.x < 8)
    out[threadIdx.x] = in[threadIdx.x] + 2;
}
extern "C" __global__ void __launch_bounds__(32) count(float *runs, int *scratch) {
  if (threadIdx.x == 0) {
    *runs += 1;
    *scratch += 5;
  }
}
extern "C" __global__ void __launch_bounds__(32) countToo(float *runs, int *scratch) {
  if (threadIdx.x == 0) {
    *runs += 1;
    *scratch += 7;
  }
}
extern "C" __global__ void __launch_bounds__(32) pick(const int *index, const float *in, float *out) {
  if (threadIdx.x == 0)
    *out = in[*index];
}
)";
enum Kernel : uint32_t { slow, fast, countRuns, countRunsToo, pick };

class TunerTest : public ::testing::Test {
protected:
  TunerTest() : cache("SINTER_CACHE_DIR", makeFolder()) {}
  ~TunerTest() override { fs::remove_all(folder); }

  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    gpu =
        std::make_unique<FakeCuda>(fake::FakeOptions{.checked = true, .cache = SINTER_FAKE_CACHE});
  }
  void TearDown() override {
    if (!gpu)
      return;
    for (const std::string &complaint : gpu->complaints())
      ADD_FAILURE() << complaint;
    if (!lost)
      EXPECT_EQ(gpu->statistics().handles + gpu->statistics().allocated, 0u);
  }

  std::string makeFolder() {
    std::string pattern = ::testing::TempDir() + "sinter-tuning-XXXXXX";
    return folder = mkdtemp(pattern.data());
  }

  /// The files with what was chosen.
  std::vector<fs::path> remembered() const {
    std::vector<fs::path> files;
    if (fs::exists(folder / "tuning"))
      for (const auto &entry : fs::directory_iterator(folder / "tuning"))
        files.push_back(entry.path());
    return files;
  }

  fs::path folder;
  Variable cache;
  std::unique_ptr<FakeCuda> gpu;
  bool lost = false; ///< on purpose: then nothing can be given back any more
};

//===----------------------------------------------------------------------===//
// Ways by themselves
//===----------------------------------------------------------------------===//

/// Ways that fill memory: the more bytes, the longer they take.
class TunerWaysTest : public TunerTest {
protected:
  void SetUp() override {
    TunerTest::SetUp();
    if (!gpu)
      return;
    context = std::move(*CudaContext::open());
    current.emplace(*context);
    CUmemPoolProps properties{};
    ASSERT_EQ(context->getApi().cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    ASSERT_EQ(context->getApi().cuMemAllocFromPoolAsync(&memory, bytes, pool, context->getStream()),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    if (memory) {
      context->getApi().cuMemFreeAsync(memory, context->getStream());
      context->getApi().cuStreamSynchronize(context->getStream());
      context->getApi().cuMemPoolDestroy(pool);
    }
    current.reset();
    context.reset();
    TunerTest::TearDown();
  }

  Tuner::Alternative fill(size_t size) {
    return {"filling", [this, size] {
              ++runs;
              return context->check(
                  context->getApi().cuMemsetD8Async(memory, 0, size, context->getStream()), "");
            }};
  }
  static Tuner::Alternative refusing() {
    return {"way", []() -> Expected<void> { return fail("a library", "is not there", ""); }};
  }

  static constexpr size_t bytes = 16 << 20;
  std::unique_ptr<CudaContext> context;
  std::optional<CudaContext::Current> current;
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  std::atomic<unsigned> runs = 0;
};

TEST_F(TunerWaysTest, TheFastestIsTakenAndRemembered) {
  Tuner::Alternative alternatives[] = {fill(bytes), fill(64), fill(bytes / 2)};
  EXPECT_EQ(Tuner(*context).choose("fills", alternatives), 1u);
  EXPECT_GE(runs, 3u * 6);
  EXPECT_LE(runs, 6u * 2 + 16); // those that are slower are not timed again
  runs = 0;
  EXPECT_EQ(Tuner(*context).choose("fills", alternatives), 1u);
  EXPECT_EQ(runs, 0u);
  ASSERT_EQ(remembered().size(), 1u);
  EXPECT_EQ(*readFile(remembered()[0]), "1 of 3\n");
  // Another problem, and another number of alternatives, are others.
  Tuner(*context).choose("other fills", alternatives);
  Tuner(*context).choose("fills", std::span(alternatives).first(2));
  EXPECT_EQ(remembered().size(), 3u);
}

TEST_F(TunerWaysTest, OneWayIsNotTimed) {
  Tuner::Alternative alternatives[] = {fill(64)};
  EXPECT_EQ(Tuner(*context).choose("fills", alternatives), 0u);
  EXPECT_EQ(runs, 0u);
}

TEST_F(TunerWaysTest, WhatIsDamagedIsMadeAnew) {
  Tuner::Alternative alternatives[] = {fill(bytes), fill(64)};
  ASSERT_EQ(Tuner(*context).choose("fills", alternatives), 1u);
  const fs::path file = remembered().at(0);
  for (const char *content : {"", "1", "1 of 2", "2 of 2\n", "0 of 3\n", "-1 of 2\n", "0 of 2\n0",
                              "what", "99999999999999999999 of 2\n"}) {
    std::ofstream(file, std::ios::trunc) << content;
    runs = 0;
    EXPECT_EQ(Tuner(*context).choose("fills", alternatives), 1u) << content;
    EXPECT_GT(runs, 0u) << content;
    EXPECT_EQ(*readFile(file), "1 of 2\n");
  }
}

TEST_F(TunerWaysTest, WithoutAFolderItIsRememberedForTheSession) {
  Variable none("SINTER_CACHE_DIR", "/dev/null");
  Tuner::Alternative alternatives[] = {fill(bytes), fill(64)};
  Tuner tuner(*context);
  EXPECT_EQ(tuner.choose("fills", alternatives), 1u);
  runs = 0;
  EXPECT_EQ(tuner.choose("fills", alternatives), 1u);
  EXPECT_EQ(runs, 0u);
}

TEST_F(TunerWaysTest, ManyAtOnceLeaveAWholeFile) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      CudaContext::Current mine(*context);
      for (int round = 0; round < 5; ++round) {
        Tuner::Alternative alternatives[] = {fill(bytes / 16), fill(64)};
        EXPECT_TRUE(Tuner(*context).choose("fills " + std::to_string(round), alternatives));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(remembered().size(), 5u);
  for (const fs::path &file : remembered())
    EXPECT_TRUE(*readFile(file) == "0 of 2\n" || *readFile(file) == "1 of 2\n");
}

TEST_F(TunerWaysTest, WhatDoesNotBeginIsLeftOut) {
  Tuner::Alternative alternatives[] = {refusing(), fill(bytes)};
  EXPECT_EQ(Tuner(*context).choose("alternatives", alternatives), 1u);
  Tuner::Alternative none[] = {refusing(), refusing()};
  auto chosen = Tuner(*context).choose("none", none);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().message(), "trying way: a library: is not there");
  EXPECT_EQ(remembered().size(), 1u);
}

TEST_F(TunerWaysTest, AnyCallMayFail) {
  Tuner::Alternative alternatives[] = {fill(bytes), fill(64)};
  for (const char *call : {"cuEventCreate", "cuEventRecord", "cuEventSynchronize",
                           "cuEventElapsedTime", "cuStreamSynchronize"}) {
    gpu->failCall(call, CUDA_ERROR_UNKNOWN);
    EXPECT_FALSE(Tuner(*context).choose("fills", alternatives)) << call;
    EXPECT_TRUE(remembered().empty()) << call;
  }
}

//===----------------------------------------------------------------------===//
// Commands with alternatives
//===----------------------------------------------------------------------===//

class AlternativesTest : public TunerTest {
protected:
  /// y = x + 1, slowly, or x + 2; then the count of runs.
  static Parts model() {
    Parts parts;
    parts.kernels = {"slow", "fast", "count", "countToo", "pick"};
    parts.tune = true;
    parts.stateBytes = 128;
    parts.states = {{"runs", fb::DType::F32, {1}, slice(Space::State, 0, 4)},
                    {"scratch.count", fb::DType::I32, {1}, slice(Space::State, 64, 4)}};
    parts.programs.resize(1);
    Parts::Program &run = parts.programs[0];
    run.name = "run";
    run.inputBytes = run.outputBytes = 64;
    run.arenaBytes = 256;
    fb::Slice x = slice(Space::Input, 0, count * 4), y = slice(Space::Output, 0, count * 4);
    run.inputs = {{"x", fb::DType::F32, {count}, x}};
    run.outputs = {{"y", fb::DType::F32, {count}, y}};
    fb::Slice runs = slice(Space::State, 0, 4), scratch = slice(Space::State, 64, 4);
    run.commands = {launch(slow, 1, {x, y}, "add", "layer.0", {fb::DType::F32}),
                    launch(countRuns, 1, {runs, scratch}, "count")};
    run.commands[0].alternatives = {launch(fast, 1, {x, y})};
    run.commands[1].alternatives = {launch(countRunsToo, 1, {runs, scratch})};
    moveToGpu(parts, "");
    static const auto code = cuda::compileCuda({"kernels.cu", tunerKernels, {}, {}}, "sm_90a");
    EXPECT_TRUE(code) << code.error().message();
    parts.kernelPrograms[0].source = tunerKernels;
    parts.kernelPrograms[0].cubins["sm_90a"] = {reinterpret_cast<const char *>(code->cubin.data()),
                                                code->cubin.size()};
    return parts;
  }

  std::unique_ptr<Session> bound(const Parts &parts, bool debug = false) {
    BindOptions options;
    options.threads = 2;
    options.debug = debug;
    auto session = Session::bind(*parts.load(), options);
    EXPECT_TRUE(session) << session.error().message();
    return session ? std::move(*session) : nullptr;
  }
  static std::string bindError(const Parts &parts) {
    auto session = Session::bind(*parts.load());
    return session ? "" : session.error().message();
  }

  /// What the taken way adds.
  static float added(Session &session) {
    auto x = session.input(0, "x", DType::F32)->as<float>();
    std::fill(x.begin(), x.end(), 10.0f);
    auto ran = session.run(0);
    EXPECT_TRUE(ran) << ran.error().message();
    return session.output(0, "y", DType::F32)->as<float>()[count - 1] - 10;
  }
};

TEST_F(AlternativesTest, TheFastestIsTakenAndRemembered) {
  auto session = bound(model());
  for (int i = 0; i < 3; ++i) // walked and replayed
    EXPECT_EQ(added(*session), 2);
  EXPECT_GE(gpu->statistics().kernels, 12u);
  EXPECT_EQ(remembered().size(), 2u);
  ASSERT_EQ(session->getAlternatives().size(), 2u);
  EXPECT_EQ(session->getAlternatives()[0], "kernel 'fast', of 2 alternatives");
  session.reset();
  unsigned ran = gpu->statistics().kernels;
  session = bound(model());
  EXPECT_EQ(gpu->statistics().kernels, ran);
  EXPECT_EQ(added(*session), 2);
  // Kernels of another source are other kernels, even of the same names.
  Parts parts = model();
  parts.kernelPrograms[0].source += "// once more\n";
  session = bound(parts);
  EXPECT_EQ(remembered().size(), 4u);
}

// Before each of the runs that are timed, and what it takes is given back.
TEST_F(AlternativesTest, TheCacheIsWrittenOverBeforeEachRun) {
  Parts parts = model();
  parts.tune = false;
  auto session = bound(parts);
  uint64_t used = gpu->statistics().usedBytes;
  session.reset();
  unsigned filled = gpu->calls("cuMemsetD8Async"), events = gpu->calls("cuEventElapsedTime");
  session = bound(model());
  events = gpu->calls("cuEventElapsedTime") - events;
  EXPECT_GE(gpu->calls("cuMemsetD8Async") - filled, events);
  EXPECT_EQ(gpu->statistics().usedBytes, used);
  EXPECT_EQ(added(*session), 2);
}

// Where there is no memory for that, the alternatives are timed nevertheless.
TEST_F(AlternativesTest, ChoosingTakesNoMemoryThatIsNotThere) {
  Parts parts = model();
  unsigned allocations = 0;
  {
    Parts untuned = parts;
    untuned.tune = false;
    auto session = bound(untuned);
    allocations = gpu->calls("cuMemAllocFromPoolAsync");
  }
  gpu->failCall("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, allocations);
  gpu->failCall("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(added(*bound(parts)), 2);
}

TEST_F(AlternativesTest, WithoutTuningTheFirstIsTaken) {
  Parts parts = model();
  parts.tune = false;
  auto session = bound(parts);
  EXPECT_EQ(gpu->statistics().kernels, 0u);
  EXPECT_TRUE(session->getAlternatives().empty());
  EXPECT_EQ(added(*session), 1);
  EXPECT_TRUE(remembered().empty());
}

TEST_F(AlternativesTest, StatesAndScratchAreAsBefore) {
  auto session = bound(model());
  auto read = [&](const char *name) {
    uint32_t value = 1;
    EXPECT_TRUE(session->readState(name, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  };
  EXPECT_EQ(read("runs"), 0u);
  EXPECT_EQ(read("scratch.count"), 0u);
  added(*session);
  EXPECT_EQ(read("runs"), 0x3f800000u); // 1.0f
}

// What one command that was tried left in the arena is not an index of another.
TEST_F(AlternativesTest, WhatIsTriedOnIsZeros) {
  Parts parts = model();
  Parts::Program &run = parts.programs[0];
  fb::Slice arena = slice(Space::Arena, 0, count * 4), x = slice(Space::Input, 0, count * 4);
  run.commands[0] = launch(slow, 1, {x, arena}, "add");
  run.commands[0].alternatives = {launch(fast, 1, {x, arena})};
  run.commands[1] = fill(arena, 0);
  run.commands.push_back(launch(pick, 1, {arena, x, slice(Space::Output, 0, 4)}, "pick"));
  run.commands[2].alternatives = {launch(pick, 1, {arena, x, slice(Space::Output, 0, 4)})};
  auto session = bound(parts);
  ASSERT_TRUE(session);
  added(*session);
}

TEST_F(AlternativesTest, AWayThatCannotBeBoundOrLaunchedIsLeftOut) {
  Parts parts = model();
  // A product that the library refuses, or has not.
  GemmParts product;
  product.m = 1, product.n = count, product.k = 1;
  product.lhs = slice(Space::Input, 0, 4), product.rhs = slice(Space::Input, 0, count * 4);
  product.out = slice(Space::Output, 0, count * 4);
  product.rhsTransposed = false, product.rhsStride = count;
  Parts::Command &command = parts.programs[0].commands[0];
  command.alternatives.push_back(command);
  Parts::Command action = gemm(product);
  command.kind = action.kind, command.make = action.make;
  gpu->failCall("cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(added(*bound(parts)), 2);
  // The first kernel is timed, the second not launched.
  gpu->failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 6);
  parts = model();
  parts.kernelPrograms[0].source += " ";
  EXPECT_EQ(added(*bound(parts)), 1);
}

TEST_F(AlternativesTest, NoWayAtAllIsAnError) {
  gpu->failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  gpu->failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  std::string error = bindError(model());
  EXPECT_EQ(
      error.find("test.sinter: program 'run', command 0 (add, layer.0), kernel 'slow': trying "
                 "kernel 'slow': CUDA error 701"),
      0u)
      << error;
}

TEST_F(AlternativesTest, AWayThatBreaksTheContextIsNamed) {
  gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS, 6);
  lost = true;
  std::string error = bindError(model());
  EXPECT_NE(error.find("trying kernel 'fast': CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
      << error;
}

TEST_F(AlternativesTest, ErrorsNameTheWayThatWasTaken) {
  auto session = bound(model(), /*debug=*/true);
  gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  lost = true;
  auto result = session->run(0);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("command 0 (add, layer.0), kernel 'fast': CUDA_ERROR"),
            std::string::npos)
      << result.error().message();
}

TEST_F(AlternativesTest, AKernelThatIsNotThereIsAnError) {
  Parts parts = model();
  parts.kernels[fast] = "faster";
  EXPECT_NE(bindError(parts).find("kernel 'faster': CUDA_ERROR_NOT_FOUND"), std::string::npos);
}

} // namespace
