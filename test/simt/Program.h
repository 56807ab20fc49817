//===- Program.h - CUDA C++ compiled for the emulator -----------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include "test/simt/Launch.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::simt {

struct CompileOptions {
  /// Watch every access to memory: slower, and finds races and the like.
  bool checked = false;
  /// What findings and errors of the compiler call the source.
  std::string name = "kernel.cu";
  /// Where #include looks; files of these folders (*.h, *.cuh) are part of what the cache goes by.
  std::vector<std::filesystem::path> includes;
  /// "NAME" or "NAME=VALUE".
  std::vector<std::string> defines;
  /// Where objects are kept, under the hash of all that goes into them. The folder is made.
  std::filesystem::path cache;
};

/// A source compiled for the emulator and loaded. It stays loaded until the process ends, so
/// kernels may outlive it.
class Program {
public:
  /// Why this machine cannot compile kernels: no clang, no CUDA headers. Empty if it can. Tests
  /// that need kernels skip with it.
  static std::string whyNot();

  /// A hash of what makes objects out of sources: the compiler's name and the emulator's headers.
  static std::string toolchain();

  /// Compiles CUDA C++ to a shared object, unless the cache has it already, and loads it.
  static Expected<Program> compile(std::string_view source, const CompileOptions &options);

  /// Compiles without loading; the file of the shared object.
  static Expected<std::filesystem::path> build(std::string_view source,
                                               const CompileOptions &options);

  /// Loads what build made.
  static Expected<Program> load(const std::filesystem::path &object);

  /// A kernel of the source: extern "C" __global__, of pointers alone.
  Expected<Kernel> kernel(const std::string &name) const;

private:
  explicit Program(void *handle) : handle(handle) {}

  void *handle;
};

} // namespace sinter::simt
