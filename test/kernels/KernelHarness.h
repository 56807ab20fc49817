//===- KernelHarness.h - Runs templates in the emulator ---------*- C++ -*-===//
#pragma once

#include "test/kernels/HostTensor.h"
#include "test/kernels/TemplateManifest.h"
#include "test/simt/Program.h"

#include <memory>

namespace sinter::kernels {

/// The template of this name in the repository's manifest; ends the test where it cannot be read.
const KernelTemplate &getTemplate(const std::string &name);

/// Kernels of one template, compiled as one program for the emulator.
class EmulatedKernels {
public:
  /// @param checked whether every access to memory is looked at, which takes its time.
  static Expected<EmulatedKernels> compile(const KernelTemplate &source,
                                           const std::map<std::string, Parameters> &kernels,
                                           bool checked);

  /// Runs a kernel as its own formulas say. Tensors are copied to the device and back; those whose
  /// numbers are all NaN are memory that nobody has written yet. An argument that stands in
  /// `tensors` twice is one piece of memory.
  Expected<simt::Report> run(const std::string &kernel, const std::vector<HostTensor *> &tensors,
                             simt::Schedule::Order order = simt::Schedule::Order::Forward);

private:
  explicit EmulatedKernels(simt::Program program) : program(std::move(program)) {}

  simt::Program program;
};

/// Skips the test, and says why, where the machine cannot compile kernels.
#define SINTER_SKIP_WITHOUT_EMULATOR()                                                             \
  if (std::string why = ::sinter::simt::Program::whyNot(); !why.empty())                           \
  GTEST_SKIP() << why

} // namespace sinter::kernels
