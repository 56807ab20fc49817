//===- Session.h - An executable, bound to memory ---------------*- C++ -*-===//
//
// The runtime's second and third stage. *Bind* allocates one region per space on the device that
// the executable was compiled for, resolves every slice to an address, makes the library's GEMM
// kernels, reads the weights and runs `preprocess` on them. *Record* turns each program into a flat
// list of steps that hold nothing but addresses and functions; *run* walks it. Nothing is
// allocated, compiled or locked on that walk.
//
// What changes from step to step (tokens, positions, counts) is data in the inputs. These and the
// outputs are always the host's memory; states are the device's.
//
// A session is used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Device/BindOptions.h"
#include "runtime/Format/Executable.h"
#include "runtime/Memory/MemoryUse.h"
#include "runtime/Trace/Trace.h"
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime {

/// What a session of these options would hold, without reading weights or touching memory, on a
/// machine with or without the executable's device. The numbers are those that the session measures
/// of itself, but for `checkpoint`, which stays 0.
Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                  const BindOptions &options = {});

/// What the process of such a session holds beside what `use` says: otherBytes(); 0 where the
/// session's memory is a GPU's.
uint64_t predictProcessMemory(const Executable &executable, const MemoryUse &use);

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

  /// Binds `executable`. Errors: a weight that is missing, of another type or shape or not finite,
  /// too little memory (with the largest owners), a program that is not there, a device that is not
  /// there or not of the architecture, a processor without features that the code needs, ranks of a
  /// pipeline whose programs do not fit each other (RanksVerifier.h).
  static Expected<std::unique_ptr<Session>> bind(std::shared_ptr<const Executable> executable,
                                                 const BindOptions &options = {});

  /// The handle of a bound program, for a slot where it is a pipeline's; or, without one of this
  /// name, of the entry: what this rank runs it by, of the first slot. An error if there is
  /// neither.
  Expected<size_t> program(std::string_view name, uint64_t slot = 0) const;

  /// Runs a program. On the CPU this cannot fail without debug mode; a GPU's errors name the
  /// command where debug mode is on. After one of these the session is of no more use.
  Expected<void> run(size_t program);

  /// Runs a program and looks at every number that its commands write; stops behind the first
  /// command that writes a NaN or an infinity and names it; of several ranks, which wait for each
  /// other, all run it to the end. Negative infinities, which masks make on purpose, stop nothing;
  /// the first of them is named where there is nothing else. Slow.
  Expected<std::optional<NonFinite>> runToNonFinite(size_t program);

  /// An input or an output by name; an error if there is none or its type is not `dtype`.
  Expected<TensorView> input(size_t program, std::string_view name, DType dtype) const;
  Expected<TensorView> output(size_t program, std::string_view name, DType dtype) const;

  /// A state by name; an error if there is none. Where states are not in the host's memory its
  /// bytes are empty: readState and writeState reach it everywhere.
  Expected<TensorView> state(std::string_view name) const;

  /// Copies a state to `out`, or from `bytes`, which have its size.
  Expected<void> readState(std::string_view name, std::span<std::byte> out) const;
  Expected<void> writeState(std::string_view name, std::span<const std::byte> bytes);

  /// A state and memory of its size.
  struct StateCopy {
    std::string_view name;
    std::span<std::byte> out;
  };

  /// Copies states as they are now to memory from copyMemory(). May return before they are there;
  /// programs can run meanwhile. @pre BindOptions::copiedStates names them
  Expected<void> beginCopies(std::span<const StateCopy> copies);

  /// Waits until all that was begun is there. Any thread may call it, beside the session's.
  Expected<void> finishCopies() const;

  /// Memory of the host, to be asked for once, that beginCopies() fills without waiting and the
  /// session frees. Empty where beginCopies() waits whatever it fills: states that are the host's,
  /// or a system that pins no more memory, which is a warning.
  std::span<std::byte> copyMemory(uint64_t bytes);

  /// Zeroes all states: KV caches are empty again.
  Expected<void> clearState();

  /// Notes times into `trace` from now on; null to stop. The trace outlives the session or the
  /// next call.
  void setTrace(Trace *trace);

  const Executable &getExecutable() const;
  ThreadPool &getPool() const;
  MemoryUse getMemory() const;

  /// All weights as commands read them; empty where the processor cannot reach them (a GPU's).
  std::span<const std::byte> getWeights() const;

  /// What the device chose when it was bound, where there are alternatives (--tune):
  /// a line each.
  std::vector<std::string> getAlternatives() const;

private:
  friend Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                           const BindOptions &options);
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::runtime
