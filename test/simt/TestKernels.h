//===- TestKernels.h - Kernels of a test, compiled once ---------*- C++ -*-===//
#pragma once

#include "test/simt/DeviceMemory.h"
#include "test/simt/Program.h"

#include <gtest/gtest.h>
#include <initializer_list>

namespace sinter::simt {

/// The kernels of one source, compiled for checked mode unless told otherwise.
class TestKernels {
public:
  TestKernels(std::string name, std::string source, bool checked = true)
      : program(Program::compile(source, {.checked = checked,
                                          .name = std::move(name),
                                          .includes = {},
                                          .defines = {},
                                          .cache = SINTER_SIMT_CACHE})) {}

  /// Runs a kernel of the source.
  Report run(const std::string &kernel, const Launch &shape,
             std::initializer_list<void *> pointers) const {
    if (!program) {
      ADD_FAILURE() << program.error().message();
      return {};
    }
    auto found = program->kernel(kernel);
    if (!found) {
      ADD_FAILURE() << found.error().message();
      return {};
    }
    std::vector<void *> arguments(pointers);
    return launch(*found, shape, arguments);
  }

private:
  Expected<Program> program;
};

/// Every order in which tests run kernels.
inline std::vector<Schedule> schedules() {
  using Order = Schedule::Order;
  return {{Order::Forward}, {Order::Reverse}, {Order::Shuffled, 1}, {Order::Shuffled, 2}};
}

/// Succeeds if the report has a finding of the kind whose line contains each of the texts.
inline ::testing::AssertionResult finds(const Report &report, Defect defect,
                                        std::initializer_list<const char *> texts) {
  for (const Finding &finding : report.findings) {
    bool all = finding.defect == defect;
    for (const char *text : texts)
      all = all && finding.message().find(text) != std::string::npos;
    if (all)
      return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "no such finding among:\n" << report.text();
}

/// Tests that run kernels skip where none can be compiled.
class KernelTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
  }

  DeviceMemory memory;
};

} // namespace sinter::simt
