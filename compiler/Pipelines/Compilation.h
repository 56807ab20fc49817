//===- Compilation.h - One compilation on its way ---------------*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cpu/KernelCache.h"
#include "compiler/Executable/Serialize.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/ErrorCollector.h"
#include "compiler/Pipelines/Pipeline.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/Collective/Grid.h"
#include <future>

namespace sinter {

/// A request with its context and the module that the phases transform.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request);

  /// Loads plugins, has the graph built and gives it its target.
  Expected<void> begin();

  /// All passes up to and with a phase, with the request's options. `release` bytes are recomputed
  /// in the backward pass instead of kept.
  Expected<std::vector<PassStep>> listPasses(Phase last, int64_t release = 0) const;

  /// Runs a pass; its failure is a defect, but for what Import finds in a graph that a person
  /// wrote.
  Expected<void> run(const PassStep &step);

  /// Takes what the request's cache knows of the kernels, which are loops yet.
  /// @param left the passes that are left to run
  void takeKnownKernels(llvm::ArrayRef<PassStep> left);

  /// How many kernels the cache knew.
  size_t countKnownKernels() const { return kernels ? kernels->countKnown() : 0; }

  /// Prints a GPU's kernels, which are the same from Codegen on, and has them compiled, where the
  /// request wants that, beside what goes on.
  Expected<std::future<Expected<CudaCode>>> beginCudaCode(mlir::ModuleOp lowered) const;

  /// What the target's code generator makes of the kernels of a module behind the last phase: of a
  /// GPU's what beginCudaCode() does, and code that only stops where the request wants none.
  Expected<KernelCode> emitKernels(mlir::ModuleOp planned) const;

  /// The module as text.
  std::string print() const;

  /// An error of the compiler's own, with the first diagnostic as its reason.
  tl::unexpected<Error> makeDefect(std::string what) const;

  /// Tells the request's observer what passes warned of, all of it about the grid.
  void tellWarnings() const;

  mlir::ModuleOp getModule() { return *module; }
  mlir::MLIRContext &getContext() { return context; }

private:
  Expected<void> loadPlugins();
  Expected<void> makeModule();
  /// Fails on an op that has no kernel there.
  /// Fails where the module or its options cannot be split over the axes.
  Expected<void> checkGrid(llvm::ArrayRef<runtime::GridAxis> axes);
  Expected<void> checkStages(size_t places, bool trains);
  GridAttr makeGrid(llvm::ArrayRef<runtime::GridAxis> axes);
  /// What callers have to know, and the options that it is compiled with, go with the module, so
  /// that they are in its text, too.
  void addMetadata();
  KernelCode makeNoCode(mlir::ModuleOp planned) const;

  const CompileRequest &request;
  mlir::MLIRContext context;
  ErrorCollector errors;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<KernelCache> kernels; ///< where the request has a cache for them
};

} // namespace sinter
