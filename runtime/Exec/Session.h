//===- Session.h - An executable, bound to memory ---------------*- C++ -*-===//
//
// The runtime's second and third stage. *Bind* allocates one region per space, resolves every slice
// to an address, makes the library's GEMM kernels, reads the weights and runs `prepare` on them.
// *Record* turns each program into a flat list of steps that hold nothing but addresses and
// functions; *run* walks it. Nothing is allocated, compiled or locked on that walk.
//
// What changes from step to step (tokens, positions, counts) is data in the inputs.
//
// A session is used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Device/Cpu/CodeImage.h"
#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Exec/Executable.h"
#include "runtime/Exec/WeightSource.h"
#include "runtime/Trace/Trace.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::runtime {

/// Kernels by name that are used instead of the executable's machine code: compiled in process, or
/// written by hand.
using KernelTable = std::map<std::string, KernelFunction, std::less<>>;

struct SessionOptions {
  /// The threads to run on; without it the session makes a pool of `threads` (0: all processors).
  ThreadPool *pool = nullptr;
  unsigned threads = 0;

  /// The checkpoint; without it the weights are random, by `seed` or else by the executable's.
  const WeightSource *weights = nullptr;
  std::optional<uint64_t> seed;

  /// The programs to bind, "prepare" excepted; empty for all. What is not bound takes no memory.
  std::vector<std::string> programs;

  KernelTable kernels;

  /// Checks that no command writes outside of its slices and poisons the arena before each run.
  /// Slow; run() then returns an error that names the command.
  bool debug = false;

  /// Called as commands of `prepare` are done, with their number and that of all.
  std::function<void(uint64_t done, uint64_t all)> progress;
};

/// Bytes that a session holds, by owner. Pages of the checkpoint are the system's to take back and
/// stand apart.
struct MemoryUse {
  uint64_t parameter = 0, state = 0, arena = 0, input = 0, output = 0, constant = 0, code = 0;
  uint64_t library = 0;      ///< scratch of GEMMs, all threads
  uint64_t prepareArena = 0; ///< held only while binding
  uint64_t checkpoint = 0;   ///< all tensors that `prepare` reads, as stored

  /// What is held while steps run.
  uint64_t resident() const {
    return parameter + state + arena + input + output + constant + code + library;
  }
  /// The most that was ever held: while binding, or from then on.
  uint64_t peak() const;
};

/// What a session of these options would hold, without reading weights or touching memory. The
/// numbers are those that the session measures of itself, but for `checkpoint`, which stays 0.
Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                  const SessionOptions &options = {});

/// A named tensor of a session's memory.
struct TensorView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<std::byte> bytes;

  /// The elements as T, whose size must be the type's.
  template <typename T> std::span<T> as() const {
    return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// The command of a program after which a number was not finite.
struct NonFinite {
  std::string label; ///< "rms_norm + matmul"
  std::string layer; ///< "model.layers.3", or empty
  std::string value; ///< "nan", "inf" or "-inf"
};

class Session {
public:
  ~Session();

  /// Binds `executable`. Errors: a weight that is missing or of another type or shape, too little
  /// memory (with the largest owners), a program that is not there, or a kernel that failed its
  /// checks in debug mode.
  static Expected<std::unique_ptr<Session>> bind(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions &options = {});

  /// The handle of a bound program; an error if there is none of this name.
  Expected<size_t> program(std::string_view name) const;

  /// Runs a program. Without debug mode this cannot fail.
  Expected<void> run(size_t program);

  /// Runs a program and looks at every number that its commands write; stops behind the first
  /// command that writes a NaN or an infinity and names it. Negative infinities, which masks make
  /// on purpose, stop nothing; the first of them is named where there is nothing else. Slow.
  std::optional<NonFinite> runToNonFinite(size_t program);

  /// An input, an output or a state by name; an error if there is none or its type is not `dtype`.
  Expected<TensorView> input(size_t program, std::string_view name, DType dtype) const;
  Expected<TensorView> output(size_t program, std::string_view name, DType dtype) const;
  Expected<TensorView> state(std::string_view name) const;

  /// Zeroes all states: KV caches are empty again.
  void clearState();

  /// Notes times into `trace` from now on; null to stop. The trace outlives the session or the
  /// next call.
  void setTrace(Trace *trace);

  const Executable &executable() const;
  ThreadPool &pool() const;
  MemoryUse memory() const;

private:
  friend Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                           const SessionOptions &options);
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::runtime
