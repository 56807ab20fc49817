//===- CudnnAttentionTest.cpp - The library's attention -------------------===//
//
// What cuDNN is asked for, compared with attention's definition: by a fake of the library that does
// what its graphs say, or by the library itself where there is a GPU.
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/CudnnAttention.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Device/Cuda/CudaPool.h"
#include "test/cuda/FakeCuda.h"
#include "test/kernels/AttentionReference.h"

#include <cmath>
#include <cudnn_graph.h>
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>
#include <random>

using namespace sinter;
using namespace sinter::fake;
using namespace sinter::runtime;
using namespace sinter::runtime::cuda;
using kernels::AttentionProblem;
using kernels::AttentionResult;

namespace {

constexpr uint64_t roomForLibrary = uint64_t(1) << 20;

struct Options {
  fb::DType dtype = fb::DType::BF16, outDtype = fb::DType::BF16;
  bool logsumexp = true;
  uint64_t workspaceBytes = roomForLibrary;
};

uint16_t narrow(fb::DType dtype, double value) {
  return dtype == fb::DType::BF16 ? floatToBf16(float(value)) : floatToF16(float(value));
}
double widen(fb::DType dtype, uint16_t bits) {
  return dtype == fb::DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

class CudnnAttentionTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto device = CudaContext::open();
    if (!device) {
      fake = std::make_unique<FakeCuda>(FakeOptions{.checked = true});
      device = CudaContext::open();
    }
    ASSERT_TRUE(device) << device.error().message();
    context = std::move(*device);
    RecordProperty("device", context->getName());
  }
  void TearDown() override {
    context = nullptr;
    if (fake) {
      for (const std::string &complaint : fake->complaints())
        ADD_FAILURE() << complaint;
      EXPECT_EQ(fake->statistics().handles, 0u);
    }
  }

  static AttentionProblem problem(int length, int heads, int keyHeads, int headSize) {
    AttentionProblem p;
    p.batch = 2;
    p.length = p.maxSequence = length;
    p.heads = heads;
    p.keyHeads = keyHeads;
    p.headSize = headSize;
    p.scale = 0.25;
    p.causal = true;
    return p;
  }

  struct Memory {
    DeviceMemory qkv, out, logsumexp, workspace;
  };

  /// Rows of queries, keys and values, as one product gives them, random and rounded.
  std::vector<uint16_t> makeRows(const AttentionProblem &p, const Options &options) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<uint16_t> rows(size_t(p.batch) * p.length * rowOf(p));
    for (uint16_t &element : rows)
      element = narrow(options.dtype, normal(random));
    return rows;
  }
  static size_t rowOf(const AttentionProblem &p) {
    return size_t(p.heads + 2 * p.keyHeads) * p.headSize;
  }

  /// Runs an attention; the result and, where it is asked for, the logsumexp.
  Expected<AttentionResult> run(const AttentionProblem &p, const Options &options) {
    CudaContext::Current current(*context);
    const CudaApi &api = context->getApi();
    SINTER_TRY(auto pool, CudaPool::create(*context));
    std::vector<uint16_t> rows = makeRows(p, options);
    bool wide = options.outDtype == fb::DType::F32;
    Memory memory;
    SINTER_TRY(memory.qkv, pool->allocate(2 * rows.size(), "a test"));
    SINTER_TRY(memory.out, pool->allocate((wide ? 4 : 2) * p.querySize(), "a test"));
    SINTER_TRY(memory.logsumexp, pool->allocate(4 * p.rows(), "a test"));
    SINTER_TRY(memory.workspace, pool->allocate(options.workspaceBytes, "a test"));
    api.cuMemcpyHtoDAsync(memory.qkv.getAddress(), rows.data(), 2 * rows.size(),
                          context->getStream());
    CudnnLibrary library(*context);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(describe(builder, p, options, memory));
    auto *attention = flatbuffers::GetRoot<fb::Attention>(builder.GetBufferPointer());
    // Offsets are addresses here.
    SINTER_TRY(CudnnAttention bound, library.bind(*attention, [](const fb::Slice &slice) {
      return CUdeviceptr(slice.offset());
    }));
    SINTER_CHECK(bound.enqueue(context->getStream()));
    std::vector<uint16_t> narrowOut(wide ? 0 : p.querySize());
    std::vector<float> wideOut(wide ? p.querySize() : 0), logsumexp(p.rows());
    api.cuMemcpyDtoHAsync(wide ? static_cast<void *>(wideOut.data()) : narrowOut.data(),
                          memory.out.getAddress(), memory.out.getBytes(), context->getStream());
    if (options.logsumexp)
      api.cuMemcpyDtoHAsync(logsumexp.data(), memory.logsumexp.getAddress(), 4 * p.rows(),
                            context->getStream());
    SINTER_CHECK(context->wait("a test"));
    AttentionResult result;
    for (float value : wideOut)
      result.result.push_back(value);
    for (uint16_t value : narrowOut)
      result.result.push_back(widen(options.dtype, value));
    result.logsumexp.assign(logsumexp.begin(), logsumexp.end());
    return result;
  }

  static flatbuffers::Offset<fb::Attention> describe(flatbuffers::FlatBufferBuilder &builder,
                                                     const AttentionProblem &p,
                                                     const Options &options, const Memory &memory) {
    auto slice = [](CUdeviceptr address, uint64_t bytes) {
      return fb::Slice(fb::Space::Arena, 0, address, bytes);
    };
    auto rows = [&](size_t offset) {
      return slice(memory.qkv.getAddress() + 2 * offset, memory.qkv.getBytes() - 2 * offset);
    };
    size_t width = rowOf(p), keys = size_t(p.heads) * p.headSize,
           values = keys + size_t(p.keyHeads) * p.headSize;
    fb::HeadStrides strides(width * p.length, width, p.headSize);
    fb::Slice query = rows(0), key = rows(keys), value = rows(values);
    fb::Slice out = slice(memory.out.getAddress(), memory.out.getBytes());
    fb::Slice logsumexp = slice(memory.logsumexp.getAddress(), memory.logsumexp.getBytes());
    fb::Slice workspace = slice(memory.workspace.getAddress(), memory.workspace.getBytes());
    return fb::CreateAttention(
        builder, p.batch, p.length, p.maxSequence, p.heads, p.keyHeads, p.headSize, options.dtype,
        options.outDtype, &query, &strides, &key, &strides, &value, &strides, &out,
        options.logsumexp ? &logsumexp : nullptr, options.workspaceBytes ? &workspace : nullptr,
        float(p.scale), p.causal, uint64_t(p.window));
  }

  AttentionResult expect(const AttentionProblem &p, const Options &options) {
    std::vector<uint16_t> rows = makeRows(p, options);
    size_t width = rowOf(p), keys = size_t(p.heads) * p.headSize,
           values = keys + size_t(p.keyHeads) * p.headSize;
    auto columns = [&](size_t begin, size_t count) {
      std::vector<double> dense;
      for (size_t row = 0; row < rows.size(); row += width)
        for (size_t i = begin; i < begin + count; ++i)
          dense.push_back(widen(options.dtype, rows[row + i]));
      return dense;
    };
    return kernels::attend(p, columns(0, keys), columns(keys, values - keys),
                           columns(values, values - keys));
  }

  void compare(const AttentionProblem &p, const Options &options = {}) {
    Expected<AttentionResult> got = run(p, options);
    if (!got && !fake)
      GTEST_SKIP() << got.error().message();
    ASSERT_TRUE(got) << got.error().message();
    AttentionResult expected = expect(p, options);
    double most = options.dtype == fb::DType::BF16 ? 2e-2 : 3e-3;
    EXPECT_LE(worst(got->result, expected.result), most);
    if (options.logsumexp)
      EXPECT_LE(worst(got->logsumexp, expected.logsumexp), 1e-3);
  }
  static double worst(const std::vector<double> &got, const std::vector<double> &expected) {
    EXPECT_EQ(got.size(), expected.size());
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      double difference = std::abs(got[i] - expected[i]);
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
    return largest;
  }

  /// The error of what is to fail on the fake.
  std::string failure(const AttentionProblem &p, const Options &options = {}) {
    Expected<AttentionResult> got = run(p, options);
    return got ? "" : got.error().message();
  }

  std::unique_ptr<FakeCuda> fake;
  std::unique_ptr<CudaContext> context;
};

TEST_F(CudnnAttentionTest, Causal) { compare(problem(100, 2, 2, 64)); }
TEST_F(CudnnAttentionTest, AllKeys) {
  AttentionProblem p = problem(70, 2, 2, 32);
  p.causal = false;
  compare(p);
}
TEST_F(CudnnAttentionTest, Window) {
  AttentionProblem p = problem(100, 1, 1, 32);
  p.window = 17;
  compare(p);
}
TEST_F(CudnnAttentionTest, HeadsShareKeys) { compare(problem(33, 6, 2, 128)); }
TEST_F(CudnnAttentionTest, F16) {
  compare(problem(40, 2, 1, 64), {.dtype = fb::DType::F16, .outDtype = fb::DType::F16});
}
// cuDNN 9.19 takes such a plan and, on an H200, writes other numbers: programs do not ask for it.
TEST_F(CudnnAttentionTest, IntoF32) {
  if (!fake)
    GTEST_SKIP() << "what the library writes in f32 is not used";
  compare(problem(40, 2, 2, 64), {.outDtype = fb::DType::F32});
}
TEST_F(CudnnAttentionTest, WithoutLogsumexp) {
  compare(problem(40, 2, 2, 64), {.logsumexp = false});
}

TEST_F(CudnnAttentionTest, TwiceTheSameBits) {
  AttentionProblem p = problem(130, 2, 2, 64);
  Expected<AttentionResult> first = run(p, {}), second = run(p, {});
  if (!first && !fake)
    GTEST_SKIP() << first.error().message();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->result, second->result);
  EXPECT_EQ(first->logsumexp, second->logsumexp);
}

TEST_F(CudnnAttentionTest, TooLittleWorkspace) {
  if (!fake)
    GTEST_SKIP() << "it is the fake library that needs some";
  EXPECT_EQ(failure(problem(16, 1, 1, 16), {.workspaceBytes = 128}),
            "attention: cuDNN wants a workspace of 256 bytes, the executable has 128; our own "
            "kernels compute it");
}

TEST_F(CudnnAttentionTest, WhatTheLibraryDoesNotTake) {
  std::string message = failure(problem(16, 1, 1, 20));
  if (fake)
    EXPECT_EQ(message,
              "attention: cuDNN says CUDNN_STATUS_NOT_SUPPORTED; our own kernels compute it");
  else
    EXPECT_NE(message, "");
}

TEST_F(CudnnAttentionTest, LibraryThatDoesNotStart) {
  if (!fake)
    GTEST_SKIP() << "the library is fine";
  fake->failCall("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(failure(problem(16, 1, 1, 16)),
            "attention: cuDNN says CUDNN_STATUS_NOT_INITIALIZED; install the cuDNN that belongs to "
            "the driver");
}

// Whichever call fails: the attention is right, or is not there, and nothing is left behind.
TEST_F(CudnnAttentionTest, CallsThatFail) {
  if (!fake)
    GTEST_SKIP() << "calls of the library do not fail";
  const AttentionProblem p = problem(16, 1, 1, 16);
  const AttentionResult expected = expect(p, {});
  for (const char *call :
       {"cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendGetAttribute", "cudnnBackendFinalize", "cudnnBackendExecute"})
    for (unsigned after : {0u, 1u, 3u, 20u, 45u}) {
      fake->failCall(call, CUDNN_STATUS_INTERNAL_ERROR, after);
      if (Expected<AttentionResult> got = run(p, {}))
        EXPECT_LE(worst(got->result, expected.result), 2e-2) << call << ' ' << after;
    }
}

} // namespace
