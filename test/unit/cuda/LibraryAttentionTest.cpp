// An attention that a kernel and cuDNN compute: which of them runs, and what is said where the
// library does not.
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/support/Environment.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cudnn_graph.h>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fake::FakeCuda;
using fb::Space;
using sinter::test::Variable;

namespace {

// Not an attention, so that it can be seen which was taken; and slow.
constexpr const char *attentionKernels = R"(
extern "C" __global__ void __launch_bounds__(32) own(const unsigned short *in, float *out) {
  volatile float sum = 7;
  for (int i = 0; i < 20000; ++i)
    sum = sum + 0.0f;
  out[threadIdx.x] = sum;
}
)";

// Two rows of two heads of 8; all values are 1, so that every weighted sum of them is.
constexpr size_t width = 48, rows = 2, results = rows * 16;

class LibraryAttentionTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    open({});
  }
  void TearDown() override {
    if (gpu)
      close();
  }
  void open(fake::FakeOptions options) {
    if (gpu)
      close();
    options.checked = true;
    options.cache = SINTER_FAKE_CACHE;
    gpu = std::make_unique<FakeCuda>(options);
  }
  void close() {
    for (const std::string &complaint : gpu->complaints())
      ADD_FAILURE() << complaint;
    EXPECT_EQ(gpu->statistics().handles + gpu->statistics().allocated, 0u);
    gpu = nullptr;
  }

  /// A program with the attention twice, as two layers would have it.
  Parts model() {
    Parts parts;
    parts.kernels = {"own"};
    parts.tune = true;
    parts.programs.resize(1);
    Parts::Program &run = parts.programs[0];
    run.name = "run";
    run.inputBytes = 2 * rows * width;
    run.outputBytes = 2 * 4 * results;
    run.arenaBytes = 256;
    run.inputs = {{"x", fb::DType::BF16, {rows, width}, slice(Space::Input, 0, 2 * rows * width)}};
    run.outputs = {{"y", fb::DType::F32, {2, results}, slice(Space::Output, 0, 2 * 4 * results)}};
    for (uint64_t layer = 0; layer < 2; ++layer) {
      fb::Slice out = slice(Space::Output, layer * 4 * results, 4 * results);
      AttentionParts library;
      library.length = library.keys = rows;
      library.heads = library.keyHeads = 2;
      library.outDtype = fb::DType::F32;
      auto column = [](uint64_t begin) {
        return slice(Space::Input, 2 * begin, 2 * (rows * width - begin));
      };
      library.query = column(0);
      library.key = column(16);
      library.value = column(32);
      library.queryStrides = library.keyStrides = library.valueStrides =
          fb::HeadStrides(rows * width, width, 8);
      library.out = out;
      library.workspace = slice(Space::Arena, 0, 256);
      run.commands.push_back(launch(0, 1, {slice(Space::Input, 0, 2 * rows * width), out},
                                    "attention", "layer", {fb::DType::F32}));
      run.commands.back().alternatives = {attention(library)};
    }
    moveToGpu(parts, "");
    static const auto code = cuda::compileCuda({"kernels.cu", attentionKernels, {}, {}}, "sm_90a");
    EXPECT_TRUE(code) << code.error().message();
    parts.kernelPrograms[0].source = attentionKernels;
    parts.kernelPrograms[0].cubins["sm_90a"] = {reinterpret_cast<const char *>(code->cubin.data()),
                                                code->cubin.size()};
    return parts;
  }

  std::unique_ptr<Session> bound(const Parts &parts) {
    BindOptions options;
    options.threads = 1;
    options.onWarning = [this](const Error &error) { warnings.push_back(error.message()); };
    auto session = Session::bind(*parts.load(), options);
    EXPECT_TRUE(session) << session.error().message();
    return session ? std::move(*session) : nullptr;
  }

  /// What all results are.
  static float result(Session &session) {
    auto x = session.input(0, "x", DType::BF16)->as<uint16_t>();
    std::fill(x.begin(), x.end(), uint16_t(0x3f80));
    auto ran = session.run(0);
    EXPECT_TRUE(ran) << ran.error().message();
    auto y = session.output(0, "y", DType::F32)->as<float>();
    for (float value : y)
      EXPECT_EQ(value, y[0]);
    return y[0];
  }

  Variable cache{"SINTER_CACHE_DIR", "/dev/null"};
  std::unique_ptr<FakeCuda> gpu;
  std::vector<std::string> warnings;
};

TEST_F(LibraryAttentionTest, WhatIsFasterIsTaken) {
  auto session = bound(model());
  for (int i = 0; i < 3; ++i) // walked and replayed
    EXPECT_EQ(result(*session), 1);
  EXPECT_GE(gpu->statistics().attentions, 6u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(LibraryAttentionTest, WithoutTuningItIsNotOpened) {
  Parts parts = model();
  parts.tune = false;
  EXPECT_EQ(result(*bound(parts)), 7);
  EXPECT_EQ(gpu->calls("cudnnCreate"), 0u);
}

TEST_F(LibraryAttentionTest, WithoutTheLibrary) {
  for (int layer = 0; layer < 2; ++layer)
    gpu->failCall("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(result(*bound(model())), 7);
  EXPECT_EQ(warnings, std::vector<std::string>{"attention: cuDNN says CUDNN_STATUS_NOT_INITIALIZED;"
                                               " our own kernels compute it"});
}

TEST_F(LibraryAttentionTest, WithMoreWorkspaceThanPlanned) {
  open({.attentionWorkspace = 512});
  EXPECT_EQ(result(*bound(model())), 7);
  EXPECT_EQ(warnings,
            std::vector<std::string>{"attention: cuDNN wants a workspace of 512 bytes, the "
                                     "executable has 256; our own kernels compute it"});
  open({.attentionWorkspace = 0});
  EXPECT_EQ(result(*bound(model())), 1);
  EXPECT_EQ(warnings.size(), 1u);
}

// One that refuses when it is called is left out, too.
TEST_F(LibraryAttentionTest, ThatDoesNotRun) {
  for (int layer = 0; layer < 2; ++layer)
    gpu->failCall("cudnnBackendExecute", CUDNN_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(result(*bound(model())), 7);
}

} // namespace
