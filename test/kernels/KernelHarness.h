//===- KernelHarness.h - Runs instances of templates ------------*- C++ -*-===//
#pragma once

#include "test/cuda/DeviceProgram.h"
#include "test/kernels/HostTensor.h"
#include "test/kernels/TemplateManifest.h"
#include "test/simt/Program.h"

#include <memory>
#include <optional>

namespace sinter::kernels {

/// The template of this name in the repository's manifest; ends the test where it cannot be read.
const KernelTemplate &getTemplate(const std::string &name);

/// Kernels of one template, compiled as one program for the emulator, or for the GPU where the
/// tests are told so (test/cuda/DeviceProgram.h).
class TestKernels {
public:
  /// @param checked whether the emulator looks at every access to memory, which takes its time.
  /// @param fullGrid SINTER_FULL_GRID, where it is to be another.
  static Expected<TestKernels> compile(const KernelTemplate &source,
                                       const std::map<std::string, Parameters> &kernels,
                                       bool checked, std::optional<int> fullGrid = std::nullopt);

  /// Runs a kernel as its own formulas say. Tensors are copied to the device and back; those whose
  /// numbers are all NaN are memory that nobody has written yet. An argument that stands in
  /// `tensors` twice is one piece of memory.
  Expected<simt::Report> run(const std::string &kernel, const std::vector<HostTensor *> &tensors,
                             simt::Schedule::Order order = simt::Schedule::Order::Forward);

private:
  /// Grid, threads of a block and bytes of its dynamic shared memory.
  struct Shape {
    long long grid = 0, block = 0, sharedBytes = 0;
  };
  Expected<simt::Report> emulate(const std::string &kernel,
                                 const std::vector<HostTensor *> &tensors,
                                 simt::Schedule::Order order);
  Expected<simt::Report> runOnDevice(const std::string &kernel,
                                     const std::vector<HostTensor *> &tensors);

  std::string name;
  std::optional<simt::Program> emulated;
  std::shared_ptr<test::DeviceProgram> device;
};

/// Why this machine cannot compile kernels for where they are to run; empty if it can.
std::string whyNoKernels();

/// Whether kernels run where there are products of warpgroups: in the emulator, and on a GPU of
/// compute capability 9.0.
bool haveWarpgroups();

#define SINTER_SKIP_WITHOUT_WARPGROUPS()                                                           \
  if (!::sinter::kernels::haveWarpgroups())                                                        \
  GTEST_SKIP() << "products of warpgroups are of compute capability 9.0 alone"

/// Skips the test, and says why, where the machine cannot compile kernels.
#define SINTER_SKIP_WITHOUT_KERNELS()                                                              \
  if (std::string why = ::sinter::kernels::whyNoKernels(); !why.empty())                           \
  GTEST_SKIP() << why

} // namespace sinter::kernels
