// The kept models compiled for a GPU and run on one that is not there: CUDA C++ by way of the
// emulator, products by a plain one, through the same runtime that drives a device. Their logits
// are those of the reference, within 1e-5 in f32, 3e-3 in f16 and 2e-2 in bf16, and nothing that a
// GPU need not have survived was done.

#include "test/cuda/FakeCuda.h"
#include "test/e2e/CompiledModel.h"
#include "test/simt/Program.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::test;

namespace {

class CudaLogits : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
  }

  void TearDown() override {
    for (const std::string &complaint : fake.complaints())
      ADD_FAILURE() << complaint;
  }

  CompileOptions options(std::vector<std::string> entries, int64_t batch, int64_t chunk,
                         DType type) {
    CompileOptions result;
    result.target = "cuda:sm_90";
    result.entries = std::move(entries);
    result.batch = batch;
    result.chunk = chunk;
    result.capacity = 0;
    result.computeType = result.cacheType = type;
    return result;
  }

  /// The error of all logits at once, and those of ragged slots.
  void check(CompiledModel &model, DType type, double whole, double row) {
    model.compile(options({"logits"}, 1, model.length, type));
    double error = model.errorOf(model.logits());
    RecordProperty("error", std::to_string(error));
    EXPECT_LE(error, whole);
    model.compile(options({"prefill", "decode"}, 2, 7, type));
    model.runRagged([&](std::span<const float> logits, int64_t position) {
      EXPECT_LE(model.errorOf(logits, position, 1), row) << position;
    });
  }

  fake::FakeCuda fake{{.cache = SINTER_TEST_KERNELS}};
};

TEST_P(CudaLogits, InF32) {
  CompiledModel model(GetParam());
  check(model, DType::F32, 1e-5, 1e-5);
}

TEST_P(CudaLogits, InBf16) {
  CompiledModel model(GetParam());
  check(model, DType::BF16, 2e-2, 4e-2);
}

TEST_P(CudaLogits, InF16) {
  CompiledModel model(GetParam());
  check(model, DType::F16, 3e-3, 6e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, CudaLogits, testing::ValuesIn(modelNames()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
