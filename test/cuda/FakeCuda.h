//===- FakeCuda.h - GPUs that are not there ---------------------*- C++ -*-===//
//
// The CUDA runtime calls the driver, NVRTC, cuBLASLt, cuDNN and NCCL through tables of functions. A
// FakeCuda installs tables of its own, and with them everything runs on the host: memory is the
// emulator's, NVRTC compiles for the emulator and hands out the object as the cubin, kernels run
// thread by thread (test/simt), cuBLASLt is a plain loop, cuDNN does what its graphs say, and NCCL
// copies between the GPUs, of which there may be several, for ranks that are threads.
//
//   FakeCuda fake;                       // until it goes, this process has a GPU
//   ... open a device, run a model ...
//   EXPECT_TRUE(fake.complaints().empty()) << fake.complaints().front();
//
// It is as unkind as CUDA allows:
// - Nothing that a stream was given runs before somebody waits for it, and then only as much as the
// wait
//   demands. So pinned memory that is reused too early, results that are read too early and events
//   that are missing give wrong results.
// - Device memory and pinned memory begin as NaNs.
// - Workspace is overwritten in full.
// - Two streams that touch the same memory with nothing to order them are a complaint (Timeline.h).
// Of a
//   kernel only where its arguments begin is known before it runs, and which of them are const; in
//   checked mode what it has touched is, too, when it has run. Of copies and products the whole is.
// - A kernel that is launched to overlap with those before it begins before they are done, in every
//   block, and they take as long as they can: memory that they write is NaNs until all threads wait
//   for them. A thread that ends without waiting is a complaint, and so is a write before the wait
//   (in checked mode a read, too).
// - What a capture forbids fails as it does on a device, and so does a launch with more shared
// memory than
//   the kernel was allowed, and a call with no current context.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/simt/Scheduler.h"

#include <cstddef>
#include <cuda.h>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sinter::fake {

struct FakeOptions {
  int devices = 1;
  int driverVersion = 13000;
  std::string name = "Fake GPU";
  std::string lastName = {}; ///< of the last GPU, where that is of another kind
  int major = 9, minor = 0;  ///< compute capability
  size_t memoryBytes = size_t(4) << 30;
  size_t attentionWorkspace = 256; ///< that cuDNN wants
  bool checked = false;            ///< kernels run in the emulator's checked mode
  simt::Schedule schedule = {};
  /// How streams run ahead of each other, between what orders them; 0: none does before somebody
  /// waits for it, and of a graph's branches the first goes as far as it can.
  unsigned streamSeed = 0;
  /// Where compiled kernels are kept; empty for a folder of the system's for temporary files.
  std::filesystem::path cache = {};
};

/// What has happened so far.
struct FakeStatistics {
  unsigned kernels = 0;     ///< launches that ran, in graphs and out of them
  unsigned overlaps = 0;    ///< launches that may begin before what is before them is done
  unsigned products = 0;    ///< of cuBLASLt, that ran
  unsigned attentions = 0;  ///< of cuDNN, that ran
  unsigned copies = 0;      ///< that ran
  unsigned collectives = 0; ///< of NCCL, that ran on a GPU; a group of sends and receives is one
  unsigned captures = 0;    ///< that ended well
  unsigned graphs = 0;      ///< launches of graphs
  unsigned compiled = 0;    ///< programs that NVRTC compiled
  unsigned allocated = 0;   ///< allocations that live
  size_t usedBytes = 0;     ///< of device memory
  unsigned handles = 0;     ///< streams, events, graphs, libraries, pools and descriptors that live
};

/// There is one at a time.
class FakeCuda {
public:
  explicit FakeCuda(FakeOptions options = {});
  ~FakeCuda();
  FakeCuda(const FakeCuda &) = delete;
  FakeCuda &operator=(const FakeCuda &) = delete;

  /// A call of this function of any of the tables fails with this status, once: the next one of the
  /// first GPU, or the one after so many have gone well.
  void failCall(const std::string &function, int status, unsigned after = 0);

  /// A kernel hits an error that ends the context: after so many have run, the next one fails, and
  /// after that everything.
  void breakKernel(CUresult error, unsigned after = 0);

  /// As FakeOptions::streamSeed, from now on.
  void setStreamSeed(unsigned seed);

  /// Everything from now on fails: the device is lost.
  void breakDevice(CUresult error);

  /// NCCL finds this error on a GPU's connections to others: its collectives end no more.
  void breakCommunication(int device, int error);

  /// What the caller did that a GPU need not have survived, and what the emulator found in kernels;
  /// a line each.
  std::vector<std::string> complaints() const;

  FakeStatistics statistics() const;

  /// How often a function of the tables was called.
  unsigned calls(const std::string &function) const;
};

} // namespace sinter::fake
