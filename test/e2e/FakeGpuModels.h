//===- FakeGpuModels.h - Tests of models on a GPU that is not there -*- C++ -*-===//
#pragma once

#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <string>

namespace sinter::test {

/// A test of a kept model that runs on the fake GPU, and fails where something was done there that
/// a GPU need not have survived.
class FakeGpuModels : public testing::TestWithParam<std::string> {
protected:
  /// @param checked whether the emulator looks at every access of kernels to memory, and lets
  /// threads run in another order than theirs.
  explicit FakeGpuModels(bool checked = false, int devices = 1)
      : fake(makeOptions(checked, devices)) {}

  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
  }

  void TearDown() override {
    for (const std::string &complaint : fake.complaints())
      ADD_FAILURE() << complaint;
  }

  fake::FakeCuda fake;

private:
  static fake::FakeOptions makeOptions(bool checked, int devices) {
    fake::FakeOptions options;
    options.devices = devices;
    options.checked = checked;
    if (checked)
      options.schedule = {simt::Schedule::Order::Shuffled, 11};
    options.cache = SINTER_TEST_KERNELS;
    return options;
  }
};

/// The model's name, as a test may be called.
inline std::string nameModelTest(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace sinter::test
