//===- Launch.h - Runs kernels with no GPU ----------------------*- C++ -*-===//
//
// The emulator executes the source that NVRTC compiles for a device, compiled by clang for the host
// (Program.h), thread by thread and block by block:
//
//   Program        a source compiled and loaded; gives kernels
//   DeviceMemory   what stands for the memory of a device
//   launch         runs the blocks of a grid, one after another
//     Fibers       a stack for each thread of a block
//     Scheduler    which thread goes on when one has to wait
//     Machine      barriers, warp operations (Warp.h), asynchronous copies (AsyncCopies.h),
//     products
//                  of warpgroups (WarpgroupProducts.h)
//   Report         what was wrong
//     MemoryChecker, Clocks, GridOrder    races and the like, in kernels compiled for checked mode
//     Findings, Symbolizer                from machine addresses to lines of the source
//
// A device moves a struct of 16 bytes in one access; the host's compiler, in as many as it has
// members. For checks of alignment device code moves vectors of the compiler's (device.cuh).
//
// What it does not tell: anything of time, registers or bank conflicts; the order in which tensor
// cores add; denormals and approximations of the device; and weaknesses of its memory model, since
// the threads of a block take turns. Blocks that wait for one another deadlock here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/simt/KernelHooks.h"
#include "test/simt/Report.h"
#include "test/simt/Scheduler.h"
#include "test/simt/SharedMemory.h"

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace sinter::simt {

/// A __global__ function that takes pointers and nothing else.
class Kernel {
public:
  using Function = void (*)();

  Kernel() = default;
  Kernel(std::string name, Function function, const Signature &signature);
  /// A kernel that is linked into this process, from a file compiled with the flags of the CMake
  /// target SinterSimtKernels or SinterSimtCheckedKernels.
  template <typename... Pointers>
  Kernel(std::string name, void (*function)(Pointers *...))
      : Kernel(std::move(name), reinterpret_cast<Function>(function),
               Signature{sizeof...(Pointers), written<Pointers...>}) {}

  const std::string &name() const { return kernelName; }
  Function function() const { return entry; }
  size_t arguments() const { return signature.arguments; }
  /// Whether the kernel may write through that argument: it is no pointer to const.
  bool writes(size_t argument) const { return signature.written[argument]; }
  const KernelModule &module() const { return kernelModule; }

private:
  template <typename... Pointees>
  static constexpr bool written[] = {!std::is_const_v<Pointees>..., false};

  std::string kernelName;
  Function entry = nullptr;
  Signature signature{};
  KernelModule kernelModule;
};

/// What a launch overlaps with that may begin before the kernel before it is done. Every block is
/// run as if that took as long as it can: what is before it is not there until all of the block's
/// threads wait for it or for each other, and a thread that ends without waiting is a finding.
class Predecessor {
public:
  virtual ~Predecessor() = default;
  /// A block begins: what the kernels before it write is not there.
  virtual void hide() = 0;
  /// The block has waited: it is there.
  virtual void show() = 0;
  /// Whether memory is among what they may write.
  virtual bool mayWrite(const void *address, size_t bytes) const = 0;
};

/// A one-dimensional launch.
struct Launch {
  unsigned grid = 1;      ///< blocks
  unsigned block = 1;     ///< threads of each
  size_t sharedBytes = 0; ///< dynamic shared memory of each
  Schedule schedule = {};
  Predecessor *before = nullptr; ///< that it may overlap with; null where it is done
};

/// The most pointers that a kernel may take.
inline constexpr size_t mostArguments = 320;

/// Runs the kernel to its end with these arguments. The report is clean if nothing
/// was found. Divergence and deadlocks are watched for always, accesses to memory only in kernels
/// compiled for checked mode. A deadlock ends the launch, and so does an access that would end this
/// process. One launch runs at a time; others wait for it.
Report launch(const Kernel &kernel, const Launch &shape, std::span<void *const> pointers);

} // namespace sinter::simt
