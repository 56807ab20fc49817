//===- Device.h - Memory and programs, bound somewhere ----------*- C++ -*-===//
//
// What a session does not know of: where its memory lies and who runs its commands. A device is
// made for one session and its programs. Inputs and outputs have host memory on every device;
// where the device has memory of its own, a run carries them there and back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/BindOptions.h"
#include "runtime/Format/Executable.h"
#include "runtime/Memory/MemoryUse.h"
#include "runtime/Trace/Trace.h"
#include <span>

namespace sinter::runtime {

/// A program that a session binds.
struct SelectedProgram {
  const fb::Program *program = nullptr;
  uint32_t index = 0; ///< in the executable
  uint64_t slot = 0;  ///< of the microbatches that a pipeline's stage has at a time
};

/// What a device is made for.
struct DevicePlan {
  std::shared_ptr<const Executable> executable;
  std::vector<SelectedProgram> programs;
  const fb::Program *preprocess = nullptr; ///< that of the weights, or null
  ThreadPool *pool = nullptr;              ///< outlives the device
  /// Of the spaces; what the device itself takes is not yet in it.
  MemoryUse use;
};

/// A slice of a State, and memory of its size that it is copied to.
struct SliceCopy {
  fb::Slice slice;
  std::span<std::byte> out;
};

class Device {
public:
  virtual ~Device() = default;

  /// Takes memory, reads the weights, runs `preprocess` on them and records the programs.
  virtual Expected<void> bind(const BindOptions &options) = 0;

  /// What it holds since bind().
  virtual MemoryUse getMemory() const = 0;

  /// What bind() chose where there are alternatives, a line each.
  virtual std::vector<std::string> getAlternatives() const { return {}; }

  /// Runs a program (an index into the plan's): the inputs go in, all commands run, the outputs
  /// come out.
  virtual Expected<void> run(size_t program) = 0;

  /// The same, with the times of the commands and of the run noted.
  virtual Expected<void> run(size_t program, Trace &trace) = 0;

  /// Waits until other ranks have what a program sent them.
  virtual Expected<void> finishSends(size_t) { return {}; }

  /// Carries a program's inputs in, for runCommand().
  virtual Expected<void> start(size_t program) = 0;

  /// Runs one command and waits until it is done.
  virtual Expected<void> runCommand(size_t program, size_t command) = 0;

  /// The host's memory of the inputs or outputs of whichever program runs.
  virtual std::span<std::byte> hostMemory(fb::Space inputOrOutput) const = 0;

  /// The bytes of a slice of a Parameter, State, Input, Output or Arena; empty where the processor
  /// cannot reach them.
  virtual std::span<std::byte> view(const fb::Slice &slice) const = 0;

  /// Copies a slice of such a space, as commands left it, to `out`, which has its size, and back.
  virtual Expected<void> read(const fb::Slice &slice, std::span<std::byte> out) const = 0;
  virtual Expected<void> write(const fb::Slice &slice, std::span<const std::byte> bytes) = 0;

  /// Copies states as they are now, of those that BindOptions::copiedStates names. May return
  /// before they are there; programs that run meanwhile change no state before it is copied.
  virtual Expected<void> beginCopies(std::span<const SliceCopy> copies) = 0;

  /// Waits until all that was begun is there. Any thread may call it, beside the session's.
  virtual Expected<void> finishCopies() const = 0;

  /// Memory of the host that beginCopies() fills without waiting, `bytes` of it, for as long as the
  /// device lives. Empty where none is better than any other.
  virtual std::span<std::byte> copyMemory(uint64_t bytes) = 0;

  /// Zeroes all states.
  virtual Expected<void> clearState() = 0;
};

} // namespace sinter::runtime
