//===- KernelJit.h - Running one kernel alone, for tests and benchmarks -*- C++ -*-===//
//
// Takes a kernel as text (a func.func on tensors with `sinter.kernel`), lowers it to machine code
// in this process and runs it on tensors of doubles, which are stored as the kernel's types and
// layouts say.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstddef>
#include <string>

namespace sinter::jit {

/// Memory for a tensor that ends at a page that must not be touched: reading or writing one
/// element too far is a fault. Not initialized elements hold a pattern that is a NaN.
class GuardedStorage {
public:
  explicit GuardedStorage(mlir::RankedTensorType type);
  GuardedStorage(const GuardedStorage &) = delete;
  GuardedStorage(GuardedStorage &&other) noexcept;
  ~GuardedStorage();

  void *data() const { return start; }
  size_t size() const { return bytes; }
  mlir::RankedTensorType getType() const { return type; }
  /// Stores the elements in the type's layout; padding becomes zero.
  void write(const ReferenceTensor &tensor);
  ReferenceTensor read() const;

private:
  mlir::RankedTensorType type;
  size_t bytes = 0, mapped = 0;
  char *mapping = nullptr, *start = nullptr;
};

class KernelJit {
public:
  /// Lowers the kernel `@kernel` of `text` for `target`. Where that fails, `error` holds the first
  /// diagnostic and nothing can be run.
  KernelJit(mlir::MLIRContext &context, llvm::StringRef text, TargetAttr target,
            bool speedPasses = true);

  KernelJit(const KernelJit &) = delete;
  ~KernelJit();

  const std::string &getError() const { return error; }
  mlir::func::FuncOp getKernel() const { return kernel; }
  int64_t getGrid() const { return grid; }
  /// Runs work items [begin, end) on storage of the operands and then the results.
  void run(llvm::ArrayRef<void *> slices, int64_t begin, int64_t end) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp kernel;
  int64_t grid = 0;
  std::string error;
  void *image = nullptr; // executable pages
  size_t imageBytes = 0;
  void (*function)(void *const *slices, int64_t begin, int64_t end) = nullptr;
};

/// A context with all dialects.
mlir::MLIRContext &getContext();

/// This machine with a vector width and registers to match, without features of wider vectors.
TargetAttr getHostTarget(int64_t vectorBits = 0);

/// This machine, and where its vectors are wider than 256 bits, the same with vectors of 256 bits.
llvm::SmallVector<TargetAttr> getHostTargets();

} // namespace sinter::jit
