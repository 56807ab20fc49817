// A driver without a GPU: device memory is the host's, kernels are functions of the test.
//
// What a stream is given runs as late as it may, when somebody waits for it. So a runtime that
// changes what a copy still reads, or reads what a kernel has yet to write, gets wrong numbers.
// Any call can be told to fail.
#pragma once

#include "runtime/Device/Cuda/CudaApi.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sinter::runtime::cuda::testing {

/// What a launch hands to a kernel of the test.
struct LaunchArguments {
  std::vector<void *> pointers;
  unsigned grid = 0, block = 0, sharedBytes = 0;

  template <typename T> T *as(size_t index) const { return static_cast<T *>(pointers[index]); }
};

/// Installed while it lives; one at a time.
class TestDriver {
public:
  using Kernel = std::function<void(const LaunchArguments &)>;
  using Operation = std::function<void()>;

  TestDriver();
  ~TestDriver();
  TestDriver(const TestDriver &) = delete;
  TestDriver &operator=(const TestDriver &) = delete;

  /// The one that is installed.
  static TestDriver &get();

  /// Lets machine code have a kernel of this name, which takes so many pointers.
  void addKernel(const std::string &name, size_t pointers, Kernel kernel) {
    kernels[name] = {pointers, std::move(kernel)};
  }

  /// Lets the call of `function` after `after` more of them return `result`, once.
  void fail(const std::string &function, CUresult result, int after = 0) {
    failures[function] = {after, result};
  }

  /// For kernels: from now on the context is lost, as after a wild write.
  void fault(CUresult result) { sticky = result; }

  /// How often a function of the driver was called.
  int calls(const std::string &function) const {
    auto found = counts.find(function);
    return found == counts.end() ? 0 : found->second;
  }
  void forgetCalls() { counts.clear(); }

  /// Puts an operation into the stream, or into the graph that is being captured.
  void enqueue(Operation operation) {
    (capturing ? captured : queue).push_back(std::move(operation));
  }

  uint64_t capacity = uint64_t(1) << 32; ///< bytes of the GPU's memory
  int version = 13000, devices = 1, major = 9, minor = 0;
  bool mayCapture = true; ///< false: launches spoil a capture

  // What it has given out.
  uint64_t used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0, pinned = 0;
  int libraries = 0, graphs = 0, events = 0, contexts = 0, pools = 0, streams = 0;
  std::map<std::string, int> sharedLimits; ///< dynamic shared memory that kernels were allowed

private:
  friend struct Calls;
  struct KernelEntry {
    size_t pointers;
    Kernel function;
  };
  struct Failure {
    int after;
    CUresult result;
  };

  CUresult begin(const char *function);
  void drain();

  std::map<std::string, KernelEntry> kernels;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> counts;
  std::map<CUdeviceptr, std::pair<void *, uint64_t>> blocks;
  std::vector<Operation> queue, captured;
  std::set<std::string> names; // of kernels, at addresses that stand for their handles
  bool capturing = false, spoilt = false;
  int current = 0; // contexts pushed
  CUresult sticky = CUDA_SUCCESS;
  double clock = 0; // ms; each operation takes a microsecond
  CudaApi table;
};

} // namespace sinter::runtime::cuda::testing
