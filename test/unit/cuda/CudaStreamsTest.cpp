// Programs in several streams, on the fake GPU.
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/support/Environment.h"
#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fake::FakeCuda;
using fake::FakeOptions;
using fb::Space;
using sinter::test::Variable;

namespace {

constexpr uint64_t count = 32, bytes = count * 4;
constexpr const char *streamKernels = R"(
__device__ __forceinline__ void wait_for_kernel() {
#ifdef SINTER_SIMT
  sinter::simt::pdlWait();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
extern "C" __global__ void __launch_bounds__(32) twice(const float *__restrict__ in, float *out) {
  wait_for_kernel();
  out[threadIdx.x] = 2 * in[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(32)
    sum(const float *__restrict__ a, const float *__restrict__ b, float *out) {
  wait_for_kernel();
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(32) add(const float *__restrict__ in, float *out) {
  wait_for_kernel();
  out[threadIdx.x] += in[threadIdx.x];
}
)";

// y = 12 x, and what x adds up to over the runs, in three streams:
//
//   0   a = 2 x | b = 2 a           | y = b + d, waits for 4
//   1           | c = 2 a | d = 2 c
//   2   total += x
class CudaStreamsTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    open({});
  }
  void TearDown() override {
    if (!gpu)
      return;
    for (const std::string &complaint : gpu->complaints())
      ADD_FAILURE() << complaint;
    EXPECT_EQ(gpu->statistics().handles, 0u);
    EXPECT_EQ(gpu->statistics().allocated, 0u);
  }
  void open(FakeOptions options) {
    gpu.reset();
    options.cache = SINTER_FAKE_CACHE;
    gpu = std::make_unique<FakeCuda>(options);
  }

  static Parts model() {
    Parts parts;
    parts.kernels = {"twice", "sum", "add"};
    parts.stateBytes = bytes;
    parts.states = {{"total", fb::DType::F32, {int64_t(count)}, slice(Space::State, 0, bytes)}};
    parts.programs.resize(1);
    Parts::Program &run = parts.programs[0];
    run.name = "run";
    run.inputBytes = run.outputBytes = bytes;
    run.arenaBytes = 4 * bytes;
    fb::Slice x = slice(Space::Input, 0, bytes), y = slice(Space::Output, 0, bytes);
    fb::Slice total = slice(Space::State, 0, bytes);
    auto arena = [](uint64_t index) { return slice(Space::Arena, index * bytes, bytes); };
    run.inputs = {{"x", fb::DType::F32, {int64_t(count)}, x}};
    run.outputs = {{"y", fb::DType::F32, {int64_t(count)}, y}};
    auto command = [&](uint32_t kernel, std::vector<fb::Slice> slices, const std::string &label,
                       uint32_t stream, std::vector<uint32_t> waits) {
      Parts::Command made = launch(kernel, 1, std::move(slices), label, "", {fb::DType::F32});
      made.stream = stream;
      made.waits = std::move(waits);
      run.commands.push_back(std::move(made));
    };
    command(0, {x, arena(0)}, "a", 0, {});
    command(0, {arena(0), arena(1)}, "b", 0, {});
    command(2, {x, total}, "total", 2, {});
    command(0, {arena(0), arena(2)}, "c", 1, {0});
    command(0, {arena(2), arena(3)}, "d", 1, {});
    command(1, {arena(1), arena(3), y}, "y", 0, {4});
    parts.device = "cuda:sm_90";
    parts.kernelPrograms = {{streamKernels, {}}}; // compiled for the fake that is there
    return parts;
  }

  std::unique_ptr<Session> bind(const Parts &parts, bool debug = false,
                                std::vector<std::string> copiedStates = {}) {
    BindOptions options;
    options.threads = 2;
    options.debug = debug;
    options.copiedStates = std::move(copiedStates);
    options.onWarning = [this](const Error &error) { warnings.push_back(error.message()); };
    auto session = Session::bind(*parts.load(), options);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }

  /// Runs, and checks what comes out.
  void runOnce(Session &session, float seed) {
    auto x = session.input(0, "x", DType::F32)->as<float>();
    for (size_t i = 0; i < count; ++i)
      x[i] = seed + float(i);
    auto ran = session.run(0);
    ASSERT_TRUE(ran) << ran.error().message();
    total += seed;
    auto y = session.output(0, "y", DType::F32)->as<float>();
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(y[i], 12 * (seed + float(i)));
    std::vector<float> totals(count);
    ASSERT_TRUE(session.readState("total", std::as_writable_bytes(std::span(totals))));
    EXPECT_EQ(totals[0], total);
  }

  /// What is complained of when a model runs in every order that is tried.
  std::vector<std::string> complaintsOf(const Parts &parts, FakeOptions options = {}) {
    std::vector<std::string> complaints;
    for (unsigned seed : {0u, 1u, 2u, 3u}) {
      options.streamSeed = seed;
      open(options);
      auto session = bind(parts);
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(session->run(0));
      session.reset();
      for (const std::string &complaint : gpu->complaints())
        complaints.push_back(complaint);
    }
    open({});
    return complaints;
  }

  std::unique_ptr<FakeCuda> gpu;
  std::vector<std::string> warnings;
  float total = 0;
};

TEST_F(CudaStreamsTest, WalksAndReplaysInAnyOrder) {
  Parts parts = model();
  for (bool checked : {false, true})
    for (unsigned seed : {0u, 1u, 2u, 3u}) {
      FakeOptions options;
      options.checked = checked;
      options.streamSeed = seed;
      open(options);
      total = 0;
      auto session = bind(parts);
      for (int i = 1; i < 6; ++i)
        runOnce(*session, float(i));
      EXPECT_EQ(gpu->statistics().captures, 1u);
      EXPECT_EQ(gpu->statistics().graphs, 4u);
      EXPECT_EQ(gpu->calls("cuStreamCreate"), 3u);
      session.reset();
      EXPECT_TRUE(gpu->complaints().empty()) << gpu->complaints().front();
    }
  EXPECT_TRUE(warnings.empty());
}

// Behind 0 and 4, for the branches' begin, and for the end of the one that nobody waits for.
TEST_F(CudaStreamsTest, NoMoreEventsThanTheOrderNeeds) {
  Variable off("SINTER_CUDA_GRAPH", "0");
  auto session = bind(model());
  unsigned recorded = gpu->calls("cuEventRecord"), waited = gpu->calls("cuStreamWaitEvent");
  EXPECT_TRUE(session->run(0));
  EXPECT_EQ(gpu->calls("cuEventRecord") - recorded, 4u);
  EXPECT_EQ(gpu->calls("cuStreamWaitEvent") - waited, 4u);
}

TEST_F(CudaStreamsTest, NoStreamsUnlessAProgramHasThem) {
  Parts parts = model();
  for (Parts::Command &command : parts.programs[0].commands)
    command.stream = 0, command.waits.clear();
  auto session = bind(parts);
  EXPECT_EQ(gpu->calls("cuStreamCreate"), 1u);
  runOnce(*session, 1);
  runOnce(*session, 2);
  EXPECT_EQ(gpu->calls("cuStreamWaitEvent"), 0u);
}

// The whole program's ends and the copies of inputs and outputs are ordered by themselves.
TEST_F(CudaStreamsTest, EveryMissingWaitIsFound) {
  for (size_t command : {3, 5}) {
    Parts parts = model();
    parts.programs[0].commands[command].waits.clear();
    std::vector<std::string> complaints = complaintsOf(parts);
    ASSERT_FALSE(complaints.empty()) << command;
    EXPECT_EQ(complaints[0], command == 3 ? "twice and twice use the same memory on two streams, "
                                            "and nothing orders the two"
                                          : "sum and twice use the same memory on two streams, and "
                                            "nothing orders the two");
  }
  EXPECT_TRUE(complaintsOf(model()).empty());
}

// Slices that overlap without beginning at the same byte: what kernels touch tells.
TEST_F(CudaStreamsTest, AMissingWaitForAPartIsFoundByWhatKernelsTouch) {
  Parts parts = model();
  std::vector<Parts::Command> &commands = parts.programs[0].commands;
  // d goes over the end of b.
  fb::Slice late = slice(Space::Arena, bytes + 64, bytes);
  commands[4] =
      launch(0, 1, {slice(Space::Arena, 2 * bytes, bytes), late}, "d", "", {fb::DType::F32});
  commands[4].stream = 1;
  FakeOptions options;
  EXPECT_TRUE(complaintsOf(parts, options).empty());
  options.checked = true;
  std::vector<std::string> complaints = complaintsOf(parts, options);
  ASSERT_FALSE(complaints.empty());
  EXPECT_NE(complaints[0].find("use the same memory on two streams"), std::string::npos);
}

// Of all kernels only d stands right behind another in its stream, with no event between.
TEST_F(CudaStreamsTest, LaunchesOverlapInTheirStream) {
  Parts parts = model();
  parts.waits = true;
  auto session = bind(parts);
  runOnce(*session, 1);
  EXPECT_EQ(gpu->statistics().overlaps, 2u); // walked and captured
  runOnce(*session, 2);
}

TEST_F(CudaStreamsTest, AFailedCaptureWalksOn) {
  for (const char *function :
       {"cuStreamWaitEvent", "cuEventRecord", "cuLaunchKernel", "cuGraphInstantiate"}) {
    open({});
    total = 0;
    warnings.clear();
    auto session = bind(model());
    // What the walk before the capture calls goes well.
    bool once = std::string_view(function) == "cuGraphInstantiate";
    bool launches = std::string_view(function) == "cuLaunchKernel";
    gpu->failCall(function, CUDA_ERROR_NOT_SUPPORTED, once ? 0 : launches ? 6 + 3 : 4 + 2);
    for (int i = 1; i < 4; ++i)
      runOnce(*session, float(i));
    EXPECT_EQ(gpu->calls("cuStreamBeginCapture"), 1u) << function;
    EXPECT_EQ(gpu->statistics().graphs, 0u);
    EXPECT_EQ(warnings.size(), 1u) << function;
    session.reset();
    EXPECT_TRUE(gpu->complaints().empty()) << function << ": " << gpu->complaints().front();
  }
}

TEST_F(CudaStreamsTest, AFailedWalkIsAnError) {
  auto session = bind(model());
  gpu->failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 4);
  auto ran = session->run(0);
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message().find("command 4 (d)"), std::string::npos)
      << ran.error().message();
}

// Copies of a state are waited for in the middle: each part forks and joins.
TEST_F(CudaStreamsTest, PartsBeginAndEndInOneStream) {
  for (unsigned seed : {0u, 1u, 2u}) {
    FakeOptions options;
    options.streamSeed = seed;
    open(options);
    total = 0;
    auto session = bind(model(), /*debug=*/false, {"total"});
    for (int i = 1; i < 5; ++i)
      runOnce(*session, float(i));
    EXPECT_EQ(gpu->statistics().captures, 2u);
    EXPECT_EQ(gpu->statistics().graphs, 6u);
    session.reset();
    EXPECT_TRUE(gpu->complaints().empty()) << gpu->complaints().front();
  }
}

TEST_F(CudaStreamsTest, OneByOneInDebugModeAndForATrace) {
  {
    auto session = bind(model(), /*debug=*/true);
    runOnce(*session, 1);
  }
  total = 0;
  auto session = bind(model());
  Trace trace(100);
  session->setTrace(&trace);
  unsigned waited = gpu->calls("cuStreamWaitEvent");
  runOnce(*session, 1);
  EXPECT_EQ(gpu->calls("cuStreamWaitEvent"), waited);
}

} // namespace
