//===- DifferentialTest.h - A kernel against its definition -----*- C++ -*-===//
#pragma once

#include "tools/kernel-jit/KernelJit.h"
#include "gtest/gtest.h"

namespace sinter::test {

/// Values for a kernel's argument; the default are normal numbers from `seed`, rounded to the
/// argument's type.
using MakeArgument = std::function<ReferenceTensor(unsigned index, mlir::RankedTensorType type)>;

/// Runs `@kernel` of `text` on arguments from `make` and compares with the reference: expects
/// ||a - b|| / ||b|| <= tolerance for every result, and the same bits however the work items are
/// split and ordered. There are two of it: DifferentialTest.cpp runs the kernel on this machine;
/// CudaDifferentialTest.cpp, what a GPU would run, in the emulator, when the test ends.
void expectSameAsReference(llvm::StringRef text, double tolerance, TargetAttr target = {},
                           MakeArgument make = {}, bool speedPasses = true);

/// ||actual - reference|| / ||reference||.
double getRelativeError(const ReferenceTensor &actual, const ReferenceTensor &reference);

/// Normal numbers that depend on the seed only.
ReferenceTensor makeNormal(mlir::RankedTensorType type, unsigned seed);

/// Expects that lowering `@kernel` of `text` for `target` fails with a message that contains
/// `message`.
void expectError(llvm::StringRef text, llvm::StringRef message,
                 llvm::StringRef target = "cpu:cooperlake");

} // namespace sinter::test
