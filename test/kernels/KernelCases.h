//===- KernelCases.h - Instances of a template, one by one ------*- C++ -*-===//
#pragma once

#include "test/kernels/KernelHarness.h"

#include <gtest/gtest.h>

namespace sinter::kernels {

/// Calls `check(kernels, name, one, order)` for each of some instances of a template, which say of
/// themselves what their parameters are, in one order of threads after another.
template <typename One>
void forEachKernel(const char *templateName, const std::map<std::string, One> &all, bool checked,
                   void (*check)(TestKernels &, const std::string &, const One &,
                                 simt::Schedule::Order)) {
  SINTER_SKIP_WITHOUT_KERNELS();
  std::map<std::string, Parameters> parameters;
  for (const auto &[name, one] : all)
    parameters[name] = one.getParameters();
  auto compiled = TestKernels::compile(getTemplate(templateName), parameters, checked);
  ASSERT_TRUE(compiled) << compiled.error().message();
  int count = 0;
  for (const auto &[name, one] : all) {
    SCOPED_TRACE(name);
    check(*compiled, name, one, static_cast<simt::Schedule::Order>(count++ % 3));
  }
}

} // namespace sinter::kernels
