//===- Compile.h - From a graph to an executable ----------------*- C++ -*-===//
//
// The compiler's one door. Nothing here speaks of MLIR, so that a program can hold this header and
// open the compiler, a large shared library, only when there is something to compile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Executable/Contents.h"
#include "compiler/Pipelines/CompileOptions.h"
#include "compiler/Pipelines/GraphSource.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include "runtime/Weights/IntegerFormat.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// A graph and how it is to be compiled.
struct CompileRequest {
  std::shared_ptr<const GraphSource> graph;
  std::string description; ///< what `graph` is made from, for the cache's key
  /// Element types of the checkpoint's tensors; those that it does not name are F32.
  std::map<std::string, DType> parameterTypes;
  /// The tensors that products are to read as integers with scales.
  std::map<std::string, IntegerFormat> integerFormats;
  ExecutableContents contents; ///< what the executable is to carry along
  /// Whether the result says where the memory goes, too.
  bool reportsMemory = false;
  /// Whether it says what was decided, where code is made. Finding out what was declined takes
  /// long.
  bool explains = false;
  /// Without code the result is for planning alone: all that an executable says of its memory, at a
  /// part of the time, but kernels that only end the process.
  bool code = true;
  /// Where machine code of a processor's kernels is kept between compilations. Without, all of it
  /// is made.
  std::optional<Cache> kernelCache;
  CompileOptions options;
  /// What a user should know of the result. May be left out.
  std::function<void(const Error &warning)> onWarning;
};

/// A decision of the compiler.
struct Decision {
  bool taken;           ///< done, or weighed and declined
  std::string pass;     ///< "sinter-form-fusions"
  std::string name;     ///< "NormIntoCast"
  std::string function; ///< the entry
  std::string where;    ///< "model.layers.3.mlp.up_proj"
  std::string text;     ///< with the predicted cost of both sides
  /// Nanoseconds that doing it saves by the cost model, below zero where it costs, if that was
  /// what decided.
  std::optional<double> gainNs;
};

struct CompileResult {
  std::vector<std::byte> executable;     ///< as writeExecutable and Executable::fromBytes take it
  std::string text;                      ///< what `emit` or `stopAfter` asked for
  std::vector<Decision> decisions;       ///< where the request wants them, and code
  std::map<std::string, double> phaseMs; ///< wall time of each phase
  size_t knownKernels = 0;               ///< whose machine code was in the cache
  /// JSON, see compiler/Executable/MemoryReport.h; empty unless the request wants it.
  std::string memoryReport;
};

/// Compiles. Fails on what a user can mend (options, sizes, MLIR text, plugins); an error with
/// `defect` set is Sinter's own fault.
Expected<CompileResult> compile(const CompileRequest &request);

/// A hash of all that two compilations with the same result share: the request (a graph by its
/// description), this machine's processor and the compiler's build.
std::string getCacheKey(const CompileRequest &request);

} // namespace sinter
