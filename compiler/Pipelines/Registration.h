//===- Registration.h - Everything a tool needs registered ------*- C++ -*-===//
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace sinter {

/// Registers Sinter's dialects with its families of kernels, and the upstream ones that its phases
/// use.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers Sinter's passes and pipelines.
void registerPasses();

/// Registers dialects, extensions, passes and pipelines, Sinter's and upstream's: what
/// sinter-opt, the language server and the reducer offer.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace sinter
