//===- CudaProgram.h - A program, ready for a stream ------------*- C++ -*-===//
//
// The flat form of a program: every slice is an address, every kernel a handle, every product a
// call of the library with its algorithm chosen. A walk over all commands is the eager mode; the
// same walk, captured, is the graph.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaKernels.h"
#include "runtime/Device/Cuda/LtGemm.h"
#include <variant>

namespace sinter::runtime::cuda {

/// What recording turns a program's indices into.
struct CudaResolver {
  LtLibrary::Address address;
  const CudaKernels &kernels;
  LtLibrary &gemms;
  bool mayWrite = false; ///< while products are bound, to what they write
};

class CudaProgram {
public:
  /// Records commands [begin, end) of a verified program. Fails where the library has no algorithm
  /// for a product.
  static Expected<CudaProgram> record(const CudaContext &context, const fb::Program &program,
                                      size_t begin, size_t end, const CudaResolver &resolver);

  size_t size() const { return steps.size(); }

  /// Puts a command into the stream.
  Expected<void> enqueue(size_t command) const;

private:
  struct LaunchStep {
    LoadedKernel kernel;
    unsigned grid;
    size_t firstArgument; ///< in `parameters`
  };
  struct CopyStep {
    CUdeviceptr source, out;
    uint64_t bytes;
  };
  struct FillStep {
    CUdeviceptr out;
    uint64_t bytes;
    uint8_t value;
  };
  using Step = std::variant<LaunchStep, LtGemm, CopyStep, FillStep>;

  explicit CudaProgram(const CudaContext &context) : context(&context) {}
  Expected<void> add(const fb::Command &command, const CudaResolver &resolver);
  CUresult launch(const LaunchStep &step) const;

  const CudaContext *context;
  std::vector<Step> steps;
  std::vector<CUdeviceptr> arguments; ///< of all launches
  std::vector<void *> parameters;     ///< the addresses of the arguments
};

/// "<executable>: program 'decode', command 3 (rms_norm, model.layers.0), kernel 'k7'".
std::string nameOfCommand(const Executable &executable, const fb::Program &program, size_t command);

} // namespace sinter::runtime::cuda
