//===- TemplateInstance.h - One use of a kernel template --------*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Loops/StridedInput.h"

namespace sinter {

/// Collects what a kernel is instantiated with, and writes it to the kernel's function.
class TemplateInstance {
public:
  /// The function `name` of the header `header`.cuh.
  TemplateInstance(llvm::StringRef header, llvm::StringRef name, mlir::MLIRContext *context)
      : header(header), name(name), builder(context) {}

  void set(llvm::StringRef parameter, mlir::Type value);
  void set(llvm::StringRef parameter, int64_t value);
  void set(llvm::StringRef parameter, bool value);
  void set(llvm::StringRef parameter, double value);
  /// A type by its name in CUDA C++.
  void setType(llvm::StringRef parameter, llvm::StringRef name);

  /// The name of an element type in CUDA C++.
  static std::string getTypeName(mlir::Type type);

  /// Where an input of rows `[b, t, h, d]` lies: `<prefix>Offset`, `<prefix>BatchStride`,
  /// `<prefix>RowStride` and `<prefix>HeadStride`.
  void setStrides(llvm::StringRef prefix, const StridedInput &input);

  /// Weights that are integers, or of e4m3, with scales, as integers.cuh has them.
  void setIntegers(mlir::Type number, mlir::Type scale, int64_t group, bool hasMinima);

  /// The template's next argument: one of the kernel's, or none.
  void pass(std::optional<unsigned> argument);

  /// Writes all of it to the kernel's function, whose launch is checked against the template's own
  /// figures when the kernel is compiled. `usesShared` says that it has dynamic shared memory.
  void write(mlir::func::FuncOp instance, bool usesShared);

private:
  llvm::StringRef header, name;
  mlir::Builder builder;
  llvm::SmallVector<mlir::NamedAttribute> parameters;
  llvm::SmallVector<int64_t> arguments;
};

} // namespace sinter
