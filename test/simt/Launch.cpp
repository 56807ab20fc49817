//===- Launch.cpp - Runs kernels with no GPU ------------------------------===//
#include "test/simt/Launch.h"

#include "test/simt/Machine.h"

using namespace sinter::simt;

Kernel::Kernel(std::string name, Function function, const Signature &signature)
    : kernelName(std::move(name)), entry(function), signature(signature),
      kernelModule(moduleOf(reinterpret_cast<const void *>(function))) {}

Report sinter::simt::launch(const Kernel &kernel, const Launch &shape,
                            std::span<void *const> pointers) {
  return Machine::instance().run(kernel, shape, pointers);
}
